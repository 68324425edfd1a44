"""A whole trace on one molding machine, without mates (scheduling.md, Time and order)."""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.iteration import begin, choose, take
from cosched_papers.molding.kernels.selecting import earliest_size
from cosched_papers.molding.kernels.sizes import time_on
from cosched_papers.molding.kernels.state import NEVER, QUEUE, REAL, RUN_END, RUN_NODES, RUN_ROW, Molds


@shared_kernel
def play(f: Molds) -> None:
    """Run all jobs to their ends."""
    machine = f.machine[REAL]
    while True:
        machine.now = _next_instant(f)
        if machine.now == NEVER:
            return
        _complete(f)
        while machine.submitted < len(f.jobs) and f.jobs[machine.submitted].submit == machine.now:
            _submit(f, machine.submitted)
            machine.submitted += 1
        begin(f, REAL)
        row = choose(f, REAL, NONE)
        while row != NONE:
            _start(f, row, machine.size)
            row = choose(f, REAL, NONE)


@kernel
def _next_instant(f: Molds) -> int:
    """When the next job ends or is submitted, or NEVER."""
    machine, instant = f.machine[REAL], NEVER
    if machine.submitted < len(f.jobs):
        instant = f.jobs[machine.submitted].submit
    for i in range(machine.running):
        instant = min(instant, f.jobs[f.lists[REAL, RUN_ROW, i]].end)
    return instant


@kernel
def _complete(f: Molds) -> None:
    machine, lists, kept = f.machine[REAL], f.lists[REAL], 0
    for i in range(machine.running):
        if f.jobs[lists[RUN_ROW, i]].end == machine.now:
            machine.free += lists[RUN_NODES, i]
            continue
        for each in (RUN_ROW, RUN_END, RUN_NODES):
            lists[each, kept] = lists[each, i]
        kept += 1
    machine.running = kept


@kernel
def _submit(f: Molds, row: int) -> None:
    machine, job = f.machine[REAL], f.jobs[row]
    f.lists[REAL, QUEUE, machine.queued] = row
    machine.queued += 1
    if machine.selects:
        job.least = job.most = earliest_size(f, row)


@kernel
def _start(f: Molds, row: int, nodes: int) -> None:
    """A job that ends early runs for its run time x T(n) / requested, rounded up."""
    machine, job, time = f.machine[REAL], f.jobs[row], time_on(f, row, nodes)
    whole, rest = time // job.requested, time % job.requested
    job.size, job.start, job.guaranteed = nodes, machine.now, 0
    job.end = machine.now + whole * job.run - (-rest * job.run // job.requested)
    f.started[machine.started] = row
    machine.started += 1
    take(f, REAL, row, nodes, machine.now + time)
