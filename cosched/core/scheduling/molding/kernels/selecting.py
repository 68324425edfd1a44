"""Cirne and Berman: a job chooses its size when it is submitted, by the schedules to which its sizes lead.

Up to the instant at which it starts, or is the first one, a job changes nothing for others. So one schedule is played
for all its sizes; from there on, a size has one of its own only if others can overtake it. With conservative
backfilling others respect the place of a job that waits, so each size has a schedule of its own.
"""

from __future__ import annotations

from cosched.core.scheduling.molding.kernels.iteration import begin, choose, choose_up_to, fits_behind, take
from cosched.core.scheduling.molding.kernels.places import shadow
from cosched.core.scheduling.molding.kernels.sizes import level, time_on
from cosched.core.scheduling.molding.kernels.state import (
    FORKED,
    NEVER,
    QUEUE,
    REAL,
    RUN_END,
    RUN_NODES,
    RUN_ROW,
    SHARED,
    TIME,
    UNDECIDED,
    Molds,
)
from cosched.core.scheduling.primitives.codes import CONSERVATIVE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel


@shared_kernel
def earliest_size(f: Molds, row: int) -> int:
    """Return the size on which a job that is queued would end first, the smaller one of two."""
    job, machine = f.jobs[row], f.machine[SHARED]
    for nodes in range(job.least, job.most + 1):
        f.tries[UNDECIDED, nodes], f.tries[TIME, nodes] = 1, time_on(f, row, nodes)
    if f.machine[REAL].backfill == CONSERVATIVE:
        return _earliest_in_plans(f, row)
    best, end = job.least, NEVER
    _copy(f, REAL, SHARED)
    while _is_open(f, row, best, end) and machine.now < NEVER:
        _vacate(f, SHARED)
        begin(f, SHARED)
        other = choose(f, SHARED, row)
        while other >= 0:
            if other != row:
                take(f, SHARED, other, machine.size, machine.now + time_on(f, other, machine.size))
            else:
                best, end = _try_turn(f, row, best, end)
            other = choose(f, SHARED, row) if other != row or machine.waits else -1
        machine.now = _next_end(f, SHARED)
    return best


@kernel
def _earliest_in_plans(f: Molds, row: int) -> int:
    """Play with each size, until the job starts or cannot end before the best one any more."""
    least, most = f.jobs[row].least, f.jobs[row].most
    best, end = least, NEVER
    for nodes in range(least, most + 1):
        start = _play(f, REAL, row, nodes, best, end)
        if start < NEVER and start + f.tries[TIME, nodes] < end:
            best, end = nodes, start + f.tries[TIME, nodes]
    return best


@kernel
def _is_open(f: Molds, row: int, best: int, end: int) -> bool:
    """Whether some size is not decided yet; those that cannot end first any more are."""
    found = False
    for nodes in range(f.jobs[row].least, f.jobs[row].most + 1):
        if f.tries[UNDECIDED, nodes] and _is_better(f, SHARED, nodes, best, end):
            found = True
        else:
            f.tries[UNDECIDED, nodes] = 0
    return found


@kernel
def _is_better(f: Molds, world: int, nodes: int, best: int, end: int) -> bool:
    """Whether a job that starts now on so many nodes ends before the best one so far."""
    would_end = f.machine[world].now + f.tries[TIME, nodes]
    return would_end < end or (would_end == end and nodes < best)


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
        if start < NEVER and (start + time < end or (start + time == end and nodes < best)):
            best, end = nodes, start + time
    return best, end


@kernel
def _start_of_first(f: Molds, row: int, nodes: int, best: int, end: int) -> int:
    """Return when the first job starts on so many nodes; NEVER: it cannot end before the best one."""
    start, _, _ = shadow(f, SHARED, nodes)
    if start == f.machine[SHARED].now or not _can_be_overtaken(f, row, start):
        return start
    return _play(f, SHARED, row, nodes, best, end)


@kernel
def _can_be_overtaken(f: Molds, row: int, until: int) -> bool:
    """Whether some job may come before the first one up to that instant, since it has waited long."""
    machine, own = f.machine[SHARED], level(f, row, f.machine[SHARED].now)
    for i in range(machine.queued):
        other = f.lists[SHARED, QUEUE, i]
        if other != row and level(f, other, until) <= own:
            return True
    return False


@shared_kernel
def _play(f: Molds, of: int, row: int, nodes: int, best: int, end: int) -> int:
    """Play on with this size from a world; return when the job starts, or NEVER: it cannot end before the best one."""
    job, machine = f.jobs[row], f.machine[FORKED]
    least, most = job.least, job.most
    job.least = job.most = nodes
    _copy(f, of, FORKED)
    start = NEVER
    while start == NEVER and _is_better(f, FORKED, nodes, best, end):
        _vacate(f, FORKED)
        begin(f, FORKED)
        if choose_up_to(f, FORKED, row):
            start = machine.now
        machine.now = _next_end(f, FORKED)
    job.least, job.most = least, most
    return start


@kernel
def _copy(f: Molds, of: int, world: int) -> None:
    """Copy the queue and the running jobs of one world to another."""
    there, here = f.machine[of], f.machine[world]
    here.nodes, here.free, here.now = there.nodes, there.free, there.now
    here.sizing, here.backfill = there.sizing, there.backfill
    here.queued, here.running = there.queued, there.running
    for i in range(there.queued):
        f.lists[world, QUEUE, i] = f.lists[of, QUEUE, i]
    for i in range(there.running):
        for each in (RUN_ROW, RUN_END, RUN_NODES):
            f.lists[world, each, i] = f.lists[of, each, i]


@kernel
def _vacate(f: Molds, world: int) -> None:
    """Jobs end when they are expected to."""
    machine, lists, ended = f.machine[world], f.lists[world], 0
    while ended < machine.running and lists[RUN_END, ended] <= machine.now:
        machine.free += lists[RUN_NODES, ended]
        ended += 1
    machine.running -= ended
    for i in range(machine.running if ended else 0):
        for each in (RUN_ROW, RUN_END, RUN_NODES):
            lists[each, i] = lists[each, i + ended]


@kernel
def _next_end(f: Molds, world: int) -> int:
    """Return when the next job is expected to end, or NEVER."""
    return f.lists[world, RUN_END, 0] if f.machine[world].running else NEVER
