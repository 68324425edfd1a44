"""A resource manager that schedules by itself: what it does unasked, jobs that cannot yield, starts at an instant."""

from decimal import Decimal

import pytest

from cosched.core.allocation import Allocation
from cosched.core.effects import ClearTimer, Hold, Release, SetTimer, Start, Timer, Try, Yield
from cosched.core.events import ReleaseDue, Requeued, StartedUnasked, Tried, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import Failure, MateStarted, MateStatus, MateTried, StartJob, Status, TryStartMate
from cosched.core.settings import OnUnreachable, Scheme

from .driver import NO, YES, DomainA, answered, called, decided, of, timer, told

SOON = 1_800_000_000.25


# What a resource manager does unasked


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.READY, JobState.HOLDING])
def test_a_job_that_starts_unasked_runs_and_holds_nothing(a, state):
    if state is JobState.QUEUED:
        a.submit()
    elif state is JobState.READY:
        a.run_job(Status.QUEUING)
    else:
        a.hold_or_yield()
    a.now = 9
    effects = a.feed(StartedUnasked("j"))
    assert told(effects) == ["started: its resource manager did not wait"]
    assert of(effects, Start) == []  # it has started already
    assert (a.state(), a.job().started_at, a.core.ledger.held_nodes) == (JobState.RUNNING, 9, 0)
    assert (ClearTimer("j", Timer.RELEASE) in effects) is (state is JobState.HOLDING)


def test_a_job_that_was_unlinked_and_starts_unasked_has_just_started(a):
    a.submit()
    a.feed(Unlinked("j"))
    assert told(a.feed(StartedUnasked("j"))) == ["started: it has no mate"]


def test_a_running_job_that_is_requeued_takes_part_again(a):
    a.run_job(Status.HOLDING, generation=1)
    a.reply(MateStarted(YES))
    assert told(a.feed(Requeued("j"))) == ["is queued again: taken back by its resource manager"]
    assert (a.state(), a.job().started_at) == (JobState.QUEUED, None)
    assert a.asked_status() == MateStatus(Status.QUEUING, 0, None, runs=1)
    a.acknowledge()
    assert decided(a.run_job(Status.RUNNING, started_at=0)) == [Start]  # "desynchronised", but it runs


# TryStartMate that takes a while


@pytest.mark.parametrize(
    ("state", "answer"),
    [(JobState.RUNNING, YES), (JobState.COMPLETED, YES), (JobState.FAILED, NO), (JobState.CANCELLED, NO)],
)
def test_a_job_may_start_or_end_while_it_is_tried(a, state, answer):
    a.submit()
    a.asked_id()
    a.asked_try()
    if state in (JobState.RUNNING, JobState.COMPLETED, JobState.FAILED):
        a.feed(StartedUnasked("j"))
    if state.final:
        a.finish(state)
    assert answered(a.feed(Tried("j", None))) == MateTried(answer)
    assert a.state() is state


def test_a_job_that_is_unlinked_while_it_is_tried_starts_if_it_could(a):
    a.submit()
    a.asked_id()
    a.asked_try()
    a.feed(Unlinked("j"))
    assert answered(a.feed(Tried("j", Allocation(4)))) == MateTried(YES)
    assert a.state() is JobState.RUNNING


# Jobs that cannot yield


@pytest.mark.parametrize(
    "settings",
    [{"scheme": Scheme.YIELD}, {"max_held_fraction": Decimal(0)}, {"on_peer_unreachable": OnUnreachable.YIELD}],
)
def test_a_job_that_cannot_yield_holds_whatever_the_scheme_and_the_cap(settings):
    a = DomainA(**settings)
    a.submit()
    a.feed_ready_that_cannot_yield()
    if "on_peer_unreachable" in settings:
        effects = a.fail(Failure.UNREACHABLE)
    else:
        a.reply_that_its_mate_queues()
        effects = a.reply(MateTried(NO))
    assert decided(effects) == [Hold]


def test_the_hold_of_a_job_that_cannot_yield_goes_on_when_its_timer_is_due():
    a = DomainA(release_interval=100)
    a.submit()
    a.feed_ready_that_cannot_yield()
    a.reply_that_its_mate_queues()
    a.now = timer(a.reply(MateTried(NO)), Timer.RELEASE)
    effects = a.feed(ReleaseDue("j"))
    assert (of(effects, Release), of(effects, Yield)) == ([], [])
    assert of(effects, SetTimer) == [SetTimer("j", Timer.RELEASE, 200)]
    assert (a.state(), a.core.ledger.held_nodes) == (JobState.HOLDING, 4)
    assert decided(a.asked_start(generation=1)) == [Start]  # it is the same hold


# Agreed instants


def test_an_instant_that_a_peer_asks_for_is_kept_to_and_repeated(a):
    a.hold_or_yield()
    a.asked_id()
    request = StartJob("B/k/1", "j", "k", 1, SOON)
    effects = a.ask(request)
    assert (of(effects, Start), answered(effects)) == ([Start("j", SOON)], MateStarted(YES, SOON))
    assert answered(a.ask(request)) == MateStarted(YES, SOON)  # a retry


def test_the_instant_of_a_mate_that_starts_is_that_of_the_job(a):
    a.run_job(Status.HOLDING, generation=1)
    assert of(a.reply(MateStarted(YES, SOON)), Start) == [Start("j", SOON)]
    a = DomainA()
    assert type(called(a.run_job(Status.QUEUING))) is TryStartMate
    assert of(a.reply(MateTried(YES, SOON)), Start) == [Start("j", SOON)]


def test_a_try_hands_the_wish_on_and_answers_what_came_of_it(a):
    a.submit()
    a.asked_id()
    assert of(a.ask(TryStartMate("B/k/1", "j", "k", 0, SOON)), Try) == [Try("j", 0, SOON)]
    assert answered(a.feed(Tried("j", YES, SOON + 1))) == MateTried(YES, SOON + 1)
