"""EASY: the reserved job's shadow time and what may pass it (scheduling.md, One scheduling iteration, 3)."""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel, unsigned
from cosched.core.scheduling.primitives.occupancy import WHOLE, block_free_at, free_block
from cosched.core.scheduling.primitives.tables import NEVER, RUN_END, RUN_NODES, Tables


@kernel
def reserve(tab: Tables, d: int, nodes: int, now: int) -> None:
    """Find shadow time and extra (or the reserved block) for a reserved job of `nodes`; NEVER: there is no shadow."""
    dom = tab.domains[d]
    if dom.units > 0:
        _reserve_block(tab, d, nodes // dom.unit_nodes, now)
    else:
        _reserve_nodes(tab, d, nodes, now)


@kernel
def _reserve_nodes(tab: Tables, d: int, nodes: int, now: int) -> None:
    dom = tab.domains[d]
    free = dom.free
    dom.shadow = NEVER
    for i in range(dom.base, dom.base + dom.running):
        end = max(tab.lists[RUN_END, unsigned(i)], now)  # a job past its request is expected to end now
        if end > dom.shadow or end == NEVER:
            break  # all jobs expected to end exactly at the shadow time have been counted
        free += tab.lists[RUN_NODES, unsigned(i)]
        if free >= nodes:
            dom.shadow = end
    dom.extra = free - nodes


@kernel
def _reserve_block(tab: Tables, d: int, count: int, now: int) -> None:
    dom = tab.domains[d]
    dom.shadow = NEVER
    dom.reserved_block = NONE
    dom.extra = count
    for first in range(0, dom.units - count + 1, count):
        free_at = block_free_at(tab, d, first, count, now)
        if free_at < dom.shadow:
            dom.shadow = free_at
            dom.reserved_block = first


@kernel
def place_behind(tab: Tables, d: int, nodes: int, requested: int, now: int) -> int:
    """The block on which a job may start without delaying the reserved job, or NONE.

    Leaves in `hold_limit` until when the job could hold instead without delaying it (NEVER: without limit).
    """
    dom = tab.domains[d]
    in_time = now + requested <= dom.shadow
    dom.hold_limit = NEVER if dom.shadow == NEVER else dom.shadow - requested
    if dom.units > 0:
        return _block_behind(tab, d, nodes // dom.unit_nodes, in_time)
    if nodes > dom.free:
        return NONE
    if nodes <= dom.extra:
        dom.hold_limit = NEVER
        return WHOLE
    return WHOLE if in_time else NONE


@kernel
def _block_behind(tab: Tables, d: int, count: int, in_time: bool) -> int:
    """A block clear of the reserved one if there is any, else, for a job that ends in time, any block."""
    dom = tab.domains[d]
    if dom.shadow < NEVER:
        block = free_block(tab, d, count, dom.reserved_block, dom.extra)
        if block != NONE:
            dom.hold_limit = NEVER
            return block
    return free_block(tab, d, count, 0, 0) if in_time else NONE


@kernel
def use_extra(tab: Tables, d: int, nodes: int, until: int) -> None:
    """A job behind the reservation took `nodes` until `until`: past the shadow time they come out of extra."""
    dom = tab.domains[d]
    if dom.units == 0 and dom.shadow < until:
        dom.extra -= nodes
