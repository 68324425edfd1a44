"""The algorithms by name, and those that place each job on one machine without regard to the others.

OLB is of Collins and George (2001, section 3), whose others are in `greedy`. MET, MCT and sufferage: Maheswaran et al.
(1999), Dynamic Mapping of a Class of Independent Tasks onto Heterogeneous Computing Systems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cosched_papers.heterogeneous.calls import CANNOT, Call, Ints, Placement
from cosched_papers.heterogeneous.genetic import genetic
from cosched_papers.heterogeneous.greedy import max_min, min_min, pjs, sjs
from cosched_papers.heterogeneous.settings import Algorithm


def olb(call: Call) -> list[Placement]:
    """Put each job in order on the machine that can run it and is free first. Expected times decide nothing."""
    can = call.seq < CANNOT
    return _in_order(call, lambda avail, of: np.where(can[of], avail, CANNOT))


def met(call: Call) -> list[Placement]:
    """Put each job in order on the machine where it runs for the least time."""
    return _in_order(call, lambda _, of: call.seq[of])


def mct(call: Call) -> list[Placement]:
    """Put each job in order on the machine where it ends first."""
    return _in_order(call, lambda avail, of: avail + call.seq[of])


def _in_order(call: Call, cost: Callable[[Ints, int], Ints]) -> list[Placement]:
    """Put each job in order on the machine of least cost; `cost`: of `avail` and a class."""
    avail, placed = call.avail.copy(), []
    for job, of in enumerate(call.classes):
        placed.append(_put(avail, call, job, int(cost(avail, of).argmin())))
    return placed


def _put(avail: Ints, call: Call, job: int, machine: int) -> Placement:
    """Let the job run on this machine as soon as that is free."""
    start = int(avail[machine])
    end = start + int(call.seq[call.classes[job], machine])
    avail[machine] = end
    return Placement(job, machine, start, end)


def sufferage(call: Call) -> list[Placement]:
    """In rounds: each machine gets, of the jobs that end there first, that which would lose most by the second best."""
    avail, left, placed = call.avail.copy(), list(range(len(call.classes))), []
    while left:
        ends = call.seq + avail
        best = ends.argmin(axis=1)
        loses = _losses(ends)
        got: dict[int, int] = {}
        for job in left:
            of = call.classes[job]
            other = got.get(int(best[of]))
            if other is None or loses[of] > loses[call.classes[other]]:
                got[int(best[of])] = job
        placed += [_put(avail, call, job, machine) for machine, job in got.items()]
        left = [job for job in left if job not in set(got.values())]
    return placed


def _losses(ends: Ints) -> Ints:
    """Return how much later each class would end on its second best machine; CANNOT if there is none."""
    if ends.shape[1] == 1:
        return np.zeros(len(ends), np.int64)
    best, second = np.partition(ends, 1, axis=1)[:, :2].T
    return np.where(second < CANNOT, second - best, CANNOT)


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
