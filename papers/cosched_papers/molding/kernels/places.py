"""When the first job starts, if its target is not free: by figure 3, or at EASY's shadow (molding.md, Now or later)."""

from __future__ import annotations

from cosched.core.scheduling.primitives.compiled import kernel, shared_kernel
from cosched_papers.molding.kernels.sizes import smallest, time_on
from cosched_papers.molding.kernels.state import NEVER, RUN_END, RUN_NODES, Molds


@kernel
def next_release(f: Molds, world: int, i: int, free: int) -> tuple[int, int, int]:
    """Return when the running job `i` ends, how many nodes are free then, and the first job that ends later.

    A job that is past its end ends now.
    """
    machine, lists = f.machine[world], f.lists[world]
    instant = max(lists[RUN_END, i], machine.now)
    while i < machine.running and max(lists[RUN_END, i], machine.now) == instant:
        free += lists[RUN_NODES, i]
        i += 1
    return instant, free, i


@kernel
def shadow(f: Molds, world: int, nodes: int) -> tuple[int, int, int]:
    """Return when so many nodes are free, these nodes, and how many others are free then: EASY's shadow."""
    machine = f.machine[world]
    instant, free, i = machine.now, machine.free, 0
    while free < nodes and i < machine.running and f.lists[world, RUN_END, i] < NEVER:
        instant, free, i = next_release(f, world, i, free)
    return (instant, nodes, free - nodes) if free >= nodes else (NEVER, nodes, 0)


@shared_kernel
def figure_3(f: Molds, world: int, first: int, target: int) -> tuple[int, int, int]:
    """Return when the first job is to start, on how many nodes, and how many others are free then."""
    machine, least = f.machine[world], smallest(f, first)
    start, nodes, extra, best = NEVER, target, 0, NEVER
    if machine.free >= least:
        start, nodes, best = machine.now, machine.free, time_on(f, first, machine.free)
    free, i = machine.free, 0
    while free < target and i < machine.running and f.lists[world, RUN_END, i] < NEVER:
        instant, free, i = next_release(f, world, i, free)
        size = min(target, free)
        if size >= least and instant - machine.now + time_on(f, first, size) < best:
            best = instant - machine.now + time_on(f, first, size)
            start, nodes, extra = instant, size, free - size
    return start, nodes, extra
