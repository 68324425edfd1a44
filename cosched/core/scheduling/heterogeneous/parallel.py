"""PJS: jobs on one machine or on a cluster (Collins and George 2001, section 3)."""

from __future__ import annotations

from cosched.core.scheduling.heterogeneous.calls import CANNOT, Call, Placement
from cosched.core.scheduling.heterogeneous.greedy import Schedule, better


def pjs(call: Call, *, goes_on: bool = False) -> list[Placement]:
    """Start with SJS, and commit one job after the other to a cluster as long as that improves the sum of completions.

    The job and the cluster of the greatest profit are tried first: what the job gains in comparison to its best
    machine. If they improve nothing all ends. `goes_on`: the class is not tried there any more, but the next pair is.
    """
    firm = Schedule(call)  # what is committed
    best, least = better(firm)
    members, par = [machines.tolist() for machines in call.members], call.par.tolist()
    allowed = [[(cluster, time) for cluster, time in enumerate(row) if time < CANNOT] for row in par]
    while (pair := _most_profitable(firm, members, allowed)) is not None:
        of, cluster = pair
        start = max(firm.free[machine] for machine in members[cluster])
        tried = firm.copy()
        resource, end = call.seq.shape[1] + cluster, start + par[of][cluster]
        tried.commit(of, Placement(firm.next_job(of), resource, start, end), members[cluster])
        placed, completions = better(tried, below=least)
        if completions < least:
            firm, best, least = tried, placed, completions
        elif goes_on:
            allowed[of] = [there for there in allowed[of] if there[0] != cluster]
        else:
            break
    return best


def _most_profitable(
    firm: Schedule, members: list[list[int]], allowed: list[list[tuple[int, int]]]
) -> tuple[int, int] | None:
    """Return the class and the cluster of the greatest profit; of several, the earliest job; None: of none is any."""
    free = [max(firm.free[machine] for machine in machines) for machines in members]
    found: tuple[int, int, int, int] | None = None
    for of in firm.waiting():
        alone = firm.ends[of]
        for cluster, time in allowed[of]:
            profit = alone - free[cluster] - time
            if profit > 0:
                pair = -profit, firm.next_job(of), cluster, of
                if found is None or pair < found:
                    found = pair
    return None if found is None else (found[3], found[2])
