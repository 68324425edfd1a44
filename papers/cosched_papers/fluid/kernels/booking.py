"""Booked jobs: each starts at its slot, whatever the policy says then (fluid.md, Slots).

So no job starts if some booked one could not be had at its slot though all others were on their least.
"""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.progress import _ceil, left_at, speed
from cosched_papers.fluid.kernels.state import NEVER, RUNNING, Fluid

READY = int(JobState.READY)


@shared_kernel
def keeps_bookings(f: Fluid, more: int, now: int) -> bool:
    """Whether all that are booked can be had at their slots if the job `more` (or NONE) starts now."""
    machine = f.machine[0]
    if machine.booked == 0:
        return True
    for i in range(machine.head, machine.queued):
        row = f.queue[i]
        if f.jobs[row].slot > 0 and row != more and not _fit(f, _slot(f, row, now), more, now):
            return False
    return True


@kernel
def _slot(f: Fluid, row: int, now: int) -> int:
    """When a booked job starts: one whose slot is past may do so now."""
    return max(f.jobs[row].slot - 1, now)


@kernel
def _fit(f: Fluid, at: int, more: int, now: int) -> bool:
    """Whether all that may run at the instant `at` have room on their least."""
    machine, need = f.machine[0], 0
    for i in range(machine.running):
        if _end_on_least(f, f.running[i], now) > at:
            need += f.jobs[f.running[i]].least
    for i in range(machine.head, machine.queued):
        row = f.queue[i]
        job = f.jobs[row]
        if row == more or job.state >= RUNNING:
            continue
        booked = job.slot > 0 and _slot(f, row, now) <= at < _end_from(f, row, _slot(f, row, now))
        if booked or (job.slot == 0 and job.state >= READY):
            need += job.least
    if more != NONE and _end_from(f, more, now) > at:
        need += f.jobs[more].least
    return need <= machine.nodes


@kernel
def _end_on_least(f: Fluid, row: int, now: int) -> int:
    """When a running job ends at the latest. NEVER: nobody knows, as each resize may suspend it, or fewer be faster."""
    job = f.jobs[row]
    if job.fixed > 0 or job.data > 0 or job.told == 1:
        return NEVER
    return max(now, job.resume) + _ceil(left_at(f, row, now), speed(f, row, job.least))


@kernel
def _end_from(f: Fluid, row: int, start: int) -> int:
    """The same of one that starts then."""
    job = f.jobs[row]
    if job.fixed > 0 or job.data > 0 or job.told == 1:
        return NEVER
    return start + _ceil(job.work, speed(f, row, job.least))


@shared_kernel
def can_book(f: Fluid, row: int, at: int, now: int) -> bool:
    """Whether the job could have this slot, instead of the one that it has."""
    machine, job = f.machine[0], f.jobs[row]
    slot, booked = job.slot, machine.booked
    job.slot, machine.booked = at + 1, booked + 1
    kept = keeps_bookings(f, NONE, now)
    job.slot, machine.booked = slot, booked
    return kept


@shared_kernel
def first_bookable(f: Fluid, row: int, not_before: int, now: int) -> int:
    """The first instant from then on at which the job could have a slot, or NONE."""
    at = not_before
    while not can_book(f, row, at, now):
        at = _next_end(f, row, at, now)
        if at == NEVER:
            return NONE
    return at


@kernel
def _next_end(f: Fluid, sought: int, after: int, now: int) -> int:
    """When the next of those that run, or are booked, is gone at the latest; NEVER: none is."""
    machine, first = f.machine[0], NEVER
    for i in range(machine.running):
        end = _end_on_least(f, f.running[i], now)
        if end > after:
            first = min(first, end)
    for i in range(machine.head, machine.queued):
        row = f.queue[i]
        if f.jobs[row].slot > 0 and row != sought:
            end = _end_from(f, row, _slot(f, row, now))
            if end > after:
                first = min(first, end)
    return first


@kernel
def book(f: Fluid, row: int, at: int) -> None:
    """Give the job this slot."""
    unbook(f, row)
    f.jobs[row].slot, f.jobs[row].moves = at + 1, 0
    f.machine[0].booked += 1


@kernel
def unbook(f: Fluid, row: int) -> None:
    """Take the job's slot away, if it has one."""
    if f.jobs[row].slot > 0:
        f.jobs[row].slot = 0
        f.machine[0].booked -= 1
