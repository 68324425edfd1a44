"""A whole trace on one fluid machine, without mates (scheduling.md, Time and order)."""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.fluid.kernels.iteration import choose, enqueue, start
from cosched_papers.fluid.kernels.progress import leave
from cosched_papers.fluid.kernels.state import LEVEL, NEVER, OVER, SLACK, Fluid

COMPLETED = int(JobState.COMPLETED)


@shared_kernel
def advance(f: Fluid) -> bool:
    """Run on; False: the log is full, and is to be emptied first. True: all jobs have ended, or none can start."""
    machine = f.machine[0]
    while True:
        if machine.step == OVER:
            machine.now = next_instant(f)
            if machine.now == NEVER:
                return True
            _complete(f, machine.now)
            _submit(f, machine.now)
            machine.step = LEVEL
        if machine.logged + SLACK * machine.running + SLACK > len(f.log):
            return False
        row = choose(f, machine.now)
        if row != NONE:
            start(f, row, machine.now)


@kernel
def next_instant(f: Fluid) -> int:
    """When the next job ends or is submitted, or NEVER."""
    machine, instant = f.machine[0], NEVER
    if machine.submitted < machine.jobs:
        instant = f.jobs[machine.submitted].submit
    for i in range(machine.running):
        instant = min(instant, f.jobs[f.running[i]].end)
    return instant


@kernel
def _complete(f: Fluid, now: int) -> None:
    for i in range(f.machine[0].running - 1, -1, -1):
        if f.jobs[f.running[i]].end == now:
            leave(f, f.running[i], COMPLETED)


@kernel
def _submit(f: Fluid, now: int) -> None:
    machine = f.machine[0]
    while machine.submitted < machine.jobs and f.jobs[machine.submitted].submit == now:
        enqueue(f, machine.submitted)
        machine.submitted += 1
