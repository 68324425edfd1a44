"""What becomes of a job that has nodes, or is asked for by its mate: start, hold, yield, try, release."""

from __future__ import annotations

from cosched.core.job import JobState
from cosched.core.scheduling.batch.kernels.easy import use_extra
from cosched.core.scheduling.batch.kernels.iteration import begin_run, make_ready, would_start
from cosched.core.scheduling.primitives.codes import NONE
from cosched.core.scheduling.primitives.compiled import kernel
from cosched.core.scheduling.primitives.occupancy import expect, place, vacate
from cosched.core.scheduling.primitives.ordering import drop_left, enqueue, strike, strike_row
from cosched.core.scheduling.primitives.profile import take
from cosched.core.scheduling.primitives.tables import NEVER, Tables

PENDING, QUEUED, HOLDING = map(int, (JobState.PENDING, JobState.QUEUED, JobState.HOLDING))
NO_ROOM, ROOM, HOLDS, HAS_NODES = range(4)  # chances of a job


@kernel
def start(tab: Tables, d: int, row: int, now: int) -> None:
    """A ready or holding job starts now on the nodes it has."""
    end = now + tab.jobs[row].requested
    if tab.domains[d].offered != row:
        tab.domains[d].changed = 1  # it held: this iteration, if there is one, did not reckon with its run
    _settle(tab, d, row, now, end, end)
    begin_run(tab, d, row, now)


@kernel
def hold(tab: Tables, d: int, row: int, now: int, until: int) -> None:
    """A ready job keeps its nodes until `until` (NEVER: without end) and waits for its mate."""
    dom = tab.domains[d]
    job = tab.jobs[row]
    _settle(tab, d, row, now, until, until + job.requested if until < NEVER else NEVER)
    job.state = HOLDING
    dom.changed = 1  # its expected end differs from what this iteration reckoned with


@kernel
def pass_over(tab: Tables, d: int, row: int, now: int) -> None:
    """A ready job gives its nodes back and is passed over for the rest of this instant."""
    dom = tab.domains[d]
    job = tab.jobs[row]
    vacate(tab, d, job.nodes, job.block, job.expected)
    tab.marks[row].passed_over = now + 1
    if dom.offered == row:
        job.state = QUEUED
        dom.offered = NONE
    else:
        _enqueue_again(tab, d, row)  # its iteration was abandoned, or it had none: others took its nodes for busy


@kernel
def try_start(tab: Tables, d: int, row: int, now: int, wanted_until: int) -> bool:
    """TryStartMate: start `row` if an iteration run now would; else it is wanted until `wanted_until`."""
    if not try_ready(tab, d, row, now):
        tab.marks[row].wanted_until = wanted_until
        return False
    begin_run(tab, d, row, now)
    tab.domains[d].changed = 1
    return True


@kernel
def try_ready(tab: Tables, d: int, row: int, now: int) -> bool:
    """Give `row` its nodes if an iteration run now would start it: it is ready."""
    block = would_start(tab, d, row, now)
    if block == NONE:
        return False
    make_ready(tab, d, row, block, now)
    strike_row(tab, d, row)
    return True


@kernel
def chance(tab: Tables, d: int, row: int) -> int:
    """Whether a job could start now, whatever the order: NO_ROOM, or not submitted; ROOM; HOLDS; HAS_NODES, or had."""
    state = tab.jobs[row].state
    if state == PENDING:
        return NO_ROOM
    if state == QUEUED:
        return NO_ROOM if place(tab, d, tab.jobs[row].nodes) == NONE else ROOM
    return HOLDS if state == HOLDING else HAS_NODES


@kernel
def release(tab: Tables, d: int, row: int, now: int) -> None:
    """A hold is forcibly ended: queued again, and last in this instant's order."""
    tab.marks[row].released = now
    tab.domains[d].released_at = now
    requeue(tab, d, row)


@kernel
def requeue(tab: Tables, d: int, row: int) -> None:
    """A job that holds nodes, or runs, loses them and is queued again."""
    job = tab.jobs[row]
    vacate(tab, d, job.nodes, job.block, job.expected)
    _enqueue_again(tab, d, row)


@kernel
def _enqueue_again(tab: Tables, d: int, row: int) -> None:
    """Add a job that is not the latest to the queue; no iteration is open."""
    drop_left(tab, d)  # places are compared by row, which a gap has not
    enqueue(tab, d, row)
    tab.domains[d].marked = 1  # it may be wanted, or have a slot


@kernel
def _settle(tab: Tables, d: int, row: int, now: int, until: int, claimed_until: int) -> None:
    """The job's nodes are expected back at `until`; behind a reservation it claims them until `claimed_until`."""
    dom = tab.domains[d]
    job = tab.jobs[row]
    if dom.offered == row:
        if dom.backfilled == 1:
            use_extra(tab, d, job.nodes, claimed_until)
        if dom.plans == 1:
            take(tab, d, job.nodes, job.block, now, until if dom.reserved == NONE else claimed_until)
        dom.offered = NONE
        strike(tab, d, dom.base + dom.position - 1)
    if job.expected != until:
        expect(tab, d, job.nodes, job.block, job.expected, until)
        job.expected = until
