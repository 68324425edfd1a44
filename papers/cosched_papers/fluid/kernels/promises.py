"""What becomes of a job that has its turn, or is asked for by its mate: ready, start, hold, yield, release, try.

A ready job has its least, as far as that is free; the rest is claimed, and is taken from others when the job starts.
"""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.harvest import carry_out, plan_for_promised
from cosched_papers.fluid.kernels.iteration import choose, start
from cosched_papers.fluid.kernels.progress import begin, note_end
from cosched_papers.fluid.kernels.state import LEVEL, QUEUED, RUNNING, Fluid

READY, HOLDING = int(JobState.READY), int(JobState.HOLDING)


@kernel
def make_ready(f: Fluid, row: int) -> bool:
    """The job keeps what is free of its least; whether that is all of it."""
    machine, job = f.machine[0], f.jobs[row]
    job.procs = max(0, min(machine.avail, job.least))
    machine.avail -= job.procs
    machine.claimed += job.least - job.procs
    machine.waiting += 1
    job.state = READY
    return job.procs == job.least


@kernel
def take_up(f: Fluid, row: int, state: int) -> None:
    """After a restart: a ready, holding or running job has its processors, work and place as before."""
    machine, job = f.machine[0], f.jobs[row]
    machine.avail -= job.procs
    job.state = state
    if state != RUNNING:
        machine.claimed += job.least - job.procs
        machine.waiting += 1
        return
    note_end(f, row)
    at = machine.running
    while at > 0 and f.jobs[f.running[at - 1]].place > job.place:
        f.running[at] = f.running[at - 1]
        at -= 1
    f.running[at] = row
    machine.running += 1


@kernel
def give_back(f: Fluid, row: int) -> None:
    """A ready or holding job is queued again, at its place, as if nothing had happened."""
    machine, job = f.machine[0], f.jobs[row]
    machine.avail += job.procs
    machine.claimed -= job.least - job.procs
    machine.waiting -= 1
    job.procs = 0
    job.state = QUEUED


@kernel
def hold(f: Fluid, row: int) -> None:
    """A ready job that has its least keeps it."""
    f.jobs[row].state = HOLDING
    f.machine[0].version += 1


@kernel
def release(f: Fluid, row: int, now: int) -> None:
    """A hold is ended by force: the job is queued again, as the last one of this instant."""
    give_back(f, row)
    f.machine[0].version += 1
    f.jobs[row].released = f.machine[0].released_at = now


@shared_kernel
def start_promised(f: Fluid, row: int, now: int) -> None:
    """A ready or holding job starts: on its least and what is free, or by harvest."""
    give_back(f, row)
    start_anyhow(f, row, now)


@shared_kernel
def start_anyhow(f: Fluid, row: int, now: int) -> None:
    """Start a queued job whose start was promised, though policy may not allow it any more."""
    if start(f, row, now):
        return
    machine, job = f.machine[0], f.jobs[row]
    if machine.avail < job.least:
        plan_for_promised(f, row, now)
        carry_out(f, now)
    begin(f, row, min(machine.avail, job.ideal), now)


@shared_kernel
def would_start(f: Fluid, sought: int, now: int) -> bool:
    """Whether an iteration starts this job if other paired jobs are passed over; `f` is a copy, to be played on."""
    machine = f.machine[0]
    machine.step = LEVEL
    f.jobs[sought].passed_over = 0
    while True:
        machine.logged = 0
        row = choose(f, now)
        if row == sought or row == NONE:
            return row == sought
        if f.jobs[row].paired == 1:
            f.jobs[row].passed_over = now + 1
        else:
            start(f, row, now)
