"""The rules of a heterogeneous domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from cosched.core.scheduling.capabilities import Capabilities
from cosched_papers.heterogeneous.site import ExpectedTimes, Site

CAPABILITIES = Capabilities(slots=True, preempt=True, named_places=True)


class Algorithm(Enum):
    """What places jobs (docs/heterogeneous.md)."""

    OLB = "olb"
    MET = "met"
    MCT = "mct"
    MIN_MIN = "min_min"
    MAX_MIN = "max_min"
    SUFFERAGE = "sufferage"
    SJS = "sjs"
    PJS = "pjs"
    GENETIC = "genetic"


@dataclass(frozen=True, slots=True)
class HeterogeneousSettings:
    """A site, and how long job classes are expected to run there. `goes_on`: see `pjs`."""

    site: Site
    times: ExpectedTimes = field(hash=False)
    algorithm: Algorithm = Algorithm.PJS
    goes_on: bool = False
    slots: bool = False

    @property
    def nodes(self) -> int:
        """The machines that are up."""
        return len(self.site.machines) - len(self.site.down)
