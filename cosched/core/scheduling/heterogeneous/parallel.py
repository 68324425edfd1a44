"""PJS: jobs on one machine or on a cluster (Collins and George 2001, section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cosched.core.scheduling.heterogeneous.calls import CANNOT, Call, Ints, Placement, total
from cosched.core.scheduling.heterogeneous.sequential import better_of_two


def pjs(call: Call, *, goes_on: bool = False) -> list[Placement]:
    """Start with SJS, and commit one job after the other to a cluster as long as that improves the sum of completions.

    The job and the cluster of the greatest profit are tried first: what the job gains in comparison to its best
    machine. If they improve nothing all ends. `goes_on`: the class is not tried there any more, but the next pair is.
    """
    avail, waiting = call.avail.copy(), call.waiting()
    committed: list[Placement] = []
    others, least = better_of_two(call, avail, waiting)
    best, allowed = others, call.par < CANNOT
    while (pair := _most_profitable(call, avail, waiting, allowed)) is not None:
        of, cluster = pair
        tried = _commit(call, avail, waiting[of][-1], cluster)
        after = avail.copy()
        after[call.members[cluster]] = tried.end
        rest = [jobs[:-1] if of == row else jobs for row, jobs in enumerate(waiting)]
        firm = total(committed) + tried.end
        others, of_others = better_of_two(call, after, rest, below=least - firm)
        if firm + of_others < least:
            avail, waiting, least = after, rest, firm + of_others
            committed.append(tried)
            best = [*committed, *others]
        elif goes_on:
            allowed[of, cluster] = False
        else:
            break
    return best


def _most_profitable(
    call: Call, avail: Ints, waiting: list[list[int]], allowed: NDArray[np.bool_]
) -> tuple[int, int] | None:
    """Return the class and the cluster of the greatest profit; of several, the earliest job; None: of none is any."""
    rows = [of for of, jobs in enumerate(waiting) if jobs]
    if not rows or not call.members:
        return None
    sequential = (call.seq[rows] + avail).min(axis=1)
    profit = sequential[:, None] - (call.par[rows] + call.cluster_avail(avail))
    profit = np.where(allowed[rows], profit, 0)
    greatest = profit.max()
    if greatest <= 0:
        return None
    row = min(np.flatnonzero((profit == greatest).any(axis=1)), key=lambda row: waiting[rows[row]][-1])
    return rows[row], int(profit[row].argmax())


def _commit(call: Call, avail: Ints, job: int, cluster: int) -> Placement:
    start = int(avail[call.members[cluster]].max())
    end = start + int(call.par[call.classes[job], cluster])
    return Placement(job, call.seq.shape[1] + cluster, start, end)
