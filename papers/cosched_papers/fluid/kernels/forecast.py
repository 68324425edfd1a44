"""When a job would start if nothing more were submitted: iterations run forward, on a copy of the state."""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.booking import unbook
from cosched_papers.fluid.kernels.iteration import choose, start
from cosched_papers.fluid.kernels.progress import leave
from cosched_papers.fluid.kernels.promises import give_back, start_anyhow
from cosched_papers.fluid.kernels.state import LEVEL, NEVER, QUEUED, Fluid

COMPLETED = int(JobState.COMPLETED)


@shared_kernel
def first_start(f: Fluid, sought: int, not_before: int, now: int) -> int:
    """The first instant from `not_before` on at which an iteration starts the job, others with mates passed over.

    Its own slot does not count. NONE: there is no such instant.
    """
    if f.jobs[sought].state != QUEUED:
        give_back(f, sought)
    unbook(f, sought)
    at = now
    while at != NEVER:
        if at > now:
            _end_jobs(f, at)
        _start_booked(f, at)
        if _iterate(f, sought, at) and at >= not_before:
            return at
        at = _next(f, not_before, at)
    return NONE


@kernel
def _iterate(f: Fluid, sought: int, at: int) -> bool:
    """Whether the job had its turn; it is passed over."""
    f.machine[0].step = LEVEL
    f.jobs[sought].passed_over = 0
    had = False
    while True:
        f.machine[0].logged = 0
        row = choose(f, at)
        if row == NONE:
            return had
        if row == sought or f.jobs[row].paired == 1:
            f.jobs[row].passed_over = at + 1
            had = had or row == sought
        else:
            start(f, row, at)


@kernel
def _end_jobs(f: Fluid, at: int) -> None:
    for i in range(f.machine[0].running - 1, -1, -1):
        if f.jobs[f.running[i]].expected <= at:
            leave(f, f.running[i], COMPLETED)


@kernel
def _start_booked(f: Fluid, at: int) -> None:
    machine = f.machine[0]
    for i in range(machine.head, machine.queued):
        row = f.queue[i]
        if f.jobs[row].state == QUEUED and 0 < f.jobs[row].slot <= at + 1:
            machine.logged = 0
            start_anyhow(f, row, at)


@kernel
def _next(f: Fluid, not_before: int, at: int) -> int:
    """The next instant at which a job ends, or a booked one starts."""
    machine, instant = f.machine[0], NEVER
    if not_before > at:
        instant = not_before
    for i in range(machine.running):
        instant = min(instant, max(f.jobs[f.running[i]].expected, at + 1))
    for i in range(machine.head, machine.queued):
        row = f.queue[i]
        if f.jobs[row].state == QUEUED and f.jobs[row].slot > at + 1:
            instant = min(instant, f.jobs[row].slot - 1)
    return instant
