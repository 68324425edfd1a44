"""A domain whose resource manager schedules drains: all its holds are given back before maintenance."""

from cosched.core.effects import Release, Reschedule, Start, Yield
from cosched.core.events import ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import MateTried
from tests.service.offered_site import NOW, Site

EXPECTED, SETTLE = 7200, 30


def drain(site: Site) -> None:
    with site.domain.turns.take():
        site.domain.draining.begin(EXPECTED, SETTLE)


def given_back(site: Site) -> None:
    """The manager has done what it was told."""
    site.domain.decisions.giving_back.clear()


def test_what_holds_is_given_back_when_the_time_to_settle_is_over(site):
    site.submit(17)
    site.hold(17)
    drain(site)
    site.answer(17, *Site.no_luck(17))
    assert site.state(17) is JobState.HOLDING
    assert site.domain.draining.unsettled() == ["17"]
    site.clock.instant = NOW + SETTLE
    site.domain.timer_due(ReleaseDue("17"))
    assert site.orders == [Release("17")]
    assert site.domain.draining.unsettled() == ["17"]  # the manager is at it
    given_back(site)
    assert site.domain.draining.unsettled() == []


def test_a_mate_that_can_come_comes(site):
    site.submit(17)
    site.hold(17)
    drain(site)
    *questions, _ = Site.no_luck(17)
    site.answer(17, *questions, MateTried(True))
    assert [type(order) for order in site.orders] == [Start]
    assert site.domain.draining.unsettled() == []


def test_a_job_that_is_offered_gives_its_nodes_back_and_a_peer_is_answered_no(site):
    site.submit(17, 18)
    drain(site)
    site.offer(17)
    assert [type(order) for order in site.orders] == [Yield]
    given_back(site)
    assert site.asked_to_try(18) == MateTried(False)
    assert site.orders == []


def test_a_job_that_would_be_lost_holds_on_and_is_waited_for(site):
    site.submit(17)
    drain(site)
    site.offer(17, can_yield=False)
    assert site.state(17) is JobState.HOLDING
    assert site.domain.draining.unsettled() == ["17"]


def test_it_drains_over_a_restart(site, store):
    site.submit(17)
    drain(site)
    again = Site(store)
    assert again.domain.draining.present == site.domain.draining.present
    again.offer(17)
    assert [type(order) for order in again.orders] == [Yield]


def test_when_it_is_resumed_the_jobs_that_were_kept_back_are_considered_at_once(site):
    site.submit(17)
    drain(site)
    site.offer(17)
    assert [type(order) for order in site.orders] == [Yield]
    with site.domain.turns.take():
        site.domain.draining.end()
    assert site.orders == [Reschedule("17")]
    site.hold(17)
    assert site.state(17) is JobState.HOLDING
