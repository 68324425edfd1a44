"""The rules of a heterogeneous domain."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.scheduling.heterogeneous.algorithms import Algorithm
from cosched.core.scheduling.heterogeneous.site import ExpectedTimes, Site


@dataclass(frozen=True, slots=True)
class HeterogeneousSettings:
    """A site, and how long job classes are expected to run there. `goes_on`: see `pjs`. No job is given a slot."""

    site: Site
    times: ExpectedTimes = field(hash=False)
    algorithm: Algorithm = Algorithm.PJS
    goes_on: bool = False
    slots: bool = False

    @property
    def nodes(self) -> int:
        """The machines that are up."""
        return len(self.site.machines) - len(self.site.down)
