"""Slots of a plain scheduler, by counted nodes (meet.md, Slots): where one fits, and who leaves it free."""

from __future__ import annotations

import pytest

from cosched.core.effects import Book, Quote
from cosched.core.job import SlotMoves
from cosched.core.scheduling.plain import PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob, planning
from cosched.core.scheduling.slots import Slots

SLOT = 50


class Counted(Slots):
    def __len__(self) -> int:
        return len(self.booked)


@pytest.fixture
def scheduler() -> PlainScheduler:
    """8 nodes, all free; job 1 has 6 of them from 50 to 150 s, and its slot stays."""
    made = PlainScheduler(8, slots=True)
    made.submit(ClusterJob("1", 6, 100, 0, paired=True))
    assert made.meeting.book(Book("1", SLOT, 1), 0).allocation is not None
    made.meeting.move_slot("1", SlotMoves.NEVER)
    return made


@pytest.mark.parametrize(("nodes", "seconds", "starts"), [(4, 50, 0), (4, 51, None), (2, 1000, 0)])
def test_a_job_starts_if_it_leaves_a_slot_free(scheduler, nodes, seconds, starts):
    scheduler.submit(ClusterJob("2", nodes, seconds, 0, paired=False))
    ready = scheduler.next(0)
    assert (None if ready is None else ready.job) == (None if starts is None else "2")


@pytest.mark.parametrize(("seconds", "at"), [(50, 0), (51, 150)])
def test_a_slot_is_where_the_nodes_are_free_for_as_long_as_the_job_runs(scheduler, seconds, at):
    scheduler.submit(ClusterJob("2", 4, seconds, 0, paired=True))
    assert scheduler.meeting.quote(Quote("2", 0), 0).at == at


def test_what_plans_ahead_may_have_no_slots_yet(scheduler):
    scheduler.meeting = Counted(scheduler)
    assert len(scheduler.meeting) == 0
    assert planning(scheduler) is scheduler.meeting
