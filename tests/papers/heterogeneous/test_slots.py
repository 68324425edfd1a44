"""Slots of a heterogeneous domain (docs/heterogeneous.md, Slots): cases worked by hand.

Two machines, and the cluster of both. Jobs of the class `m` take 10 s on the first machine, 12 s on the second, and
4 s on the cluster; those of the class `one` run on the first machine only, for 10 s.
"""

import pytest

from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import MayBeEarlier
from cosched.core.job import JobState, SlotMoves
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.scheduler import Heterogeneous
from cosched_papers.heterogeneous.settings import Algorithm, HeterogeneousSettings
from cosched_papers.heterogeneous.site import Cluster, Machine, Site

TIMES = {("m", "a"): 10, ("m", "b"): 12, ("m", "both"): 4, ("one", "a"): 10}
LOW, MEDIUM, HIGH = Priority.LOW, Priority.MEDIUM, Priority.HIGH


@pytest.fixture
def scheduler() -> Heterogeneous:
    site = Site((Machine("a", "x"), Machine("b", "x")), (Cluster("both", (0, 1), 2),), preemptive=True)
    return Heterogeneous(HeterogeneousSettings(site, TIMES, Algorithm.MCT, slots=True))


def submit(scheduler, job: str, says: str = "one", priority: Priority = MEDIUM, now: int = 0, *, paired=False) -> None:
    scheduler.enter(now)
    scheduler.submit(ClusterJob(job, 1, 1, now, paired=paired, columns=Classed(says, priority)))


def starts(scheduler, now: int) -> list[str]:
    """Start all that have their turn now."""
    scheduler.enter(now)
    scheduler.reschedule()
    started = []
    while (turn := scheduler.next(now)) is not None:
        assert not isinstance(turn, MayBeEarlier)
        scheduler.start(turn.job, now)
        started.append(turn.job)
    return started


def yields(scheduler, job: str, now: int) -> None:
    scheduler.enter(now)
    assert scheduler.next(now).job == job
    scheduler.pass_over(job, now, 1.0)


def quoted(scheduler, job: str, not_before: int, now: int = 0) -> int | None:
    return scheduler.meeting.quote(Quote(job, not_before), now).at


def booked(scheduler, job: str, at: int, now: int = 0) -> bool:
    return scheduler.meeting.book(Book(job, at, 1), now).allocation is not None


def with_slot(scheduler, at: int, priority: Priority = MEDIUM) -> None:
    """A job with a mate, 1, has a slot that does not move."""
    submit(scheduler, "1", priority=priority, paired=True)
    yields(scheduler, "1", 0)
    assert booked(scheduler, "1", at)
    scheduler.meeting.move_slot("1", SlotMoves.NEVER)


def test_a_slot_is_where_the_job_would_end_first(scheduler):
    """Behind job 1, which runs on a until 10, the cluster ends at 14, machine a at 20, and b 12 s after its start."""
    submit(scheduler, "1")
    assert starts(scheduler, 0) == ["1"]
    submit(scheduler, "2", "m", paired=True)
    assert [quoted(scheduler, "2", at) for at in (0, 1, 2)] == [0, 1, 2]  # on b
    assert quoted(scheduler, "2", 3) == 10  # on both
    assert quoted(scheduler, "2", 30) == 30


def test_the_hole_before_a_slot_is_for_what_ends_in_time(scheduler):
    with_slot(scheduler, 15)
    submit(scheduler, "2")
    submit(scheduler, "3")
    assert starts(scheduler, 1) == ["2"]
    scheduler.leave("2", 9, JobState.COMPLETED)
    assert starts(scheduler, 9) == [], "job 3 would run over the slot"
    scheduler.enter(15)
    assert scheduler.meeting.claim(Claim("1"), 15).allocation is not None
    scheduler.start("1", 15)
    scheduler.leave("1", 25, JobState.COMPLETED)
    assert starts(scheduler, 25) == ["3"]


def test_a_slot_that_is_not_what_is_quoted_now_is_not_booked(scheduler):
    submit(scheduler, "1")
    assert starts(scheduler, 0) == ["1"]
    submit(scheduler, "2", paired=True)
    assert not booked(scheduler, "2", 9)
    assert booked(scheduler, "2", 10)


def test_a_slot_is_claimed_only_when_it_has_come_and_its_machines_are_free(scheduler):
    submit(scheduler, "1")
    assert starts(scheduler, 0) == ["1"]
    submit(scheduler, "2", paired=True)
    assert booked(scheduler, "2", 10)
    assert scheduler.meeting.claim(Claim("2"), 9).allocation is None
    scheduler.enter(10)
    assert scheduler.meeting.claim(Claim("2"), 10).allocation is None, "job 1 runs late"
    scheduler.leave("1", 11, JobState.COMPLETED)
    scheduler.enter(11)
    assert scheduler.meeting.claim(Claim("2"), 11).allocation.where == ("a",)


def test_a_low_job_with_a_slot_counts_as_medium(scheduler):
    """A job of high priority is placed behind it; without the slot it would displace it."""
    with_slot(scheduler, 5, LOW)
    submit(scheduler, "2", priority=HIGH, now=1)
    assert starts(scheduler, 1) == []
    scheduler.meeting.unbook("1", 1)
    submit(scheduler, "3", priority=HIGH, now=1)
    assert starts(scheduler, 1) == ["2"]


def test_a_job_before_a_slot_holds_no_longer_than_it_can(scheduler):
    with_slot(scheduler, 30)
    submit(scheduler, "2", paired=True, now=1)
    assert scheduler.next(1).hold_limit == 20
