"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched.core.scheduling.heterogeneous.calls import Call, Placement
from cosched.core.scheduling.heterogeneous.genetic import genetic
from cosched.core.scheduling.heterogeneous.greedy import max_min, min_min, pjs, sjs
from cosched.core.scheduling.heterogeneous.sequential import mct, met, olb, sufferage
from cosched.core.scheduling.heterogeneous.settings import Algorithm

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
