"""Slots: when a job could start by the plan, the instant that it agrees on with its mate, and its nodes then."""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.batch.kernels.iteration import begin_run, copy_occupancy, is_passed_over, make_ready
from cosched.core.scheduling.batch.kernels.meeting import begin_plan, meet, start_unpaired
from cosched.core.scheduling.batch.kernels.places import (
    earliest,
    enter_turn,
    give_place_back,
    leave_turn,
    place_beside,
    reserve,
    take_place,
)
from cosched.core.scheduling.primitives.codes import NO_BACKFILL, NONE
from cosched.core.scheduling.primitives.compiled import kernel, part, shared_kernel
from cosched.core.scheduling.primitives.occupancy import expect, is_free, place
from cosched.core.scheduling.primitives.ordering import strike_row
from cosched.core.scheduling.primitives.profile import short_from
from cosched.core.scheduling.primitives.tables import NEVER, QUEUE, Tables

QUEUED, READY = int(JobState.QUEUED), int(JobState.READY)


# What is asked of a meeting domain: one kernel for all, since each would contain the iteration again.
MEET, TRY, TRY_READY, QUOTE, BOOK, UNBOOK, CLAIM = range(7)


@kernel
def ask(tab: Tables, d: int, what: int, row: int, at: int, now: int) -> int:
    """One of the functions below, or `meet`; yes is 1. TRY: the job is wanted for good, and until `at`.

    TryStartMate: start the job if an iteration run now would. TRY_READY: the same, but it is only ready, and keeps its
    slot until it starts.
    """
    if what <= TRY_READY:
        if what != MEET and not _may_start(tab, d, row, at):
            return 0
        found = meet(tab, d, row if what != MEET else NONE, now)
        if what == MEET:
            return found
        if found != NONE:
            _make_ready(tab, d, row, tab.domains[len(tab.domains) - 1].offered_block, now)
            if what == TRY:
                tab.slots[row].slot = 0
                begin_run(tab, d, row, now)
                tab.domains[d].changed = 1
        return 1 if found != NONE else 0
    if what == QUOTE:
        return quote(tab, d, row, at, now)
    if what == BOOK:
        return 1 if book(tab, d, row, at, now) else 0
    if what == CLAIM:
        return 1 if claim(tab, d, row, now) else 0
    unbook(tab, d, row)
    return 1


@part
def _may_start(tab: Tables, d: int, row: int, wanted_until: int) -> bool:
    """Whether the job, which is wanted from now on, is queued and fits now."""
    tab.slots[row].wanted = 1
    tab.marks[row].wanted_until = wanted_until
    tab.domains[d].marked = 1
    return tab.jobs[row].state == QUEUED and place(tab, d, tab.jobs[row].nodes) != NONE


@shared_kernel
def quote(tab: Tables, d: int, row: int, not_before: int, now: int) -> int:
    """The earliest instant from `not_before` on at which the job fits in the plan, or NEVER: it is not queued.

    At the job's own turn, ready or not, this is the plan of the open iteration, with its own nodes. Leaves its block in
    `quoted_block`.
    """
    dom = tab.domains[d]
    job = tab.jobs[row]
    at = max(not_before, now)
    view = d
    if job.state == READY and _is_planned(tab, d, row):
        expect(tab, d, job.nodes, job.block, job.expected, now)
        start = _earliest_in_turn(tab, d, row, at, now)
        expect(tab, d, job.nodes, job.block, now, job.expected)
    elif job.state != QUEUED:
        return NEVER
    elif dom.open == 1 and dom.turn == row:
        start = _earliest_in_turn(tab, d, row, at, now)
    else:
        view = len(tab.domains) - 1
        _run_dry_up_to(tab, d, view, row, now)
        start = earliest(tab, view, row, at)
    dom.quoted_block = tab.domains[view].place_block
    return start


@part
def book(tab: Tables, d: int, row: int, at: int, now: int) -> bool:
    """Give the job the slot `at` instead of any that it has, if it fits in the plan then."""
    dom = tab.domains[d]
    if quote(tab, d, row, at, now) != at:
        return False
    unbook(tab, d, row)
    mark = tab.slots[row]
    mark.slot, mark.block, mark.moves = at + 1, dom.quoted_block, 0
    if dom.open == 1:
        take_place(tab, d, row, mark.block, at)
        dom.slots += 1
    dom.marked = dom.changed = 1
    return True


@shared_kernel
def unbook(tab: Tables, d: int, row: int) -> None:
    """The job has no slot any more."""
    mark = tab.slots[row]
    if mark.slot != 0:
        _take_out_of_plan(tab, d, row)
        mark.slot = 0


@part
def _take_out_of_plan(tab: Tables, d: int, row: int) -> None:
    """Others may have the nodes of the job's slot, as far as the open iteration knows of it."""
    mark = tab.slots[row]
    if _is_planned(tab, d, row):
        give_place_back(tab, d, row, mark.block, mark.slot - 1)
        tab.domains[d].slots -= 1


@part
def _is_planned(tab: Tables, d: int, row: int) -> bool:
    """Whether the open iteration reckons with the slot of the job, which has no nodes yet or only those of its turn."""
    dom = tab.domains[d]
    return dom.open == 1 and (tab.jobs[row].state == QUEUED or dom.offered == row)


@part
def claim(tab: Tables, d: int, row: int, now: int) -> bool:
    """A queued job is ready on the nodes of its slot, if that has come and they are free; it leaves the queue."""
    job, mark = tab.jobs[row], tab.slots[row]
    if job.state != QUEUED or mark.slot == 0 or mark.slot - 1 > now or not is_free(tab, d, job.nodes, mark.block):
        return False
    _make_ready(tab, d, row, mark.block, now)
    return True


@shared_kernel
def _make_ready(tab: Tables, d: int, row: int, block: int, now: int) -> None:
    """A queued job is ready on these nodes; those of its slot are not planned for it meanwhile."""
    if tab.slots[row].slot != 0:
        _take_out_of_plan(tab, d, row)
    make_ready(tab, d, row, block, now)
    if tab.domains[d].open == 1:
        take_place(tab, d, row, block, now)
    strike_row(tab, d, row)


@shared_kernel
def _earliest_in_turn(tab: Tables, d: int, row: int, at: int, now: int) -> int:
    """As `earliest`, at the job's turn; now is on the nodes with which it was ready, if the plan leaves them to it."""
    dom = tab.domains[d]
    job = tab.jobs[row]
    enter_turn(tab, d, row, now)
    start = NEVER
    if at == now and dom.units > 0 and dom.offered_block != NONE:
        block = dom.offered_block
        its_own = job.state == READY or is_free(tab, d, job.nodes, block)
        if its_own and short_from(tab, d, job.nodes, block, now) >= now + job.requested:
            dom.place_block = block
            start = now
    if start != now:
        start = earliest(tab, d, row, at)
    leave_turn(tab, d, row)
    return start


@shared_kernel
def _run_dry_up_to(tab: Tables, d: int, view: int, row: int, now: int) -> None:
    """The plan of those before the job: who fits starts in thought, who does not is reserved, the paired are passed."""
    copy_occupancy(tab, d, view)
    begin_plan(tab, d, view, row, now)
    dom, mark = tab.domains[view], tab.slots[row]
    if mark.slot != 0:
        give_place_back(tab, view, row, mark.block, mark.slot - 1)
    at = tab.domains[d].base
    while tab.lists[QUEUE, at] != row:
        other = tab.lists[QUEUE, at]
        at += 1
        if is_passed_over(tab, other, row, now) or tab.slots[other].slot != 0:
            continue
        block = place_beside(tab, view, other, now)
        if block == NONE:
            reserve(tab, view, other, now)
        elif dom.reserved != NONE and dom.backfill == NO_BACKFILL:
            return
        elif tab.jobs[other].paired == 0 or tab.jobs[other].alone == 1:
            start_unpaired(tab, d, view, other, block, now)
