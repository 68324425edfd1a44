"""Free nodes over time: what is planned from now on, and the earliest place for a job.

Flat pools keep steps, `PROFILE_TIME` and `PROFILE_FREE`. Partitioned pools keep the places taken as (first unit, count,
start, end); what runs is read from the units. A profile lasts for one iteration.
"""

from __future__ import annotations

from typing import Any

from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel
from cosched.core.scheduling.primitives.occupancy import WHOLE, block_free_at, block_is_free, overlap
from cosched.core.scheduling.primitives.steps import (
    begin_steps,
    earliest_in_steps,
    give_to_steps,
    steps_short_from,
    take_from_steps,
)
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
def begin_profile(tab: Tables, d: int, now: int) -> None:
    """Start from what runs and is held; nodes without an expected end never come back."""
    dom = tab.domains[d]
    dom.planned = 0
    dom.planned_at = now
    if dom.units == 0:
        time, free = _steps(tab, d)
        ends, nodes = tab.lists[RUN_END, dom.base :], tab.lists[RUN_NODES, dom.base :]
        dom.planned = begin_steps(time, free, ends, nodes, dom.running, now, dom.free)


@kernel
def take(tab: Tables, d: int, nodes: int, block: int, start: int, end: int) -> None:
    """Nobody else may use these nodes from `start` to `end`."""
    dom = tab.domains[d]
    if dom.units > 0:
        _take_block(tab, d, block, nodes // dom.unit_nodes, start, end)
        return
    time, free = _steps(tab, d)
    dom.planned = take_from_steps(time, free, dom.planned, nodes, start, end)


@kernel
def give_back(tab: Tables, d: int, nodes: int, block: int, start: int, end: int) -> None:
    """Undo `take` with the same arguments."""
    dom = tab.domains[d]
    if dom.units > 0:
        _give_back_block(tab, d, block, start, end)
        return
    time, free = _steps(tab, d)
    dom.planned = give_to_steps(time, free, dom.planned, nodes, start, end)


@kernel
def earliest(tab: Tables, d: int, nodes: int, requested: int, at: int) -> int:
    """The first instant from `at` on (which is not past) at which a job has its place; NEVER: there is none.

    Leaves the place's block in `place_block`: of several the lowest.
    """
    dom = tab.domains[d]
    if dom.units == 0:
        dom.place_block = WHOLE
        time, free = _steps(tab, d)
        return earliest_in_steps(time, free, dom.planned, nodes, requested, at)
    count = nodes // dom.unit_nodes
    best = NEVER
    dom.place_block = NONE
    for first in range(0, dom.units - count + 1, count):
        start = _earliest_on_block(tab, d, first, count, requested, at, best)
        if start < best:
            best = start
            dom.place_block = first
            if start == at:
                break
    return best


@kernel
def short_from(tab: Tables, d: int, nodes: int, block: int, now: int) -> int:
    """The first instant after now at which these nodes, free now, are planned for others; NEVER: none."""
    dom = tab.domains[d]
    if dom.units > 0:
        return _taken_at(tab, d, block, nodes // dom.unit_nodes, now)
    time, free = _steps(tab, d)
    return steps_short_from(time, free, dom.planned, nodes, now)


@kernel
def latest_hold(needed_at: int, requested: int) -> int:
    """Until when a job may hold if its run that follows must be over at `needed_at`."""
    return NEVER if needed_at == NEVER else needed_at - requested


@kernel
def place_now(tab: Tables, d: int, nodes: int, requested: int, now: int, shunned: int, shunned_count: int) -> int:
    """The block on which a job fits now and for its requested time, or NONE; of several the lowest.

    On a partitioned pool it is clear of the `shunned_count` units from `shunned`.
    """
    dom = tab.domains[d]
    if nodes > dom.free:
        return NONE
    if dom.units == 0:
        return WHOLE if short_from(tab, d, nodes, WHOLE, now) >= now + requested else NONE
    count = nodes // dom.unit_nodes
    for first in range(0, dom.units - count + 1, count):
        if (
            not overlap(first, count, shunned, shunned_count)
            and block_is_free(tab, d, first, count)
            and _taken_at(tab, d, first, count, now) >= now + requested
        ):
            return first
    return NONE


# Flat


@kernel
def _steps(tab: Tables, d: int) -> tuple[Any, Any]:
    base = tab.domains[d].base
    return tab.lists[PROFILE_TIME, base:], tab.lists[PROFILE_FREE, base:]


# Partitioned


@kernel
def _take_block(tab: Tables, d: int, first: int, count: int, start: int, end: int) -> None:
    dom = tab.domains[d]
    i = dom.base + dom.planned
    tab.lists[PLAN_FIRST, i], tab.lists[PLAN_COUNT, i] = first, count
    tab.lists[PLAN_START, i], tab.lists[PLAN_END, i] = start, end
    dom.planned += 1


@kernel
def _give_back_block(tab: Tables, d: int, first: int, start: int, end: int) -> None:
    dom = tab.domains[d]
    i = dom.base + dom.planned - 1
    while tab.lists[PLAN_FIRST, i] != first or tab.lists[PLAN_START, i] != start or tab.lists[PLAN_END, i] != end:
        i -= 1
    dom.planned -= 1
    last = dom.base + dom.planned
    tab.lists[PLAN_FIRST, i], tab.lists[PLAN_COUNT, i] = tab.lists[PLAN_FIRST, last], tab.lists[PLAN_COUNT, last]
    tab.lists[PLAN_START, i], tab.lists[PLAN_END, i] = tab.lists[PLAN_START, last], tab.lists[PLAN_END, last]


@kernel
def _earliest_on_block(tab: Tables, d: int, first: int, count: int, requested: int, at: int, limit: int) -> int:
    """The first time at which this block is free for `requested` s; the search ends where it is not before `limit`."""
    dom = tab.domains[d]
    start = block_free_at(tab, d, first, count, at)
    moved = True
    while moved and start < limit:
        moved = False
        for i in range(dom.base, dom.base + dom.planned):
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
    dom = tab.domains[d]
    taken = NEVER
    for i in range(dom.base, dom.base + dom.planned):
        if tab.lists[PLAN_END, i] > now and overlap(first, count, tab.lists[PLAN_FIRST, i], tab.lists[PLAN_COUNT, i]):
            taken = min(taken, tab.lists[PLAN_START, i])
    return taken
