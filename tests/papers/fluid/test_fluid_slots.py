"""Quotes and bookings of the fluid scheduler (docs/fluid.md, Slots), and what it starts beside them."""

import pytest

from cosched.core.allocation import NOT_NOW, Allocation, Malleable
from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.settings import FluidSettings, Harvesting


@pytest.fixture
def cluster():
    """Eight processors. From 0 on x has them all; it needs two, and would end at 100."""
    made = FluidCluster(FluidSettings(8, harvesting=Harvesting.EVEN, slots=True))
    submit(made, "x", 0, 2, 8, 100, paired=False)
    assert started(made, 0) == {"x"}
    return made


def submit(cluster, name: str, now: int, least: int, ideal: int, run: int, *, paired: bool) -> None:
    cluster.enter(now)
    cluster.submit(ClusterJob(name, ideal, run, now, paired, columns=Malleable(least)))


def started(cluster, now: int) -> set[str]:
    """Jobs with mates yield."""
    names = set()
    while (ready := cluster.next(now)) is not None:
        if cluster.job(ready.job).paired:
            cluster.pass_over(ready.job, now, 1.0)
        else:
            cluster.start(ready.job, now)
            names.add(ready.job)
    return names


def quoted(cluster, job: str, not_before: int, now: int) -> int | None:
    return cluster.meeting.quote(Quote(job, not_before), now).at


def booked(cluster, job: str, at: int, now: int) -> bool:
    return cluster.meeting.book(Book(job, at, 1), now).allocation is not None


def test_a_job_that_can_be_had_by_harvest_is_quoted_now(cluster):
    submit(cluster, "k", 10, 4, 4, 50, paired=True)
    assert quoted(cluster, "k", 10, 10) == 10
    assert quoted(cluster, "k", 40, 10) == 40


def test_a_quote_runs_iterations_forward(cluster):
    """y needs the whole machine: it starts when x ends, at 100, and k after it."""
    submit(cluster, "y", 10, 8, 8, 30, paired=False)
    submit(cluster, "k", 11, 4, 4, 50, paired=True)
    assert quoted(cluster, "k", 11, 11) == 130


def test_a_job_that_never_fits_beside_what_runs_is_quoted_when_that_is_gone_at_the_latest(cluster):
    """x did 80 of 800 by 10; on two processors the rest lasts up to 370, whatever is submitted until then."""
    submit(cluster, "k", 10, 8, 8, 50, paired=True)
    assert quoted(cluster, "k", 10, 10) == 370
    assert not booked(cluster, "k", 369, 10)
    assert booked(cluster, "k", 370, 10)


@pytest.mark.parametrize(("run", "starts"), [(30, True), (31, False)])
def test_nothing_starts_that_would_leave_a_booked_job_without_its_least(cluster, run, starts):
    """ "Accepted, and any start or hold after it allowed, only while min(j) plus the mins of all that would still run
    at `at` on their mins stays <= N."
    """
    submit(cluster, "y", 10, 8, 8, run, paired=False)
    submit(cluster, "k", 11, 4, 4, 50, paired=True)
    assert booked(cluster, "k", 130, 11)
    cluster.leave("x", 100, JobState.COMPLETED)
    assert started(cluster, 100) == ({"y"} if starts else set())


def test_a_booked_job_is_had_at_its_slot_whatever_the_policy_says():
    """ "At `at`, before the iteration, j starts, by harvest if need be, M or not." """
    cluster = FluidCluster(FluidSettings(8, harvesting=Harvesting.EVEN, level=0, max_harvests=0, slots=True))
    submit(cluster, "x", 0, 2, 8, 100, paired=False)
    assert started(cluster, 0) == {"x"}
    submit(cluster, "k", 10, 4, 4, 50, paired=True)
    assert cluster.try_start("k", 10, 0) is NOT_NOW
    assert booked(cluster, "k", 20, 10)
    assert cluster.meeting.claim(Claim("k"), 19).allocation is None
    cluster.enter(20)
    assert cluster.meeting.claim(Claim("k"), 20).allocation is not None
    cluster.take_events()
    assert cluster.start("k", 20).nodes == 4
    assert [(told.job, told.allocation.nodes, told.gave_to) for told in cluster.take_events()] == [("x", 4, "k")]


def test_a_slot_that_another_job_has_made_impossible_by_its_late_start_is_not_claimed_before_that_one_ends():
    """The core asks again until its patience is over."""
    cluster = FluidCluster(FluidSettings(8, slots=True))
    submit(cluster, "one", 0, 6, 6, 20, paired=True)
    submit(cluster, "two", 0, 4, 4, 20, paired=True)
    assert booked(cluster, "one", 10, 0)
    assert booked(cluster, "two", 30, 0)
    cluster.enter(15)
    assert cluster.meeting.claim(Claim("one"), 15).allocation is not None
    cluster.start("one", 15)
    cluster.enter(30)
    assert cluster.meeting.claim(Claim("two"), 30).allocation is None
    cluster.leave("one", 35, JobState.COMPLETED)
    assert cluster.meeting.claim(Claim("two"), 35).allocation is not None


@pytest.mark.parametrize(("parabolic", "longest"), [(False, 400), (True, 213)])
def test_a_job_may_run_as_long_as_it_takes_on_its_least_whatever_it_has(parabolic, longest):
    """Its time limit is that on all nodes that it can use: 100 s on 8; parabolic, 100 (64 + 4) / (2 * 8 * 2) on 2."""
    cluster = FluidCluster(FluidSettings(8, slots=True))
    cluster.submit(ClusterJob("j", 8, 100, 0, paired=False, columns=Malleable(2, parabolic=parabolic)))
    cluster.enter(10)
    allocation = cluster.start(cluster.next(10).job, 10)
    assert (allocation.nodes, allocation.expected, allocation.latest_end) == (8, 110, 10 + longest)
    cluster.submit(ClusterJob("k", 4, 100, 10, paired=False))
    assert cluster.start(cluster.next(20).job, 20) == Allocation(4, 20, 120, resumes=20)
    (resized,) = cluster.take_events()
    assert (resized.job, resized.allocation.nodes, resized.allocation.latest_end) == ("j", 4, 10 + longest)
