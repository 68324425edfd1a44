"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from cosched.core.scheduling.heterogeneous.calls import Call, Placement
from cosched.core.scheduling.heterogeneous.genetic import genetic
from cosched.core.scheduling.heterogeneous.parallel import pjs
from cosched.core.scheduling.heterogeneous.sequential import max_min, mct, met, min_min, olb, sjs, sufferage


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


ALGORITHMS: Mapping[Algorithm, Callable[[Call], list[Placement]]] = {
    Algorithm.OLB: olb,
    Algorithm.MET: met,
    Algorithm.MCT: mct,
    Algorithm.MIN_MIN: min_min,
    Algorithm.MAX_MIN: max_min,
    Algorithm.SUFFERAGE: sufferage,
    Algorithm.SJS: sjs,
    Algorithm.PJS: pjs,
    Algorithm.GENETIC: genetic,
}
