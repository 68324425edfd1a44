"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched_papers.heterogeneous.calls import Call, Placement
from cosched_papers.heterogeneous.genetic import genetic
from cosched_papers.heterogeneous.greedy import max_min, min_min, pjs, sjs
from cosched_papers.heterogeneous.sequential import mct, met, olb, sufferage
from cosched_papers.heterogeneous.settings import Algorithm

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
