"""The rules of a fluid domain."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Harvesting(Enum):
    """From whom processors are taken, and to whom they are given first. The values are codes of the kernels."""

    NEVER = 0
    EVEN = 1
    FAIR = 2
    LONG = 3
    SHORT = 4
    LOW_IMPACT = 5


class Distribution(Enum):
    """Who gets what is free first, once as many jobs run as the level wants."""

    FAVOR_RUNNING = "favor_running"
    FAVOR_QUEUED = "favor_queued"


@dataclass(frozen=True, slots=True)
class FluidSettings:
    """A machine of `nodes` processors, and the rules by which jobs get and lose them (fluid.md).

    `level`: so many jobs are admitted even if others must give processors (achieve_mp); None: all. `resizes` False: no
    job ever changes its size (MOLDABLE). `max_harvests`: so many harvests may take from a job; `protect_age`: and none
    before this age in seconds. `benefit`: processors change hands only if that is worth its cost. `wanted_first`: after
    a release jobs come first whose mates hold for them. `slots`: jobs are given instants at which they start. `cap`: so
    many processors may be kept for jobs that gather theirs (live only), are ready, or hold; None: all.
    """

    nodes: int
    harvesting: Harvesting = Harvesting.EVEN
    distribution: Distribution = Distribution.FAVOR_QUEUED
    level: int | None = None
    resizes: bool = True
    max_harvests: int | None = None
    protect_age: int = 0
    benefit: bool = False
    wanted_first: bool = True
    slots: bool = False
    cap: int | None = None
