"""The rules of a domain whose jobs are molded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.primitives.codes import EASY
from cosched_papers.molding.future import Future
from cosched_papers.molding.jobs import ANY, Shares

CAPABILITIES = Capabilities(molds=True, estimates=True)


class Sizing(Enum):
    """Who chooses the sizes of jobs (molding.md)."""

    SCOJO_P = "scojo_p"
    SCOJO = "scojo"
    CIRNE_BERMAN = "cirne_berman"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class MoldingSettings:
    """A machine of `nodes` nodes. `ideal_load`, `load_delta`, `max_bad`: see figure 2; `future`: what is foreseen.
    `learns`: that comes of the domain's own past instead. `sizes`: which jobs with the simple curve may have.
    `backfilling`: EASY; under CIRNE_BERMAN and NONE it may be CONSERVATIVE. No job is given a slot.
    """

    nodes: int
    sizing: Sizing = Sizing.SCOJO_P
    ideal_load: float = 0.9
    load_delta: float = 0.01
    max_bad: int = 2
    future: Future | None = None
    sizes: Shares = ANY
    learns: bool = False
    backfilling: int = EASY
    slots: bool = False
