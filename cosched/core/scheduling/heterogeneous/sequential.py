"""Algorithms that place each job on one machine.

Those of Collins and George (2001, section 3): OLB, min-min, max-min ("min-max" there), and SJS, the better of the last
two by the sum of completions. MET, MCT and sufferage: Maheswaran et al. (1999), Dynamic Mapping of a Class of
Independent Tasks onto Heterogeneous Computing Systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import itemgetter

import numpy as np

from cosched.core.scheduling.heterogeneous.calls import CANNOT, Call, Ints, Placement

GONE = -1  # instead of a class or a machine


def olb(call: Call) -> list[Placement]:
    """Each job in order goes to the machine that can run it and is free first. Expected times decide nothing."""
    can = call.seq < CANNOT
    return _in_order(call, lambda avail, of: np.where(can[of], avail, CANNOT))


def met(call: Call) -> list[Placement]:
    """Each job in order goes to the machine where it runs for the least time."""
    return _in_order(call, lambda _, of: call.seq[of])


def mct(call: Call) -> list[Placement]:
    """Each job in order goes to the machine where it ends first."""
    return _in_order(call, lambda avail, of: avail + call.seq[of])


def _in_order(call: Call, cost: Callable[[Ints, int], Ints]) -> list[Placement]:
    """Each job in order goes to the machine of least cost; `cost`: of `avail` and a class."""
    avail, placed = call.avail.copy(), []
    for job, of in enumerate(call.classes):
        placed.append(_put(avail, call, job, int(cost(avail, of).argmin())))
    return placed


def _put(avail: Ints, call: Call, job: int, machine: int) -> Placement:
    """The job runs on this machine as soon as that is free."""
    start = int(avail[machine])
    end = start + int(call.seq[call.classes[job], machine])
    avail[machine] = end
    return Placement(job, machine, start, end)


def min_min(call: Call) -> list[Placement]:
    """Of all jobs, each on the machine where it ends first, that which ends first is placed; and again."""
    return _greedy(call, call.avail, call.waiting(), largest=False)[0]


def max_min(call: Call) -> list[Placement]:
    """As min-min, but the job that ends last is placed."""
    return _greedy(call, call.avail, call.waiting(), largest=True)[0]


def sjs(call: Call) -> list[Placement]:
    """The better of min-min and max-min; if they are equal, min-min."""
    return better_of_two(call, call.avail, call.waiting())[0]


def better_of_two(
    call: Call, avail: Ints, waiting: list[list[int]], below: float = math.inf
) -> tuple[list[Placement], float]:
    """SJS for the jobs that wait (`Call.waiting`), on machines that are free at `avail`; and its sum of completions.

    If that cannot be `below` a number, infinity is returned instead.
    """
    first = _greedy(call, avail, waiting, largest=False, below=below)
    return min(first, _greedy(call, avail, waiting, largest=True, below=min(below, first[1])), key=itemgetter(1))


def _greedy(
    call: Call, avail: Ints, waiting: list[list[int]], *, largest: bool, below: float = math.inf
) -> tuple[list[Placement], float]:
    """Min-min or max-min, and its sum of completions; nothing and infinity once it is clear that it is not `below`.

    Each class keeps its best machine, which is sought again when that was taken.
    """
    jobs = [of.copy() for of in waiting]
    rows = [of for of in range(len(jobs)) if jobs[of]]
    queues = [jobs[of] for of in rows]
    seq = call.seq[rows]
    first = np.array([queue[-1] for queue in queues], np.int64)
    ends = seq + avail
    best = ends.argmin(axis=1)
    value = ends[np.arange(len(rows)), best]
    if value @ np.array([len(queue) for queue in queues]) >= below:
        return [], math.inf
    none = -1 if largest else np.iinfo(np.int64).max
    placed, sum_of_ends = [], 0
    for _ in range(sum(map(len, queues))):
        end = value.max() if largest else value.min()
        ties = np.flatnonzero(value == end)
        row = ties[0] if len(ties) == 1 else ties[first[ties].argmin()]
        machine, queue = best[row], queues[row]
        placed.append(Placement(queue.pop(), int(machine), int(end - seq[row, machine]), int(end)))
        sum_of_ends += int(end)
        if sum_of_ends >= below:
            return [], math.inf
        if queue:
            first[row] = queue[-1]
        else:
            value[row], best[row] = none, GONE
        ends[:, machine] = seq[:, machine] + end
        again = np.flatnonzero(best == machine)
        if len(again):
            of = ends[again]
            best[again] = found = of.argmin(axis=1)
            value[again] = of[np.arange(len(again)), found]
    return placed, sum_of_ends


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
