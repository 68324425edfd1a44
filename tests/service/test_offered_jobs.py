"""A domain whose resource manager schedules: its reports become events, its orders follow, others are passed over."""

import zlib
from dataclasses import replace
from decimal import Decimal

import pytest

from cosched.core.effects import PassOver, Release, Start, Try, Yield
from cosched.core.events import ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import (
    NO_MATE,
    Found,
    GetMateJobId,
    MateJobId,
    MateProblem,
    MateTried,
    MemberTold,
    Status,
    TellMember,
    TryStartMate,
    named_mate,
)
from cosched.core.settings import CoschedulingSettings, OnMateUnknown, Scheme
from cosched.core.story import Why
from cosched.service.domain.malleable import said_of
from cosched.service.domain.offered_jobs import Told
from cosched.service.domain.story import KINDS, Noted
from tests.service.job_records import queued
from tests.service.offered_site import NOW, Site
from tests.service.replies import QUEUING, UNSUBMITTED, mate_is

# Orders


def test_a_hold_is_no_order_and_a_start_is_one(site):
    site.submit(1)
    site.hold(1)
    assert site.orders == []
    assert site.state(1) is JobState.HOLDING
    site.ask(TryStartMate("b/1/1", "1", "1", 0))
    assert site.orders == [Start("1")]


def test_a_yield_and_a_forced_release_are_orders(store):
    site = Site(store, scheme=Scheme.YIELD)
    site.submit(1)
    site.hold(1)
    assert site.orders == [Yield("1", 1.0)]
    site.domain.core.ledger.configure(CoschedulingSettings(max_held_fraction=Decimal(1)))
    site.submit(2)
    site.hold(2)
    site.domain.timer_due(ReleaseDue("2"))
    assert site.orders == [Release("2")]
    assert site.state(2) is JobState.QUEUED


def test_what_is_known_is_on_record(site, store):
    site.submit(1)
    site.hold(1)
    kept = store.job(1)
    assert (kept.state, kept.named, kept.job.generation) == (JobState.HOLDING, named_mate("b", "1", "1"), 1)


def test_the_account_and_the_queue_of_a_job_are_those_of_its_last_offer(site, store):
    site.submit(1)
    site.offered.offered("1", 4, can_yield=True, number=1, told=Told("climate", '{"queue":"debug"}'))
    assert (store.job(1).account, said_of(store.job(1))) == ("climate", {"queue": "debug"})


def test_an_id_that_is_given_again_is_a_new_job(site, store):
    site.submit(1)
    site.domain.end("1", JobState.COMPLETED)
    site.submit(1, pair="other")
    assert (store.job(1).state, store.job(1).group_name) == (JobState.QUEUED, "other")


def story(store) -> list[str]:
    return [event.what for event in store.events(0, [1], [], 99)]


def test_a_job_that_its_manager_has_lost_and_knows_again_keeps_its_story(site, store):
    """As after a crash of slurmctld, which goes on with what it had saved before."""
    site.submit(1)
    site.hold(1)
    site.domain.end("1", JobState.FAILED, "Slurm does not know it any more")
    before = story(store)
    site.submit(1)
    assert store.job(1).state is JobState.QUEUED
    assert story(store) == [*before, "submitted", "is linked"]


@pytest.mark.parametrize("other", [{"owner": "eve"}, {"name": "other"}, {"submitted_at": NOW + 500}])
def test_another_job_with_its_id_has_a_story_of_its_own(site, store, other):
    site.submit(1)
    site.domain.end("1", JobState.FAILED, "Slurm does not know it any more")
    site.clock.instant += 600
    record = queued(1, 2, 0, NOW, owner="ann", named=named_mate("b", "1"))
    site.offered.submitted(replace(record, **other))
    assert story(store) == ["submitted"]


# Reports


def test_an_offer_of_a_job_that_is_not_coscheduled_is_let_go(site):
    site.offer(7)
    assert site.orders == [Start("7")]


def test_a_pair_s_name_that_is_taken_leaves_the_second_job_alone(site, store):
    site.submit(1)
    site.submit(2, pair="1")
    site.offer(2)
    assert (site.state(2), site.orders) == (None, [Start("2")])
    told = [event for event in store.events(0, (), (), 99) if event.what == "starts alone"]
    assert [event.detail for event in told] == [{"of": "2", "why": "its pair is that of job 1 already"}]


def test_an_offer_that_comes_back_after_a_restart_waits_on(site):
    site.submit(1)
    site.hold(1)
    site.offer(1)
    assert (site.orders, site.state(1)) == ([], JobState.HOLDING)


def test_an_offer_of_a_job_that_was_to_start_is_let_go_again(site):
    site.submit(1)
    site.ready(1, Status.RUNNING)
    assert site.orders == [Start("1")]
    site.offer(1)
    assert site.orders == [Start("1")]


@pytest.mark.parametrize("held", [True, False])
def test_a_withdrawn_offer_is_queued_again(site, held):
    site.submit(1)
    if held:
        site.hold(1)
    else:
        site.ready(1)
    site.offered.withdrawn("1")
    assert (site.state(1), site.domain.core.ledger.held_nodes) == (JobState.QUEUED, 0)
    assert site.offered.scheduler.used() == dict.fromkeys(site.offered.scheduler.used(), 0)


def test_a_running_job_that_is_withdrawn_takes_part_again(site):
    site.submit(1)
    site.ready(1, Status.RUNNING)
    site.offered.withdrawn("1")
    assert site.state(1) is JobState.QUEUED
    assert site.store.job(1).started_at is None


def test_the_size_of_a_running_job_is_on_record_and_the_one_on_which_a_try_finds_another(site, store):
    site.submit(1, 2)
    site.domain.started("1")
    for job in ("1", "1", "2", "3"):
        site.offered.resized(job, 1)
    assert [store.job(job).nodes for job in (1, 2)] == [1, 1]
    assert site.scheduler.used()[JobState.RUNNING] == 1
    said = store.events(0, [], [KINDS[Noted.RESIZED]], 9)
    assert [(event.job, event.detail["nodes"]) for event in said] == [(1, 1)]


def test_a_job_that_starts_unasked_runs(site):
    site.submit(1)
    site.hold(1)
    site.domain.started("1")
    site.domain.started("1")  # once is enough
    assert (site.state(1), site.orders) == (JobState.RUNNING, [])


@pytest.mark.parametrize("how", [JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED])
@pytest.mark.parametrize("held", [True, False])
def test_a_job_may_end_without_having_been_seen_to_run(site, store, held, how):
    site.submit(1)
    if held:
        site.hold(1)
    site.domain.end("1", how)
    ran = how is JobState.COMPLETED
    assert store.job(1).state is (how if ran else JobState.CANCELLED)
    assert (store.job(1).started_at is not None) is ran
    assert site.domain.core.ledger.held_nodes == 0


def test_a_job_that_cannot_yield_holds(store):
    site = Site(store, scheme=Scheme.YIELD)
    site.submit(1)
    site.offer(1, can_yield=False)
    site.answer(1, mate_is("1"), QUEUING, MateTried(False))
    assert (site.state(1), site.orders) == (JobState.HOLDING, [])


def test_another_comment_is_another_mate(site):
    site.submit(1)
    site.offered.relinked("1", named_mate("b", "new"))
    assert site.store.job(1).named == named_mate("b", "new")
    site.offered.relinked("1", NO_MATE)
    site.offer(1)
    assert site.orders == [Start("1")]


def test_a_job_that_holds_is_given_another_mate_and_asks_for_it_with_its_nodes(site):
    site.submit(1)
    site.hold(1)
    site.offered.relinked("1", named_mate("b", "new"))
    asked, news = (call.request for call in site.outside.calls[-2:])
    assert (site.state(1), site.orders, asked) == (JobState.READY, [], GetMateJobId("1", "new", None, "ann"))
    assert isinstance(news, TellMember), "the mate before hears that it has changed"
    site.answer(1, UNSUBMITTED)
    assert (site.state(1), site.orders) == (JobState.HOLDING, []), "nothing has started"


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("or_alone", [False, True])
def test_a_job_whose_mate_is_none_starts_alone_only_if_it_says_so(store, or_alone, linked):
    site = Site(store, on_mate_unknown=OnMateUnknown.WAIT)
    site.submit(1, or_alone=or_alone is not linked)
    if linked:
        site.offered.relinked("1", named_mate("b", None, "999", or_alone))
    site.orders  # noqa: B018
    site.offer(1)
    site.answer(1, MateJobId(Found.NO_PAIR, None, MateProblem.UNKNOWN))
    alone, waits = ([Start("1")], JobState.RUNNING), ([Yield("1", 1.0)], JobState.QUEUED)
    assert (site.orders, site.state(1)) == (alone if or_alone else waits)
    kept = store.job(1)
    assert kept.named.or_alone is or_alone
    assert or_alone or kept.reason == "MateUnknown"
    whys = [event.detail["why"] for event in store.events(0, (), (), 99) if event.what == "started"]
    assert whys == ([Why.NO_SUCH_PAIR] if or_alone else [])


# Tries, and who comes first


def test_a_try_is_answered_later(site):
    site.submit(1)
    assert site.asked_to_try(1) is None
    assert site.orders == [Try("1", 0)]
    told: list[object] = []
    site.outside.answer = lambda answer: told.append(answer.answer)
    site.offered.tried("1", True)
    assert (site.orders, site.state(1), told) == ([Start("1")], JobState.RUNNING, [MateTried(True)])
    assert site.asked_to_try(1) == MateTried(True)  # a retry


def test_a_try_that_has_come_to_nothing_leaves_the_job_queued_and_wanted(site):
    site.submit(1)
    site.asked_to_try(1, hold_until=NOW + 60)
    site.offered.tried("1", False)
    assert site.state(1) is JobState.QUEUED
    assert site.offered.scheduler.wanted(NOW) == ["1"]
    assert site.store.job(1).reason == "MateHolding"


def test_others_are_passed_over_while_a_peer_tries_a_job(site):
    """ "Every other paired job that could start [is] passed over as if it had yielded." (TryStartMate)"""
    site.submit(1, 2)
    site.asked_to_try(1)
    site.orders  # noqa: B018
    site.offer(2)
    assert (site.orders, site.state(2)) == ([PassOver("2", 0)], JobState.QUEUED)
    site.offered.tried("1", False)
    site.offer(2)
    assert site.state(2) is JobState.READY


def test_a_wanted_job_and_one_that_cannot_yield_are_not_passed_over(site):
    site.submit(1, 2, 3)
    site.asked_to_try(2, hold_until=NOW + 60)
    site.offered.tried("2", False)
    site.asked_to_try(1)
    site.offer(2)
    site.offer(3, can_yield=False)
    assert (site.state(2), site.state(3)) == (JobState.READY, JobState.READY)


def test_after_a_release_the_wanted_come_first(site):
    site.submit(1, 2)
    with site.offered.scheduler.favouring(["1"]):
        site.offer(2)
        assert site.orders == [PassOver("2", 0)]
        site.offer(1)
        assert site.state(1) is JobState.READY
    site.offer(2)
    assert site.state(2) is JobState.READY


def rank(job: int) -> int:
    """As both domains compute it, at NOW."""
    pair = sorted([("a", str(job)), ("b", str(job))])
    return zlib.crc32(f"{pair} {NOW // 60}".encode())


def test_of_two_pairs_in_each_other_s_way_the_lower_rank_goes_on(site):
    first, second = sorted((1, 2), key=rank)
    site.submit(1, 2)
    site.ready(first)
    site.asked_to_try(second)
    told: list[object] = []
    site.outside.answer = lambda answer: told.append(answer.answer)
    site.offered.give_way(str(second))
    assert told == [MateTried(False)]
    site.orders  # noqa: B018
    site.offered.tried(str(second), True)  # the manager offers it after all: a turn like any other
    assert (site.state(second), site.orders) == (JobState.READY, [])


def test_a_try_of_the_first_of_two_pairs_goes_on(site):
    first, second = sorted((1, 2), key=rank)
    site.submit(1, 2)
    site.ready(second)
    site.asked_to_try(first)
    site.offered.give_way(str(first))
    site.offered.tried(str(first), True)
    assert site.state(first) is JobState.RUNNING


def test_a_try_of_a_run_that_is_over_is_answered_no_and_the_offer_is_a_runjob(site):
    """Its manager starts a job, and queues it again, while it looks for nodes for a try."""
    site.submit(1)
    site.ask(TryStartMate("b/1/1", "1", "1", 0, runs=0))
    site.domain.started("1")
    site.offered.withdrawn("1")
    site.domain.calls.answered(site.outside.calls[-1], MemberTold(True))
    site.orders  # noqa: B018
    site.offered.tried("1", 1)
    assert site.domain.core.answers.last["b", "1"] == ("b/1/1", MateTried(False))
    assert (site.orders, site.state(1)) == ([], JobState.READY)


def test_an_agreed_instant_goes_to_the_manager_and_to_the_peer(site):
    site.outside.agreed_start = lambda start_at, _: start_at + 1
    site.submit(1)
    site.ask(TryStartMate("b/1/1", "1", "1", 0, 50.5))
    site.orders  # noqa: B018
    site.offered.tried("1", True)
    assert site.orders == [Start("1", 51.5)]
    assert site.domain.core.answers.last["b", "1"] == ("b/1/1", MateTried(True, 51.5))


# After a restart


def test_an_agreed_instant_outlives_a_restart(site, store):
    """That of the launch, if the manager has not heard of it, and that of the answer, if its caller asks again."""
    site.outside.agreed_start = lambda start_at, _: start_at + 1
    site.submit(1)
    request = TryStartMate("b/1/1", "1", "1", 0, 50.5)
    site.ask(request)
    site.offered.tried("1", True)
    again = Site(store)
    again.offer(1)
    assert again.orders == [Start("1", 51.5)]
    assert again.ask(request) == MateTried(True, 51.5)


def test_a_restarted_domain_holds_on(site, store):
    site.submit(1, 2)
    site.hold(1)
    again = Site(store)
    assert (again.state(1), again.state(2)) == (JobState.HOLDING, JobState.QUEUED)
    again.offer(1)
    again.offer(2)
    assert (again.orders, again.state(2)) == ([], JobState.READY)
    assert again.domain.core.ledger.held_nodes == 2
