"""Places of jobs in the profile of a domain that meets (meet.md): now, earliest, in turn and before it."""

from __future__ import annotations

from cosched.core.scheduling.primitives.codes import CONSERVATIVE, NONE
from cosched.core.scheduling.primitives.compiled import part, shared_kernel
from cosched.core.scheduling.primitives.profile import earliest as earliest_place
from cosched.core.scheduling.primitives.profile import give_back, place_now, take
from cosched.core.scheduling.primitives.tables import NEVER, Tables

# What an iteration comes to, in order: the wanted jobs within the first job's limit; or the first job, then the wanted
# jobs without a limit; then all in order.
LIMITED, FIRST, UNLIMITED, ALL = range(4)


@shared_kernel
def earliest(tab: Tables, view: int, row: int, at: int) -> int:
    """The first instant from `at` on at which the job has its place, left in `place_block`; NEVER: there is none."""
    job = tab.jobs[row]
    return earliest_place(tab, view, job.nodes, job.requested, at)


@shared_kernel
def take_place(tab: Tables, view: int, row: int, block: int, start: int) -> None:
    """The job has a place from `start` on, which may be past."""
    job = tab.jobs[row]
    begun = max(start, tab.domains[view].planned_at)
    if begun < start + job.requested:
        take(tab, view, job.nodes, block, begun, start + job.requested)


@shared_kernel
def give_place_back(tab: Tables, view: int, row: int, block: int, start: int) -> None:
    """Undo `take_place` with the same arguments."""
    job = tab.jobs[row]
    begun = max(start, tab.domains[view].planned_at)
    if begun < start + job.requested:
        give_back(tab, view, job.nodes, block, begun, start + job.requested)


@shared_kernel
def place_beside(tab: Tables, view: int, row: int, now: int) -> int:
    """The block on which the job fits now, or NONE; of a partitioned pool if possible one clear of `beside`'s place."""
    dom = tab.domains[view]
    job = tab.jobs[row]
    if dom.units > 0 and dom.beside != NONE:
        count = tab.jobs[dom.beside].nodes // dom.unit_nodes
        block = place_now(tab, view, job.nodes, job.requested, now, dom.beside_block, count)
        if block != NONE:
            return block
    return place_now(tab, view, job.nodes, job.requested, now, 0, 0)


@part
def reserve(tab: Tables, view: int, row: int, now: int) -> None:
    """The job does not fit: it is given its earliest place, if those before it have left it any."""
    dom = tab.domains[view]
    if dom.reserved != NONE:
        return
    start = earliest(tab, view, row, now)
    if start < NEVER:
        take_place(tab, view, row, dom.place_block, start)
    if dom.backfill != CONSERVATIVE:
        dom.reserved = row
        dom.beside = row if start < NEVER else NONE
        dom.beside_block = dom.place_block


@part
def enter_turn(tab: Tables, view: int, row: int, now: int) -> None:
    """The profile as this job may use it: with its own slot, and before its turn less the first job's place."""
    dom = tab.domains[view]
    mark = tab.slots[row]
    if mark.slot != 0:
        give_place_back(tab, view, row, mark.block, mark.slot - 1)
    dom.head_start = NEVER
    if is_before_its_turn(tab, view) and head_waits(tab, view):
        dom.head_start = earliest(tab, view, dom.head, now)
        dom.head_block = dom.place_block
        if dom.head_start < NEVER:
            take_place(tab, view, dom.head, dom.head_block, dom.head_start)


@part
def leave_turn(tab: Tables, view: int, row: int) -> None:
    """Undo `enter_turn`."""
    dom = tab.domains[view]
    mark = tab.slots[row]
    if dom.head_start < NEVER:
        give_place_back(tab, view, dom.head, dom.head_block, dom.head_start)
    if mark.slot != 0:
        take_place(tab, view, row, mark.block, mark.slot - 1)


@part
def is_before_its_turn(tab: Tables, view: int) -> bool:
    """Whether the iteration has come to wanted jobs."""
    stage = tab.domains[view].stage
    return stage == LIMITED or stage == UNLIMITED


@part
def head_waits(tab: Tables, view: int) -> bool:
    """Whether the first job does not fit, and waits for its turn: it has no slot."""
    dom = tab.domains[view]
    return dom.had_turn == 0 and tab.slots[dom.head].slot == 0
