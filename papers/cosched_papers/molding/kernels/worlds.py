"""Worlds in which Cirne-Berman plays what comes: jobs end when they are expected to, and none are submitted."""

from __future__ import annotations

from cosched.core.scheduling.primitives.compiled import kernel
from cosched_papers.molding.kernels.state import NEVER, QUEUE, RUN_END, RUN_NODES, RUN_ROW, TIME, Molds


@kernel
def copy_world(f: Molds, of: int, world: int) -> None:
    """Copy the queue and the running jobs of one world to another."""
    there, here = f.machine[of], f.machine[world]
    here.nodes, here.free, here.now = there.nodes, there.free, there.now
    here.sizing, here.backfill = there.sizing, there.backfill
    here.queued, here.running = there.queued, there.running
    for i in range(there.queued):
        f.lists[world, QUEUE, i] = f.lists[of, QUEUE, i]
    for i in range(there.running):
        for each in (RUN_ROW, RUN_END, RUN_NODES):
            f.lists[world, each, i] = f.lists[of, each, i]


@kernel
def vacate(f: Molds, world: int) -> None:
    """Jobs end when they are expected to."""
    machine, lists, ended = f.machine[world], f.lists[world], 0
    while ended < machine.running and lists[RUN_END, ended] <= machine.now:
        machine.free += lists[RUN_NODES, ended]
        ended += 1
    machine.running -= ended
    for i in range(machine.running if ended else 0):
        for each in (RUN_ROW, RUN_END, RUN_NODES):
            lists[each, i] = lists[each, i + ended]


@kernel
def next_end(f: Molds, world: int) -> int:
    """Return when the next job is expected to end, or NEVER."""
    return f.lists[world, RUN_END, 0] if f.machine[world].running else NEVER


@kernel
def is_better(f: Molds, start: int, nodes: int, best: int, end: int) -> bool:
    """Whether a job that starts then on so many nodes ends before the best one so far, or with it on fewer nodes."""
    if start == NEVER:
        return False
    would_end = start + f.tries[TIME, nodes]
    return would_end < end or (would_end == end and nodes < best)
