"""Cirne and Berman: a job chooses its size when it is submitted, by the schedules to which its sizes lead.

Up to the instant at which it starts, or is the first one, a job changes nothing for others. So one schedule is played
for all its sizes; from there on, a size has one of its own only if others can overtake it. With conservative
backfilling others respect the place of a job that waits: see selecting_in_plans.
"""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import CONSERVATIVE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.iteration import begin, choose, choose_up_to, fits_behind, take
from cosched_papers.molding.kernels.places import shadow
from cosched_papers.molding.kernels.selecting_in_plans import earliest_size_in_plans
from cosched_papers.molding.kernels.sizes import level, time_on
from cosched_papers.molding.kernels.state import FORKED, NEVER, QUEUE, REAL, SHARED, TIME, UNDECIDED, Molds
from cosched_papers.molding.kernels.worlds import copy_world, is_better, next_end, vacate


@shared_kernel
def earliest_size(f: Molds, row: int) -> int:
    """Return the size on which a job that is queued would end first, the smaller one of two."""
    job, machine = f.jobs[row], f.machine[SHARED]
    for nodes in range(job.least, job.most + 1):
        f.tries[UNDECIDED, nodes], f.tries[TIME, nodes] = 1, time_on(f, row, nodes)
    if f.machine[REAL].backfill == CONSERVATIVE:
        return earliest_size_in_plans(f, row)
    best, end = job.least, NEVER
    copy_world(f, REAL, SHARED)
    while _is_open(f, row, best, end) and machine.now < NEVER:
        vacate(f, SHARED)
        begin(f, SHARED)
        other = choose(f, SHARED, row)
        while other >= 0:
            if other != row:
                take(f, SHARED, other, machine.size, machine.now + time_on(f, other, machine.size))
            else:
                best, end = _try_turn(f, row, best, end)
            other = choose(f, SHARED, row) if other != row or machine.waits else -1
        machine.now = next_end(f, SHARED)
    return best


@kernel
def _is_open(f: Molds, row: int, best: int, end: int) -> bool:
    """Whether some size is not decided yet; those that cannot end first any more are."""
    found = False
    for nodes in range(f.jobs[row].least, f.jobs[row].most + 1):
        if f.tries[UNDECIDED, nodes] and is_better(f, f.machine[SHARED].now, nodes, best, end):
            found = True
        else:
            f.tries[UNDECIDED, nodes] = 0
    return found


@kernel
def _try_turn(f: Molds, row: int, best: int, end: int) -> tuple[int, int]:
    """The job has its turn: sizes that start, or whose starts are sure now, are decided. Return the best so far."""
    machine = f.machine[SHARED]
    for nodes in range(f.jobs[row].least, f.jobs[row].most + 1):
        time = f.tries[TIME, nodes]
        if not f.tries[UNDECIDED, nodes] or (machine.waits and not fits_behind(f, SHARED, nodes, time)):
            continue
        f.tries[UNDECIDED, nodes] = 0
        start = machine.now if machine.waits else _start_of_first(f, row, nodes, best, end)
        if is_better(f, start, nodes, best, end):
            best, end = nodes, start + time
    return best, end


@kernel
def _start_of_first(f: Molds, row: int, nodes: int, best: int, end: int) -> int:
    """Return when the first job starts on so many nodes; NEVER: it cannot end before the best one."""
    start, _, _ = shadow(f, SHARED, nodes)
    if start == f.machine[SHARED].now or not _can_be_overtaken(f, row, start):
        return start
    return _play(f, row, nodes, best, end)


@kernel
def _can_be_overtaken(f: Molds, row: int, until: int) -> bool:
    """Whether some job may come before the first one up to that instant, since it has waited long."""
    machine, own = f.machine[SHARED], level(f, row, f.machine[SHARED].now)
    for i in range(machine.queued):
        other = f.lists[SHARED, QUEUE, i]
        if other != row and level(f, other, until) <= own:
            return True
    return False


@kernel
def _play(f: Molds, row: int, nodes: int, best: int, end: int) -> int:
    """Play on with this size; return when the job starts, or NEVER: it cannot end before the best one."""
    job, machine = f.jobs[row], f.machine[FORKED]
    least, most = job.least, job.most
    job.least = job.most = nodes
    copy_world(f, SHARED, FORKED)
    start = NEVER
    while start == NEVER and is_better(f, machine.now, nodes, best, end):
        vacate(f, FORKED)
        begin(f, FORKED)
        if choose_up_to(f, FORKED, row):
            start = machine.now
        machine.now = next_end(f, FORKED)
    job.least, job.most = least, most
    return start
