"""One scheduling iteration (molding.md): the front of the queue, then jobs behind the first that has to wait.

With conservative backfilling each job has its place instead.
"""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import CONSERVATIVE, NONE
from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.places import figure_3, shadow
from cosched_papers.molding.kernels.planning import begin_plan, starts_in_plan, take_in_plan
from cosched_papers.molding.kernels.sizes import size_of, smallest, sort, time_on
from cosched_papers.molding.kernels.state import (
    BEHIND,
    NEVER,
    NOW,
    QUEUE,
    RUN_END,
    RUN_NODES,
    RUN_ROW,
    SCOJO,
    SCOJO_P,
    TARGET,
    TURNS,
    Molds,
)
from cosched_papers.molding.kernels.target import modifier_of
from cosched_papers.molding.kernels.times import MEDIUM


@kernel
def begin(f: Molds, world: int) -> None:
    """An iteration begins, in which all that are queued have their turn."""
    sort(f, world)
    open_iteration(f, world)


@kernel
def open_iteration(f: Molds, world: int) -> None:
    """An iteration begins, in which these have their turn."""
    machine = f.machine[world]
    machine.position = machine.waits = 0
    if machine.backfill == CONSERVATIVE:
        begin_plan(f, world)


@shared_kernel
def choose(f: Molds, world: int, apart: int) -> int:
    """Return the next job that can start, on `machine.size` nodes, or NONE. The last one started, or was passed over.

    The job `apart` comes back when it has its turn, whether it can start or not.
    """
    machine, turns = f.machine[world], f.lists[world, TURNS]
    while machine.position < machine.turns:
        row = turns[machine.position]
        machine.position += 1
        if machine.backfill == CONSERVATIVE:
            if starts_in_plan(f, world, row):
                return row
            continue
        if row == apart or (machine.waits and _starts_behind(f, world, row)):
            return row
        if not machine.waits and _starts_first(f, world, row):
            return row
    return NONE


@kernel
def _starts_first(f: Molds, world: int, row: int) -> bool:
    """Whether the first job starts now; else it waits, and has its reservation."""
    machine = f.machine[world]
    modifier = modifier_of(f, world, row)
    target = size_of(f, row, modifier)
    f.modifiers[world], machine.limit, machine.by = modifier, NEVER, TARGET
    if target <= machine.free:
        machine.size = target
        return True
    if machine.sizing == SCOJO_P:
        start, machine.size, extra = figure_3(f, world, row, target)
    else:
        start, machine.size, extra = shadow(f, world, target)
    if machine.size <= machine.free:
        machine.by = NOW
        return True
    if machine.sizing == SCOJO_P and start < NEVER and f.jobs[row].guaranteed != machine.size:
        f.jobs[row].guaranteed = machine.size
        machine.guaranteed = row
    machine.waits, machine.reserved, machine.extra = 1, start, extra
    return False


@kernel
def _starts_behind(f: Molds, world: int, row: int) -> bool:
    """Whether a job can start behind the first one, with the same modifier (EASY backfilling)."""
    machine = f.machine[world]
    nodes = size_of(f, row, f.modifiers[world])
    if machine.sizing == SCOJO and f.jobs[row].requested < MEDIUM:
        nodes = max(smallest(f, row), min(nodes, machine.free))
    time = time_on(f, row, nodes)
    machine.size, machine.by = nodes, BEHIND
    forever = nodes <= machine.extra or machine.reserved == NEVER
    machine.limit = NEVER if forever else machine.reserved - time
    return fits_behind(f, world, nodes, time)


@kernel
def fits_behind(f: Molds, world: int, nodes: int, time: int) -> bool:
    """Whether so many nodes are free for so long, and the reserved job starts no later."""
    machine = f.machine[world]
    return nodes <= machine.free and (nodes <= machine.extra or machine.now + time <= machine.reserved)


@shared_kernel
def take(f: Molds, world: int, row: int, nodes: int, end: int) -> None:
    """A queued job has so many nodes until `end`, as far as is known."""
    machine, lists = f.machine[world], f.lists[world]
    machine.free -= nodes
    if machine.backfill == CONSERVATIVE:
        take_in_plan(f, world, nodes, machine.now, end)
    elif machine.waits and end > machine.reserved:
        machine.extra -= nodes
    i = 0
    while lists[QUEUE, i] != row:
        i += 1
    machine.queued -= 1
    while i < machine.queued:
        lists[QUEUE, i] = lists[QUEUE, i + 1]
        i += 1
    run(f, world, row, nodes, end)


@kernel
def run(f: Molds, world: int, row: int, nodes: int, end: int) -> None:
    """Enter a job among those that run, by its end."""
    lists, i = f.lists[world], f.machine[world].running
    while i > 0 and lists[RUN_END, i - 1] > end:
        for each in (RUN_ROW, RUN_END, RUN_NODES):
            lists[each, i] = lists[each, i - 1]
        i -= 1
    lists[RUN_ROW, i], lists[RUN_END, i], lists[RUN_NODES, i] = row, end, nodes
    f.machine[world].running += 1


@shared_kernel
def choose_up_to(f: Molds, world: int, row: int) -> bool:
    """Whether this job can start in an iteration in which those before it start."""
    machine = f.machine[world]
    other = choose(f, world, NONE)
    while other != NONE and other != row:
        take(f, world, other, machine.size, machine.now + time_on(f, other, machine.size))
        other = choose(f, world, NONE)
    return other == row
