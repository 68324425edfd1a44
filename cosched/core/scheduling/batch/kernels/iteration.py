"""One scheduling iteration (scheduling.md), real or as a dry run.

An iteration stops at each paired job that is ready: its nodes are taken, and it goes on when `answers` has been told
whether the job starts, holds or yields. A dry run (TryStartMate) works on a copy of the domain's occupancy and
looks for one job.
"""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.batch.kernels.conservative import place_in_plan
from cosched.core.scheduling.batch.kernels.easy import place_behind, reserve, use_extra
from cosched.core.scheduling.primitives.codes import CONSERVATIVE, NO_BACKFILL, NONE
from cosched.core.scheduling.primitives.compiled import kernel, unsigned
from cosched.core.scheduling.primitives.occupancy import occupy, place, push_completion
from cosched.core.scheduling.primitives.ordering import drop_left, put_in_order, strike, strike_row
from cosched.core.scheduling.primitives.profile import begin_profile, take
from cosched.core.scheduling.primitives.tables import (
    NEVER,
    QUEUE,
    QUEUE_NODES,
    QUEUE_REQUESTED,
    RUN_END,
    RUN_NODES,
    Tables,
)

QUEUED, READY, RUNNING = int(JobState.QUEUED), int(JobState.READY), int(JobState.RUNNING)
UNSET = -2  # `shadow`: there is a reserved job whose shadow time nobody needed yet


@kernel
def iterate(tab: Tables, d: int, now: int) -> int:
    """Go on with domain `d`'s iterations at `now` until nothing changes; the row of a ready paired job, or NONE."""
    dom = tab.domains[d]
    if awaits(tab, d):
        return NONE
    while True:
        if dom.open == 0:
            if dom.changed == 0:
                return NONE
            dom.changed = 0
            if next_fitting(tab, dom.base, dom.base + dom.queued, dom.free) == dom.base + dom.queued:
                return NONE  # nothing can start, whatever the order
            _begin(tab, d, d, now)
        row = _scan(tab, d, d, NONE, now)
        if row != NONE:
            _offer(tab, d, row, now)
            return row
        dom.open = 0


@kernel
def awaits(tab: Tables, d: int) -> bool:
    """Whether the open iteration waits for a late answer about a ready job. If anything else has changed, it ends."""
    dom = tab.domains[d]
    if dom.open == 0 or dom.offered == NONE:
        return False
    if dom.changed == 1:
        abandon(tab, d)
    return dom.open == 1


@kernel
def is_answered(tab: Tables, d: int) -> bool:
    """Whether an iteration is open, and goes on: the answer that it has waited for has come."""
    return tab.domains[d].open == 1 and tab.domains[d].offered == NONE


@kernel
def abandon(tab: Tables, d: int) -> None:
    """Give up the iteration that waits for a ready job's answer, and let another begin; the job keeps its nodes."""
    dom = tab.domains[d]
    strike_row(tab, d, dom.offered)
    dom.offered = NONE
    dom.open = 0
    dom.changed = 1


@kernel
def next_fitting(tab: Tables, at: int, end: int, free: int) -> int:
    """The first place of the queue in `at:end` whose job is no larger than `free`, or `end`."""
    for i in range(at, end):
        if tab.lists[QUEUE_NODES, unsigned(i)] <= free:
            return i
    return end


@kernel
def _next_behind(tab: Tables, d: int, at: int, end: int, now: int) -> int:
    """The first place of the queue in `at:end` whose job may start behind the reserved one, or `end`.

    It goes by the queue alone: most jobs may not, and their records are far apart.
    """
    dom = tab.domains[d]
    free, extra, longest = dom.free, dom.extra, dom.shadow - now
    if dom.backfilled == 0 or dom.units > 0:  # the shadow is not known yet, or it depends on the place
        return next_fitting(tab, at, end, free)
    for i in range(at, end):
        nodes = tab.lists[QUEUE_NODES, unsigned(i)]
        if nodes <= free and (nodes <= extra or tab.lists[QUEUE_REQUESTED, unsigned(i)] <= longest):
            return i
    return end


@kernel
def _begin(tab: Tables, d: int, view: int, now: int) -> None:
    """Open an iteration over the queue of `d` on the occupancy of `view`."""
    if tab.domains[d].open == 0:
        drop_left(tab, d)
        put_in_order(tab, d, now)
    dom = tab.domains[view]
    dom.open = 1
    dom.position = 0
    dom.reserved = NONE
    dom.shadow = UNSET
    dom.backfilled = 0
    dom.offered = NONE
    if dom.backfill == CONSERVATIVE:
        begin_profile(tab, view, now)


@kernel
def _scan(tab: Tables, d: int, view: int, sought: int, now: int) -> int:
    """Start jobs in order; stop at a ready paired job (a dry run: only at `sought`) or, with NONE, at the end."""
    dom = tab.domains[view]
    end = tab.domains[d].base + tab.domains[d].queued
    at = tab.domains[d].base + dom.position
    while at < end and dom.free > 0:
        if dom.reserved != NONE:  # conservative reserves nothing, and looks at every job
            at = _next_behind(tab, view, at, end, now)
            if at == end:
                break
        row = tab.lists[QUEUE, unsigned(at)]
        at += 1
        if is_passed_over(tab, row, sought, now):
            continue
        job = tab.jobs[unsigned(row)]
        block = _select(tab, view, row, now)
        if block == NONE:
            if row == sought or (dom.reserved != NONE and dom.backfill == NO_BACKFILL):
                break
        elif row == sought or (sought == NONE and job.paired == 1):
            dom.offered_block = block
            dom.position = at - tab.domains[d].base
            return row
        elif job.paired == 0 or job.alone == 1:
            _take(tab, view, row, block, now)
            if sought == NONE:
                begin_run(tab, d, row, now)
                strike(tab, d, at - 1)
    return NONE


@kernel
def is_passed_over(tab: Tables, row: int, sought: int, now: int) -> bool:
    """Whether this place of the queue is a gap, or its job awaits an answer or has yielded at this instant."""
    if row == NONE or tab.jobs[unsigned(row)].state != QUEUED:
        return True
    return tab.jobs[unsigned(row)].paired == 1 and tab.marks[unsigned(row)].passed_over == now + 1 and row != sought


@kernel
def _select(tab: Tables, d: int, row: int, now: int) -> int:
    """The block on which this job may start now, or NONE; the first that does not fit is the reserved job."""
    dom = tab.domains[d]
    job = tab.jobs[unsigned(row)]
    if dom.backfill == CONSERVATIVE:
        return place_in_plan(tab, d, job.nodes, job.requested, now)
    if dom.reserved == NONE:
        block = place(tab, d, job.nodes)
        if block == NONE:
            dom.reserved = row
        dom.hold_limit = NEVER
        return block
    if job.nodes > dom.free:
        return NONE
    if dom.shadow == UNSET:
        reserve(tab, d, tab.jobs[unsigned(dom.reserved)].nodes, now)
        dom.backfilled = 1
    return place_behind(tab, d, job.nodes, job.requested, now)


@kernel
def _take(tab: Tables, view: int, row: int, block: int, now: int) -> None:
    """Count nodes as this job's from now for its requested time."""
    dom = tab.domains[view]
    job = tab.jobs[unsigned(row)]
    end = now + job.requested
    occupy(tab, view, job.nodes, block, end)
    if dom.backfilled == 1:
        use_extra(tab, view, job.nodes, end)
    if dom.backfill == CONSERVATIVE:
        take(tab, view, job.nodes, block, now, end)
    if view < len(tab.domains) - 1:
        job.block = block
        job.expected = end


@kernel
def _offer(tab: Tables, d: int, row: int, now: int) -> None:
    """A paired job is ready: its nodes are busy while its RunJob awaits the answer."""
    make_ready(tab, d, row, tab.domains[d].offered_block, now)
    tab.domains[d].offered = row


@kernel
def make_ready(tab: Tables, d: int, row: int, block: int, now: int) -> None:
    """The job has its nodes, on this block, and is expected to run from now for its requested time."""
    job = tab.jobs[row]
    job.block = block
    job.expected = now + job.requested
    occupy(tab, d, job.nodes, block, job.expected)
    job.state = READY


@kernel
def begin_run(tab: Tables, d: int, row: int, now: int) -> None:
    """A job that has its nodes runs from now on."""
    job = tab.jobs[unsigned(row)]
    job.state = RUNNING
    job.start = now
    push_completion(tab, d, now + job.run, row)


@kernel
def would_start(tab: Tables, d: int, row: int, now: int) -> int:
    """The block on which `row` would start in a dry run of an iteration, or NONE."""
    job = tab.jobs[row]
    if job.state != QUEUED or place(tab, d, job.nodes) == NONE:
        return NONE
    dry_run = len(tab.domains) - 1
    copy_occupancy(tab, d, dry_run)
    _begin(tab, d, dry_run, now)
    if _scan(tab, d, dry_run, row, now) == NONE:
        return NONE
    return tab.domains[dry_run].offered_block


@kernel
def copy_occupancy(tab: Tables, d: int, dry_run: int) -> None:
    """Make `dry_run` a copy of the domain's nodes and of what occupies them."""
    dom, copy = tab.domains[d], tab.domains[dry_run]
    copy.nodes, copy.units, copy.unit_nodes = dom.nodes, dom.units, dom.unit_nodes
    copy.backfill, copy.free, copy.running = dom.backfill, dom.free, dom.running
    for i in range(dom.running):
        tab.lists[RUN_END, copy.base + i] = tab.lists[RUN_END, dom.base + i]
        tab.lists[RUN_NODES, copy.base + i] = tab.lists[RUN_NODES, dom.base + i]
    for unit in range(dom.units):
        tab.units[dry_run, unit] = tab.units[d, unit]
