"""Gifts: free processors are given to running jobs."""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.progress import end_on, resize
from cosched_papers.fluid.kernels.sharing import share_out, sort
from cosched_papers.fluid.kernels.state import FAIR, KEY, LONG, ROOM, SHARE, SHORT, WHO, Fluid


@shared_kernel
def give(f: Fluid, now: int) -> None:
    """Give all that is free to running jobs that have less than their ideal."""
    machine = f.machine[0]
    if machine.avail <= 0 or machine.resizes == 0:
        return
    machine.planned_for = NONE  # its lists are used again
    n = _takers(f)
    share_out(f, n, machine.avail, +1)
    idle = _first_without_benefit(f, n, now)
    while idle != NONE:
        n = _without(f, n, idle)
        share_out(f, n, machine.avail, +1)
        idle = _first_without_benefit(f, n, now)
    for i in range(n):
        if f.lists[SHARE, i] > 0:
            row = f.lists[WHO, i]
            resize(f, row, f.jobs[row].procs + f.lists[SHARE, i], now, NONE)


@kernel
def _takers(f: Fluid) -> int:
    """List the running jobs that can be given more, in order; return their number."""
    machine, n = f.machine[0], 0
    for i in range(machine.running):
        job = f.jobs[f.running[i]]
        if job.procs < job.ideal:
            f.lists[WHO, n] = f.running[i]
            f.lists[KEY, n] = _rank(f, f.running[i])
            n += 1
    if machine.harvesting in (FAIR, LONG, SHORT):
        sort(f, n)
    _measure_room(f, n)
    return n


@kernel
def _measure_room(f: Fluid, n: int) -> None:
    for i in range(n):
        job = f.jobs[f.lists[WHO, i]]
        f.lists[ROOM, i] = job.ideal - job.procs


@kernel
def _rank(f: Fluid, row: int) -> int:
    job, harvesting = f.jobs[row], f.machine[0].harvesting
    if harvesting == FAIR:
        return -job.harvests
    return -job.start if harvesting == LONG else job.expected


@kernel
def _first_without_benefit(f: Fluid, n: int, now: int) -> int:
    """Of the jobs that would not end sooner, the place of that which started first; NONE: control does not ask."""
    found, first = NONE, f.machine[0].running
    if f.machine[0].benefit == 0:
        return NONE
    for i in range(n):
        row = f.lists[WHO, i]
        job = f.jobs[row]
        if f.lists[SHARE, i] > 0 and end_on(f, row, job.procs + f.lists[SHARE, i], now) >= job.expected:
            place = 0
            while f.running[place] != row:
                place += 1
            if place < first:
                found, first = i, place
    return found


@kernel
def _without(f: Fluid, n: int, place: int) -> int:
    for i in range(place, n - 1):
        f.lists[WHO, i] = f.lists[WHO, i + 1]
        f.lists[ROOM, i] = f.lists[ROOM, i + 1]
    return n - 1
