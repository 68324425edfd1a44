"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched.core.scheduling.heterogeneous.calls import Call, Placement
from cosched.core.scheduling.heterogeneous.genetic import genetic
from cosched.core.scheduling.heterogeneous.parallel import pjs
from cosched.core.scheduling.heterogeneous.sequential import max_min, mct, met, min_min, olb, sjs, sufferage
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
