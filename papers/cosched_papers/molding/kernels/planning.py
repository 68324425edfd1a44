"""Conservative backfilling: every job in its turn gets the earliest place that delays no job before it (molding.md)."""

from __future__ import annotations

from cosched.core.scheduling.primitives.compiled import kernel
from cosched.core.scheduling.primitives.steps import begin_steps, earliest_in_steps, steps_short_from, take_from_steps
from cosched_papers.molding.kernels.sizes import size_of, time_on
from cosched_papers.molding.kernels.state import BEHIND, NEVER, RUN_END, RUN_NODES, STEP_FREE, STEP_TIME, TARGET, Molds


@kernel
def begin_plan(f: Molds, world: int) -> None:
    """Start from what runs and is held."""
    machine, lists = f.machine[world], f.lists[world]
    times, free, ends, nodes = f.steps[STEP_TIME], f.steps[STEP_FREE], lists[RUN_END], lists[RUN_NODES]
    machine.planned = begin_steps(times, free, ends, nodes, machine.running, machine.now, machine.free)


@kernel
def take_in_plan(f: Molds, world: int, nodes: int, start: int, end: int) -> None:
    """Nobody else may use so many nodes from `start` to `end`."""
    machine = f.machine[world]
    machine.planned = take_from_steps(f.steps[STEP_TIME], f.steps[STEP_FREE], machine.planned, nodes, start, end)


@kernel
def earliest_in_plan(f: Molds, world: int, nodes: int, time: int) -> int:
    """Return from when on so many nodes are free for so long; NEVER: they never are."""
    machine = f.machine[world]
    return earliest_in_steps(f.steps[STEP_TIME], f.steps[STEP_FREE], machine.planned, nodes, time, machine.now)


@kernel
def starts_in_plan(f: Molds, world: int, row: int) -> bool:
    """Whether a job starts now by the plan; else it has its place later, if there is any."""
    machine, nodes = f.machine[world], size_of(f, row, 1.0)
    takes = time_on(f, row, nodes)
    start = earliest_in_plan(f, world, nodes, takes)
    if start == machine.now and nodes <= machine.free:
        steps = f.steps[STEP_TIME], f.steps[STEP_FREE], machine.planned
        short = steps_short_from(*steps, nodes, machine.now)
        machine.limit = NEVER if short == NEVER else short - takes
        machine.size, machine.by = nodes, BEHIND if machine.waits else TARGET
        return True
    machine.waits = 1
    if start < NEVER:
        take_in_plan(f, world, nodes, start, start + takes)
    return False
