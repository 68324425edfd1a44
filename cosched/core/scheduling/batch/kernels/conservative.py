"""Conservative backfilling: every queued job gets the earliest place that delays no job before it.

Flat pools keep a profile: from `PROFILE_TIME[i]` on, `PROFILE_FREE[i]` nodes are free. Partitioned pools keep the
places given so far as (first unit, count, start, end). Both are planned afresh in each iteration.
"""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel
from cosched.core.scheduling.primitives.occupancy import WHOLE, block_free_at, block_is_free, overlap
from cosched.core.scheduling.primitives.tables import (
    NEVER,
    PLAN_COUNT,
    PLAN_END,
    PLAN_FIRST,
    PLAN_START,
    PROFILE_FREE,
    PROFILE_TIME,
    RUN_END,
    RUN_NODES,
    Tables,
)


@kernel
def begin_plan(tab: Tables, d: int, now: int) -> None:
    """Start from what runs and is held; nodes without an expected end never come back."""
    dom = tab.domains[d]
    dom.planned = 0
    if dom.units > 0:
        return
    tab.lists[PROFILE_TIME, dom.base], tab.lists[PROFILE_FREE, dom.base] = now, dom.free
    last = dom.base
    for i in range(dom.base, dom.base + dom.running):
        end = max(tab.lists[RUN_END, i], now)
        if end == NEVER:
            break
        if end > tab.lists[PROFILE_TIME, last]:
            last += 1
            tab.lists[PROFILE_TIME, last], tab.lists[PROFILE_FREE, last] = (
                end,
                tab.lists[PROFILE_FREE, last - 1],
            )
        tab.lists[PROFILE_FREE, last] += tab.lists[RUN_NODES, i]
    dom.planned = last - dom.base + 1


@kernel
def place_in_plan(tab: Tables, d: int, nodes: int, requested: int, now: int) -> int:
    """The block on which a job can start now by the plan, or NONE: then it was given a later place (if there is any).

    Leaves in `hold_limit` until when the job could hold instead without touching another's place.
    """
    if tab.domains[d].units > 0:
        return _place_block(tab, d, nodes, requested, now)
    return _place_nodes(tab, d, nodes, requested, now)


@kernel
def keep_place(tab: Tables, d: int, nodes: int, block: int, start: int, end: int) -> None:
    """Nobody later in the order may use these nodes from `start` to `end`."""
    dom = tab.domains[d]
    if dom.units > 0:
        _keep_block(tab, d, block, nodes // dom.unit_nodes, start, end)
        return
    first = _split(tab, d, start)
    last = dom.base + dom.planned if end == NEVER else _split(tab, d, end)
    for i in range(first, last):
        tab.lists[PROFILE_FREE, i] -= nodes


@kernel
def _split(tab: Tables, d: int, time: int) -> int:
    """Index of the profile step that begins at `time`, made if there is none."""
    dom = tab.domains[d]
    i = dom.base + dom.planned
    while tab.lists[PROFILE_TIME, i - 1] > time:
        i -= 1
    if tab.lists[PROFILE_TIME, i - 1] == time:
        return i - 1
    for j in range(dom.base + dom.planned, i, -1):
        tab.lists[PROFILE_TIME, j], tab.lists[PROFILE_FREE, j] = (
            tab.lists[PROFILE_TIME, j - 1],
            tab.lists[PROFILE_FREE, j - 1],
        )
    tab.lists[PROFILE_TIME, i], tab.lists[PROFILE_FREE, i] = time, tab.lists[PROFILE_FREE, i - 1]
    dom.planned += 1
    return i


@kernel
def _place_nodes(tab: Tables, d: int, nodes: int, requested: int, now: int) -> int:
    dom = tab.domains[d]
    end = dom.base + dom.planned
    start = dom.base
    i = start
    while i < end and tab.lists[PROFILE_TIME, i] < tab.lists[PROFILE_TIME, start] + requested:
        if tab.lists[PROFILE_FREE, i] < nodes:
            start = i + 1
            if start == end:
                return NONE  # too many nodes never come back: no place
        i += 1
    if tab.lists[PROFILE_TIME, start] == now and nodes <= dom.free:
        dom.hold_limit = _hold_limit(_short_at(tab, d, nodes, i), requested)
        return WHOLE
    keep_place(tab, d, nodes, WHOLE, tab.lists[PROFILE_TIME, start], tab.lists[PROFILE_TIME, start] + requested)
    return NONE


@kernel
def _hold_limit(needed_at: int, requested: int) -> int:
    """Until when a job may hold if its run that follows must be over at `needed_at`."""
    return NEVER if needed_at == NEVER else needed_at - requested


@kernel
def _short_at(tab: Tables, d: int, nodes: int, i: int) -> int:
    """The first time, from profile step `i` on, at which fewer than `nodes` are free."""
    dom = tab.domains[d]
    while i < dom.base + dom.planned:
        if tab.lists[PROFILE_FREE, i] < nodes:
            return tab.lists[PROFILE_TIME, i]
        i += 1
    return NEVER


@kernel
def _place_block(tab: Tables, d: int, nodes: int, requested: int, now: int) -> int:
    dom = tab.domains[d]
    count = nodes // dom.unit_nodes
    best, best_block = NEVER, NONE
    for first in range(0, dom.units - count + 1, count):
        start = _earliest(tab, d, first, count, requested, now, best)
        if start < best:
            best, best_block = start, first
            if start == now:
                break
    if best == now and block_is_free(tab, d, best_block, count):
        dom.hold_limit = _hold_limit(_taken_at(tab, d, best_block, count, now), requested)
        return best_block
    if best < NEVER:
        keep_place(tab, d, nodes, best_block, best, best + requested)
    return NONE


@kernel
def _earliest(tab: Tables, d: int, first: int, count: int, requested: int, now: int, limit: int) -> int:
    """The first time at which this block is free for `requested` s; the search ends where it is not before `limit`."""
    start = block_free_at(tab, d, first, count, now)
    moved = True
    while moved and start < limit:
        moved = False
        for i in range(tab.domains[d].base, tab.domains[d].base + tab.domains[d].planned):
            busy_until = tab.lists[PLAN_END, i]
            if (
                start < busy_until
                and tab.lists[PLAN_START, i] < start + requested
                and overlap(first, count, tab.lists[PLAN_FIRST, i], tab.lists[PLAN_COUNT, i])
            ):
                start = busy_until
                moved = True
    return start


@kernel
def _taken_at(tab: Tables, d: int, first: int, count: int, now: int) -> int:
    """The first time after `now` at which somebody has a place on this block."""
    taken = NEVER
    for i in range(tab.domains[d].base, tab.domains[d].base + tab.domains[d].planned):
        if tab.lists[PLAN_END, i] > now and overlap(first, count, tab.lists[PLAN_FIRST, i], tab.lists[PLAN_COUNT, i]):
            taken = min(taken, tab.lists[PLAN_START, i])
    return taken


@kernel
def _keep_block(tab: Tables, d: int, first: int, count: int, start: int, end: int) -> None:
    dom = tab.domains[d]
    i = dom.base + dom.planned
    tab.lists[PLAN_FIRST, i], tab.lists[PLAN_COUNT, i] = first, count
    tab.lists[PLAN_START, i], tab.lists[PLAN_END, i] = start, end
    dom.planned += 1
