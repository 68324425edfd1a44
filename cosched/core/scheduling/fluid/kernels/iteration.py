"""One iteration: queued jobs are admitted, and what is then free goes to running ones."""

from __future__ import annotations

from cosched.core.scheduling.fluid.kernels.gifts import give
from cosched.core.scheduling.fluid.kernels.harvest import carry_out, plan_harvest
from cosched.core.scheduling.fluid.kernels.progress import begin
from cosched.core.scheduling.fluid.kernels.state import ADMIT, GIVE_FIRST, GIVE_LAST, LEVEL, OVER, QUEUED, Fluid
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel


@kernel
def enqueue(f: Fluid, row: int) -> None:
    """A job is submitted."""
    machine = f.machine[0]
    f.queue[machine.queued] = row
    machine.queued += 1
    f.jobs[row].state = QUEUED


@shared_kernel
def choose(f: Fluid, now: int) -> int:
    """Go on with the iteration up to the next queued job that can be had: its row; NONE: the iteration is over."""
    machine = f.machine[0]
    while machine.step != OVER:
        head = _head(f)
        if machine.step == LEVEL:
            if head != NONE and machine.running < machine.level and can_be_had(f, head, now):
                return head
            machine.step = GIVE_FIRST if machine.favor_running else ADMIT
        elif machine.step == ADMIT:
            if head != NONE and machine.avail >= f.jobs[head].least:
                return head
            machine.step = GIVE_LAST
        else:
            give(f, now)
            machine.step = ADMIT if machine.step == GIVE_FIRST else OVER
    return NONE


@kernel
def _head(f: Fluid) -> int:
    """The first queued job, or NONE."""
    machine = f.machine[0]
    while machine.head < machine.queued:
        row = f.queue[machine.head]
        if f.jobs[row].state == QUEUED:
            return row
        machine.head += 1
    return NONE


@shared_kernel
def can_be_had(f: Fluid, head: int, now: int) -> bool:
    """Whether the job can have its least, free or by harvest."""
    return f.machine[0].avail >= f.jobs[head].least or plan_harvest(f, head, now)


@shared_kernel
def start(f: Fluid, row: int, now: int) -> bool:
    """Start the job that was chosen: on what is free, or else by harvest. False: it cannot be had any more."""
    machine, job = f.machine[0], f.jobs[row]
    if not can_be_had(f, row, now):
        return False
    if machine.avail < job.least:
        carry_out(f, now)
    begin(f, row, min(machine.avail, job.ideal), now)
    return True
