"""Min-min, max-min, and the better of both for the jobs of one call, in compiled code (see `kernels.placing`)."""

from __future__ import annotations

import numpy as np

from cosched_papers.heterogeneous.calls import CANNOT, Call, Placement
from cosched_papers.heterogeneous.kernels import placing
from cosched_papers.heterogeneous.kernels.placing import FIRM, SCHEDULES, UNREACHED, Schedules


def schedules(call: Call) -> Schedules:
    """Return the schedules of a call, in which nothing is placed yet."""
    classes, machines = call.seq.shape
    of = np.array(call.classes, np.int64)
    jobs, counts = len(of), np.bincount(of, minlength=classes)
    width = 1 << (machines - 1).bit_length()
    begins = np.cumsum([0, *map(len, call.members)])
    made = Schedules(
        seq=np.ascontiguousarray(call.seq),
        par=np.ascontiguousarray(call.par),
        allowed=np.ascontiguousarray(call.par < CANNOT),  # kernels know one layout
        members=np.concatenate([np.zeros(0, np.int64), *call.members]),
        begins=begins,
        jobs=np.lexsort((-np.arange(jobs), of)),
        first=np.cumsum(counts) - counts,
        trees=np.empty((SCHEDULES, classes, 2 * width), np.int64),
        ends=np.empty((SCHEDULES, classes), np.int64),
        left=np.tile(counts, (SCHEDULES, 1)),
        free=np.tile(call.avail, (SCHEDULES, 1)),
        sums=np.zeros(SCHEDULES, np.int64),
        counts=np.zeros(SCHEDULES, np.int64),
        placed=np.empty((SCHEDULES, jobs, 4), np.int64),
        best=np.empty((jobs, 4), np.int64),
    )
    placing.begin(made)
    return made


def placements(made: Schedules) -> list[Placement]:
    """Return the best schedule."""
    return [Placement(*row) for row in made.best.tolist()]


def min_min(call: Call) -> list[Placement]:
    """Of the jobs on their best machines, where each would end first, that which ends first is placed; and again."""
    made = schedules(call)
    placing.greedy(made, FIRM, False, UNREACHED)
    return placements(made)


def max_min(call: Call) -> list[Placement]:
    """As min-min, but the job that ends last is placed."""
    made = schedules(call)
    placing.greedy(made, FIRM, True, UNREACHED)
    return placements(made)


def sjs(call: Call) -> list[Placement]:
    """Return the better of min-min and max-min; if they are equal, min-min."""
    made = schedules(call)
    placing.better(made, FIRM, UNREACHED)
    return placements(made)


def pjs(call: Call, *, goes_on: bool = False) -> list[Placement]:
    """Start with SJS, and commit one job after the other to a cluster as long as that improves the sum of completions.

    The job and the cluster of the greatest profit are tried first: what the job gains in comparison to its best
    machine. If they improve nothing all ends. `goes_on`: the class is not tried there any more, but the next pair is.
    """
    made = schedules(call)
    least = placing.better(made, FIRM, UNREACHED)
    while (pair := placing.most_profitable(made))[0] >= 0:
        completions = placing.try_cluster(made, *pair, least)
        if completions < least:
            least = completions
        elif goes_on:
            made.allowed[pair] = False
        else:
            break
    return placements(made)
