"""Harvests: processors are taken from running jobs, so that the first queued job can start."""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.progress import end_on, resize
from cosched_papers.fluid.kernels.sharing import share_out, sort
from cosched_papers.fluid.kernels.state import FAIR, KEY, LONG, NEVER, NEVER_HARVEST, ROOM, SHARE, SHORT, WHO, Fluid


@shared_kernel
def plan_harvest(f: Fluid, head: int, now: int) -> bool:
    """Whether `head` can be had, on its least, if others give what is missing; the plan is in the lists.

    Who could not be had is tried again only after something has changed for running jobs.
    """
    machine = f.machine[0]
    if machine.planned_for == head and machine.planned_version == machine.version and machine.planned_at == now:
        return True
    if machine.failed == head and machine.failed_version == machine.version:
        return False
    machine.tried += 1
    machine.planned_for = NONE
    n = _victims(f, now)
    need, room = f.jobs[head].least - machine.avail, 0
    for i in range(n):
        job = f.jobs[f.lists[WHO, i]]
        f.lists[ROOM, i] = job.procs - job.least
        room += job.procs - job.least
    can = room >= need
    if can:
        share_out(f, n, need, -1)
        can = machine.benefit == 0 or _moved(f, n, now) < _comes_free(f, head) - now
    if can:
        _note_plan(f, head, n, now)
    else:
        machine.failed, machine.failed_version = head, machine.version
    return can


@kernel
def _note_plan(f: Fluid, head: int, n: int, now: int) -> None:
    machine = f.machine[0]
    machine.planned_for, machine.planned_version, machine.planned_at = head, machine.version, now
    machine.planned = n


@shared_kernel
def plan_for_promised(f: Fluid, head: int, now: int) -> None:
    """Plan a harvest from all running jobs, whatever the policy says: a mate was told that `head` starts."""
    machine, n = f.machine[0], f.machine[0].running
    for i in range(n):
        row = f.running[i]
        f.lists[WHO, i], f.lists[ROOM, i] = row, f.jobs[row].procs - f.jobs[row].least
    share_out(f, n, f.jobs[head].least - machine.avail, -1)
    _note_plan(f, head, n, now)


@shared_kernel
def carry_out(f: Fluid, now: int) -> None:
    """Take what is planned."""
    machine = f.machine[0]
    head = machine.planned_for
    machine.had += 1
    for i in range(machine.planned):
        if f.lists[SHARE, i] > 0:
            row = f.lists[WHO, i]
            f.jobs[row].harvests += 1
            resize(f, row, f.jobs[row].procs - f.lists[SHARE, i], now, head)


@kernel
def _victims(f: Fluid, now: int) -> int:
    """List the running jobs from which may be taken, in order; return their number."""
    machine = f.machine[0]
    if machine.harvesting == NEVER_HARVEST:
        return 0
    total = 0
    for i in range(machine.running):
        total += _measure(f, f.running[i], now)
    n = 0
    for i in range(machine.running):
        row = f.running[i]
        if _is_victim(f, row, total, now):
            f.lists[WHO, n] = row
            f.lists[KEY, n] = -f.jobs[row].expected
            n += 1
    if machine.harvesting == SHORT:
        sort(f, n)
    return n


@kernel
def _measure(f: Fluid, row: int, now: int) -> int:
    """What the policy compares with the mean of all running jobs."""
    job, harvesting = f.jobs[row], f.machine[0].harvesting
    if harvesting == FAIR:
        return job.harvests
    if harvesting == LONG:
        return now - job.start
    return job.expected - now if harvesting == SHORT else 0


@kernel
def _is_victim(f: Fluid, row: int, total: int, now: int) -> bool:
    machine, job = f.machine[0], f.jobs[row]
    if job.harvests >= machine.max_harvests or now - job.start < machine.protect_age:
        return False
    mine = _measure(f, row, now) * machine.running
    if machine.harvesting == FAIR:
        return mine <= total
    return mine > total or machine.harvesting not in (LONG, SHORT)


@kernel
def _moved(f: Fluid, n: int, now: int) -> int:
    """By how much the plan moves the ends of those that give, in sum."""
    moved = 0
    for i in range(n):
        if f.lists[SHARE, i] > 0:
            row = f.lists[WHO, i]
            job = f.jobs[row]
            moved += end_on(f, row, job.procs - f.lists[SHARE, i], now) - job.expected
    return moved


@kernel
def _comes_free(f: Fluid, head: int) -> int:
    """The first instant at which the head's least is expected to be free with the present sizes."""
    machine = f.machine[0]
    free, at = machine.avail, -1
    while free < f.jobs[head].least:
        after = NEVER
        for i in range(machine.running):
            end = f.jobs[f.running[i]].expected
            if at < end < after:
                after = end
        if after == NEVER:
            return NEVER
        at = after
        for i in range(machine.running):
            if f.jobs[f.running[i]].expected == at:
                free += f.jobs[f.running[i]].procs
    return at
