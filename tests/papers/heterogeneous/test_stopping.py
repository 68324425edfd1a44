"""Jobs with mates that preempt others whose runs need time to end (heterogeneous.md, With mates)."""

from dataclasses import replace

import pytest

from cosched.core.allocation import NOT_NOW, Gathered
from cosched.core.effects import Book, Claim
from cosched.core.events import Requeued
from cosched.core.job import JobState, SlotMoves
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.scheduler import Heterogeneous
from cosched_papers.heterogeneous.settings import Algorithm, HeterogeneousSettings
from cosched_papers.heterogeneous.site import Machine, Site

ONE = Site((Machine("a", "x"),), (), preemptive=True)
LOW, HIGH = Priority.LOW, Priority.HIGH


def a_site(*, lags: bool = True, slots: bool = False) -> Heterogeneous:
    made = Heterogeneous(HeterogeneousSettings(ONE, {("one", "a"): 30}, Algorithm.MCT, slots=slots))
    if lags:
        made.lag()
    return made


def submit(site: Heterogeneous, job: str, priority: Priority, now: int, *, paired: bool = False) -> None:
    site.enter(now)
    site.submit(ClusterJob(job, 1, 30, now, paired=paired, columns=Classed("one", priority)))


def with_a_pair(site: Heterogeneous) -> Heterogeneous:
    """A low job runs from 0, and a high one with a mate comes at 10."""
    submit(site, "low", LOW, 0)
    assert site.next(0).job == "low"
    site.start("low", 0)
    assert site.next(0) is None
    site.take_events()
    submit(site, "k", HIGH, 10, paired=True)
    return site


@pytest.fixture
def site() -> Heterogeneous:
    return with_a_pair(a_site())


def stopped(site: Heterogeneous) -> list[str]:
    return [event.job for event in site.take_events() if isinstance(event, Requeued)]


def test_it_is_ready_once_nothing_is_left_of_the_run_that_it_stops(site):
    assert site.next(10) is None
    assert stopped(site) == ["low"]
    site.enter(12)
    site.reschedule()
    assert site.next(12) is None
    assert site.try_start("k", 12, 50) is NOT_NOW
    site.enter(15)
    site.uses("low", 0)
    assert site.next(15).job == "k"
    site.start("k", 15)
    assert site.next(15) is None
    site.leave("k", 45, JobState.COMPLETED)
    site.enter(45)
    assert site.next(45).job == "low"


def test_it_loses_nothing_where_runs_end_at_once():
    """ "Until then it is planned behind them, and never holds: nothing is lost if a mate refuses"."""
    site = with_a_pair(a_site(lags=False))
    assert site.next(10).job == "k"
    site.pass_over("k", 10, 1.0)
    assert site.next(10) is None
    assert site.take_events() == []


def test_what_was_stopped_in_vain_is_not_stopped_again_until_its_mate_asks(site):
    assert site.next(10) is None
    site.uses("low", 0)
    site.enter(15)
    assert site.next(15).job == "k"
    site.pass_over("k", 15, 1.0)
    assert site.next(15).job == "low", "it has its machine again"
    site.start("low", 15)
    assert site.next(15) is None
    assert Gathered("k", 0, in_vain=True) in site.take_events()
    site.enter(20)
    site.reschedule()
    assert site.next(20) is None
    assert stopped(site) == []
    assert site.try_start("k", 21, 90) is NOT_NOW
    assert stopped(site) == ["low"]
    site.uses("low", 0)
    assert site.next(22).job == "k"


def test_after_a_restart_it_is_known_which_runs_have_still_to_end(site):
    assert site.next(10) is None
    again = a_site()
    for job in ("low", "k"):
        known = site.job(job)
        again.submit(replace(known, kept={}).with_kept(known.to_keep()))
    again.enter(12)
    assert again.next(12) is None
    again.uses("low", 0)
    assert again.next(12).job == "k"


def test_a_slot_is_claimed_once_nothing_is_left_of_the_run_that_it_stops():
    site = with_a_pair(a_site(slots=True))
    assert site.meeting.book(Book("k", 30, 1), 10).allocation is not None
    site.meeting.move_slot("k", SlotMoves.NEVER)
    site.enter(30)
    assert site.meeting.claim(Claim("k"), 30).allocation is None
    assert stopped(site) == ["low"]
    site.uses("low", 0)
    assert site.meeting.claim(Claim("k"), 31).allocation is not None


def test_the_end_of_a_job_is_that_of_its_run(site):
    assert site.next(10) is None
    site.enter(14)
    site.leave("low", 14, JobState.CANCELLED)
    assert site.next(14).job == "k"
