"""One scheduling iteration of a domain that meets (meet.md), real or as a dry run.

Jobs for which their mates have asked are wanted, and may start before the first job of the queue, within a budget. Jobs
that have a slot start at it with their mates; until then its nodes are planned, and others are backfilled around it.
Everything is placed in the profile, whatever the backfilling. Without wanted jobs and slots the same jobs start as in
`iteration`.
"""

from __future__ import annotations

from cosched.core.job import JobState, SlotMoves
from cosched.core.scheduling.batch.kernels.iteration import (
    begin_run,
    copy_occupancy,
    is_passed_over,
    make_ready,
    next_fitting,
)
from cosched.core.scheduling.batch.kernels.places import (
    ALL,
    FIRST,
    LIMITED,
    UNLIMITED,
    earliest,
    enter_turn,
    give_place_back,
    head_waits,
    is_before_its_turn,
    leave_turn,
    place_beside,
    reserve,
    take_place,
)
from cosched.core.scheduling.primitives.codes import NO_BACKFILL, NONE
from cosched.core.scheduling.primitives.compiled import kernel, part, shared_kernel
from cosched.core.scheduling.primitives.occupancy import expect, occupy
from cosched.core.scheduling.primitives.ordering import drop_left, put_in_order, strike
from cosched.core.scheduling.primitives.profile import begin_profile, latest_hold, short_from, take
from cosched.core.scheduling.primitives.tables import BUDGET_UNIT, NEVER, QUEUE, Tables

QUEUED, READY = int(JobState.QUEUED), int(JobState.READY)
MOVES_WITH_GROUP, NEVER_MOVES = int(SlotMoves.WITH_GROUP), int(SlotMoves.NEVER)
AGAIN = -2  # no job's row


@part
def meet(tab: Tables, d: int, sought: int, now: int) -> int:
    """Go on with domain `d`'s iteration at `now`; the row of the job whose turn it is, or NONE. The queue is in order.

    The job is ready, and awaits its answer. Or it is queued and has a slot: it could be earlier, and may propose so.
    AGAIN: another iteration follows. If a job is `sought` this is a dry run of an iteration: that job starts in it on
    `offered_block`, or (NONE) does not.
    """
    view = d if sought == NONE else len(tab.domains) - 1
    dom = tab.domains[view]
    if sought != NONE:
        copy_occupancy(tab, d, view)
        dom.open = 0
    elif dom.open == 0 and not _is_due(tab, d):
        return NONE
    if dom.open == 0:
        _begin(tab, d, view, sought, now)
    row = _scan(tab, d, view, sought, now)
    if row != NONE or sought != NONE:
        return row
    dom.open = 0
    return AGAIN if dom.changed == 1 else NONE


@part
def _is_due(tab: Tables, d: int) -> bool:
    """Whether an iteration is to begin: something has changed, and some job may start or have an earlier slot."""
    dom = tab.domains[d]
    changed = dom.changed == 1
    dom.changed = 0
    end = dom.base + dom.queued
    return changed and (dom.marked == 1 or next_fitting(tab, dom.base, end, dom.free) < end)


@kernel
def arrange(tab: Tables, d: int, now: int) -> None:
    """Put the queue in order, unless an iteration is open; to be called before whatever needs the order.

    It is apart, since sorting is half the code and would be compiled into each of those.
    """
    if tab.domains[d].open == 0:
        drop_left(tab, d)
        put_in_order(tab, d, now)


@shared_kernel
def _begin(tab: Tables, d: int, view: int, sought: int, now: int) -> None:
    """Begin an iteration over the queue of `d`, which is in order, on the occupancy of `view`."""
    begin_plan(tab, d, view, sought, now)
    dom = tab.domains[view]
    dom.stage = ALL
    dom.head = NONE
    if tab.domains[d].budget > 0 and dom.wanted > 0:
        _look_at_head(tab, d, view, sought, now)


@part
def begin_plan(tab: Tables, d: int, view: int, sought: int, now: int) -> None:
    """Open an iteration: the profile less all slots; counts those, and the wanted jobs of this instant."""
    dom = tab.domains[view]
    dom.open = 1
    dom.position = dom.slots = dom.wanted = dom.backfilled = 0
    dom.reserved = dom.beside = dom.offered = dom.turn = NONE
    begin_profile(tab, view, now)
    if tab.domains[d].answers_late == 1:
        _keep_slots_of_ready(tab, d, view)
    if tab.domains[d].marked == 0:
        return
    marked = 0
    for at in range(tab.domains[d].base, tab.domains[d].base + tab.domains[d].queued):
        row = tab.lists[QUEUE, at]
        if row == NONE:
            continue
        mark = tab.slots[row]
        if mark.slot == 0 and mark.wanted == 0:
            continue
        marked = 1
        if mark.slot != 0 and tab.jobs[row].state == QUEUED:
            dom.slots += 1
            take_place(tab, view, row, mark.block, mark.slot - 1)
        if mark.wanted == 1 and not is_passed_over(tab, row, sought, now):
            dom.wanted += 1
    tab.domains[d].marked = marked


@part
def _keep_slots_of_ready(tab: Tables, d: int, view: int) -> None:
    """Plan with the slots of ready jobs, too: such a job may give its nodes back, and wait for its slot again."""
    first = tab.domains[d].first
    for row in range(first, first + tab.domains[d].jobs):
        job, mark = tab.jobs[row], tab.slots[row]
        if job.state == READY and mark.slot != 0:
            start, end = mark.slot - 1, mark.slot - 1 + job.requested
            if mark.block == job.block:
                start = max(start, job.expected)  # it has these nodes until then
            start = max(start, tab.domains[view].planned_at)
            if start < end:
                take(tab, view, job.nodes, mark.block, start, end)


@part
def _look_at_head(tab: Tables, d: int, view: int, sought: int, now: int) -> None:
    """Find the first job, and up to when it may be pushed."""
    dom = tab.domains[view]
    at = tab.domains[d].base
    while is_passed_over(tab, tab.lists[QUEUE, at], sought, now):
        at += 1
    head = tab.lists[QUEUE, at]
    mark = tab.slots[head]
    if dom.wanted == mark.wanted:
        return  # nobody else is wanted
    dom.head, dom.head_end, dom.limit, dom.had_turn = head, at + 1, NEVER, 0
    if mark.slot != 0 or mark.been_ready == 1 or place_beside(tab, view, head, now) != NONE:
        dom.stage = FIRST
        return
    dom.stage = LIMITED
    start = earliest(tab, view, head, now)
    if start < NEVER:
        latest = start + (start - tab.jobs[head].submit) * tab.domains[d].budget // BUDGET_UNIT
        guard = latest if mark.guard == 0 else mark.guard
        dom.limit = min(max(guard, start), latest)
        if view == d:
            mark.guard = guard


@shared_kernel
def _scan(tab: Tables, d: int, view: int, sought: int, now: int) -> int:
    """Start jobs in order; stop at a paired job's turn (a dry run: only at `sought`'s) or, with NONE, at the end."""
    dom = tab.domains[view]
    while True:
        at = _next_place(tab, d, view, sought)
        if at == NONE:
            return NONE
        row = tab.lists[QUEUE, at]
        if is_passed_over(tab, row, sought, now):
            continue
        block = _place(tab, view, row, sought, now)
        if block == NONE:
            if dom.turn == row or _ends_with(tab, view, row, sought):
                return dom.turn
        elif row == sought or (sought == NONE and tab.jobs[row].paired == 1):
            dom.offered_block = block
            if sought == NONE:
                _offer(tab, d, row, now)
            return row
        elif tab.jobs[row].paired == 0 or tab.jobs[row].alone == 1:
            start_unpaired(tab, d, view, row, block, now)
            if sought == NONE:
                strike(tab, d, at)


@part
def _place(tab: Tables, view: int, row: int, sought: int, now: int) -> int:
    """The block on which a job may start now that the iteration has come to it, or NONE."""
    tab.domains[view].turn = NONE
    if not is_before_its_turn(tab, view):
        return _place_in_turn(tab, view, row, sought, now)
    if sought == NONE or row == sought:
        return _place_wanted(tab, view, row, now)
    return NONE


@part
def _ends_with(tab: Tables, view: int, row: int, sought: int) -> bool:
    """Whether the iteration ends with this job, which has had its turn and does not fit."""
    dom = tab.domains[view]
    return dom.stage == ALL and (row == sought or (dom.reserved == row and dom.backfill == NO_BACKFILL))


@part
def _next_place(tab: Tables, d: int, view: int, sought: int) -> int:
    """The next place of the queue whose job may have its turn, stage after stage; NONE: the iteration is over."""
    dom = tab.domains[view]
    base, queued = tab.domains[d].base, tab.domains[d].queued
    while True:
        at = base + dom.position
        end = dom.head_end if dom.stage == FIRST else base + queued
        early = dom.slots > 0 and sought == NONE  # jobs that do not fit now may want to be earlier
        if dom.stage == ALL and dom.free == 0 and not early:
            return NONE
        behind = dom.stage == ALL and dom.reserved != NONE and not early  # conservative looks at every job
        if behind or is_before_its_turn(tab, view):
            at = next_fitting(tab, at, end, dom.free)
        if at < end:
            dom.position = at + 1 - base
            return at
        if dom.stage == ALL:
            return NONE
        dom.stage = UNLIMITED if dom.stage == FIRST else ALL
        dom.position = 0
        dom.limit = NEVER
        dom.beside = NONE


@part
def _place_wanted(tab: Tables, view: int, row: int, now: int) -> int:
    """The block on which a wanted job may start before its turn, or NONE: within the limit of the first job."""
    dom = tab.domains[view]
    mark = tab.slots[row]
    if row == dom.head or mark.wanted == 0 or mark.slot != 0 or mark.in_turn == 1:
        return NONE
    dom.beside = NONE
    if dom.units > 0 and head_waits(tab, view) and earliest(tab, view, dom.head, now) < NEVER:
        dom.beside = dom.head
        dom.beside_block = dom.place_block
    block = place_beside(tab, view, row, now)
    if block == NONE or dom.limit == NEVER:
        return block
    take_place(tab, view, row, block, now)
    pushed = earliest(tab, view, dom.head, now)
    give_place_back(tab, view, row, block, now)
    return block if pushed <= dom.limit else NONE


@kernel
def pushes(tab: Tables, view: int, row: int, now: int) -> int:
    """By how many seconds the start of a job pushes the first job, which the iteration has come to before its turn.

    NONE: it has come to the job in its turn.
    """
    dom = tab.domains[view]
    if not is_before_its_turn(tab, view):
        return NONE
    if not head_waits(tab, view):
        return 0
    job = tab.jobs[row]
    has_nodes = view < len(tab.domains) - 1  # a dry run has not given it any
    if has_nodes:
        expect(tab, view, job.nodes, job.block, job.expected, now)
    pushed = 0
    before = earliest(tab, view, dom.head, now)
    if before < NEVER:
        take_place(tab, view, row, job.block, now)
        pushed = earliest(tab, view, dom.head, now) - before
        give_place_back(tab, view, row, job.block, now)
    if has_nodes:
        expect(tab, view, job.nodes, job.block, now, job.expected)
    return pushed


@part
def _place_in_turn(tab: Tables, view: int, row: int, sought: int, now: int) -> int:
    """The block on which a job may start in its turn, or NONE: it is reserved, or (`turn`) could be before its slot."""
    dom = tab.domains[view]
    slot, moves = tab.slots[row].slot, tab.slots[row].moves
    if slot != 0 and moves == NEVER_MOVES:
        return NONE
    if row == dom.head and dom.stage == ALL and dom.had_turn == 1:
        return NONE
    if slot != 0:
        enter_turn(tab, view, row, now)
    block = place_beside(tab, view, row, now)
    if dom.stage == FIRST and block != NONE:
        dom.had_turn = 1
    if slot != 0:
        if block == NONE and sought == NONE and (moves == MOVES_WITH_GROUP or earliest(tab, view, row, now) < slot - 1):
            dom.turn = row
            dom.offered_block = NONE
        leave_turn(tab, view, row)
    elif block == NONE and dom.stage == ALL:
        reserve(tab, view, row, now)
    return block


@part
def _offer(tab: Tables, d: int, row: int, now: int) -> None:
    """A paired job is ready: its nodes are busy while its RunJob awaits the answer."""
    dom = tab.domains[d]
    job = tab.jobs[row]
    enter_turn(tab, d, row, now)
    dom.hold_limit = latest_hold(short_from(tab, d, job.nodes, dom.offered_block, now), job.requested)
    leave_turn(tab, d, row)
    make_ready(tab, d, row, dom.offered_block, now)
    tab.slots[row].been_ready = 1
    dom.offered = dom.turn = row


@part
def start_unpaired(tab: Tables, d: int, view: int, row: int, block: int, now: int) -> None:
    """A job without a mate starts, in a dry run in thought."""
    job = tab.jobs[row]
    occupy(tab, view, job.nodes, block, now + job.requested)
    take_place(tab, view, row, block, now)
    if view == d:
        job.block = block
        job.expected = now + job.requested
        begin_run(tab, d, row, now)
        if tab.domains[d].marked == 1:
            tab.domains[d].changed = 1  # another iteration may have another first job, or other slots
