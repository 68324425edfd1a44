"""The outcome of every call (coscheduling.md), and the answers that come late."""

import pytest

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.effects import Call, Effect, Hold, Record, Reschedule, SetTimer, Start, Timer, Yield
from cosched.core.events import Answered, Asked, CallFailed, Claimed, Requeued, RetryDue, SlotDue
from cosched.core.job import JobState
from cosched.core.protocol import NO_HOLD, Failure, MateStarted, MateTried, StartJob, Status, TellMember, TryStartMate
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from cosched.core.story import What

from .driver import MATE_IS_K, NO, YES, DomainA, answered, called, decided, of, timer, told

CALLS = (protocol.GetMateJobId, protocol.GetMateStatus, TryStartMate, StartJob)
QUESTIONS, MUTATING = CALLS[:2], CALLS[2:]
CHOICES = [(OnUnreachable.START, Start), (OnUnreachable.HOLD, Hold), (OnUnreachable.YIELD, Yield)]


def asking(kind: type, **settings: object) -> DomainA:
    """Domain A, whose job j awaits the answer to a call of this kind."""
    return DomainA(**settings).asks(kind)


# What calls carry


@pytest.mark.parametrize("kind", MUTATING)
def test_a_mutating_call_carries_a_request_id_and_the_caller(kind):
    """ "Calls that change something carry a request id, the calling job, and for StartJob the generation of the
    hold." """
    request = asking(kind).awaited()
    assert (request.request_id, request.caller) == ("A/j/1", "j")
    if kind is StartJob:
        assert request.generation == 1


# Unreachable


def test_by_default_an_unreachable_peer_lets_the_job_start():
    """ "A job never waits for ever on a dead peer. That is why `start` is the default." """
    assert CoschedulingSettings().on_peer_unreachable is OnUnreachable.START


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(("choice", "decision"), CHOICES)
def test_unreachable_before_the_call_went_out(kind, choice, decision, scheme):
    """ "the call did not go out, or a question was not answered | The peer is away: see below. Then
    `on_peer_unreachable`: start (default), hold or yield" """
    effects = asking(kind, scheme=scheme, on_peer_unreachable=choice).fail(Failure.UNREACHABLE)
    assert decided(effects) == [decision]
    assert any("PeerUnreachable" in line for line in told(effects))


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize(("choice", "decision"), CHOICES)
def test_a_question_that_times_out(kind, choice, decision):
    """ "or a question was not answered": nothing changed there, so there is nothing to find out."""
    effects = asking(kind, on_peer_unreachable=choice).fail(Failure.TIMEOUT)
    assert decided(effects) == [decision]
    assert of(effects, SetTimer) == [timer for timer in of(effects, SetTimer) if timer.timer is Timer.RELEASE]


def test_a_hold_for_an_unreachable_peer_keeps_to_the_cap_and_rule_5():
    a = DomainA(on_peer_unreachable=OnUnreachable.HOLD)
    a.ready(hold_limit=1199)
    assert decided(a.fail(Failure.UNREACHABLE)) == [Yield]


# Unknown outcome


@pytest.mark.parametrize("kind", MUTATING)
def test_a_mutating_call_that_times_out_is_asked_again(kind):
    """ "The outcome is unknown. It is asked again with the same id until `peer_patience` is over, and as long as the
    peer is waited for; then as unreachable" """
    a = asking(kind, peer_patience=30, retry_interval=7)
    request = a.awaited()
    for a.now in (10, 20, 29):
        effects = a.fail(Failure.TIMEOUT)
        assert (decided(effects), timer(effects, Timer.RETRY)) == ([], a.now + 7)
        assert a.feed(RetryDue("j")) == [Call("B", "j", request)]
    a.now = 30
    effects = a.fail(Failure.TIMEOUT)
    assert told(effects) == ["started: PeerUnreachable"]


@pytest.mark.parametrize("kind", MUTATING)
@pytest.mark.parametrize(("choice", "decision"), CHOICES)
def test_when_patience_with_the_peer_ends(kind, choice, decision):
    """ "then act as unreachable" """
    a = asking(kind, on_peer_unreachable=choice, peer_patience=0)
    assert decided(a.fail(Failure.TIMEOUT)) == [decision]


@pytest.mark.parametrize("kind", MUTATING)
def test_an_outcome_stays_unknown_though_the_retry_does_not_go_out(kind):
    """The first attempt may have been carried out."""
    a = asking(kind)
    a.fail(Failure.TIMEOUT)
    a.now = 1
    a.feed(RetryDue("j"))
    effects = a.fail(Failure.UNREACHABLE)
    assert (decided(effects), timer(effects, Timer.RETRY)) == ([], 2)


def test_a_new_call_has_its_own_patience():
    a = asking(StartJob, peer_patience=30)
    a.fail(Failure.TIMEOUT)
    a.now = 29
    a.feed(RetryDue("j"))
    a.reply(MateStarted(NO))  # now it asks TryStartMate
    a.now = 40
    assert timer(a.fail(Failure.TIMEOUT), Timer.RETRY) == 41


def test_a_new_call_has_a_known_outcome_until_it_times_out_itself():
    a = asking(StartJob)
    a.fail(Failure.TIMEOUT)
    a.reply(MateStarted(NO))
    assert told(a.fail(Failure.UNREACHABLE)) == ["started: PeerUnreachable"]


# Refused


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(("scheme", "decision"), [(Scheme.HOLD, Hold), (Scheme.YIELD, Yield)])
def test_a_refusal_is_a_misconfiguration(kind, scheme, decision):
    """ "A misconfiguration, never taken for a dead peer. The job holds or yields, and the service says so loudly" """
    effects = asking(kind, scheme=scheme, on_peer_unreachable=OnUnreachable.START).fail(Failure.REFUSED)
    assert decided(effects) == [decision]
    assert Record("j", What.PEER_REFUSED, None, {"peer": "B"}) in effects
    assert any(line.endswith("PeerRefused") for line in told(effects))


# Late answers


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("state", [JobState.HOLDING, JobState.QUEUED, JobState.RUNNING, JobState.CANCELLED])
def test_an_answer_that_comes_when_nobody_asks_any_more_is_ignored(kind, state):
    choices = {JobState.HOLDING: OnUnreachable.HOLD, JobState.QUEUED: OnUnreachable.YIELD}
    choice = choices.get(state, OnUnreachable.START)
    a = asking(kind, on_peer_unreachable=choice, peer_patience=0)
    request = a.awaited()
    if state is JobState.CANCELLED:
        a.finish(state)
    else:
        a.fail(Failure.UNREACHABLE)
    assert a.state() is state
    answers = {protocol.GetMateJobId: MATE_IS_K, protocol.GetMateStatus: (Status.HOLDING, 1, None)}
    assert a.feed(Answered("j", request, answers.get(kind, MateTried(YES)))) == []
    assert a.feed(CallFailed("j", request, Failure.TIMEOUT)) == []
    assert a.feed(RetryDue("j")) == []
    assert a.state() is state


def test_an_answer_to_an_earlier_question_is_ignored():
    a = DomainA()
    a.ready()
    first = a.awaited()
    a.reply(MATE_IS_K)
    assert a.feed(Answered("j", first, MATE_IS_K)) == []
    assert a.feed(CallFailed("j", first, Failure.UNREACHABLE)) == []
    assert decided(a.fail(Failure.UNREACHABLE)) == [Start]


def test_an_answer_to_an_earlier_try_is_not_taken_for_that_to_the_present_one():
    a = DomainA(scheme=Scheme.YIELD)
    a.run_job(Status.QUEUING)
    first = a.awaited()
    a.reply(MateTried(NO))
    a.now = 1
    a.run_job(Status.QUEUING)
    assert a.feed(Answered("j", first, MateTried(YES))) == []
    assert a.state() is JobState.READY


def test_an_answer_that_comes_after_the_run_for_which_was_asked_is_out_of_date(a):
    """The job asks the very same again, and its mate has been queued again meanwhile, too."""
    a.ready()
    a.reply(MATE_IS_K)
    asked_before = a.awaited()
    a.asked_id()
    a.asked_try()
    a.feed(Requeued("j"))
    a.acknowledge()
    a.ready()
    a.reply(MATE_IS_K)
    assert asked_before == a.awaited()
    assert a.feed(Answered("j", asked_before, protocol.MateStatus(Status.RUNNING, 0, 0))) == []
    assert a.state() is JobState.READY


# Given up


def given_up(kind: type, choice: OnUnreachable, **settings: object) -> tuple[DomainA, list[Effect]]:
    """Domain A, whose job has given up a call that may still arrive."""
    a = asking(kind, on_peer_unreachable=choice, peer_patience=30, **settings)
    a.fail(Failure.TIMEOUT)
    a.now = 30
    return a, a.fail(Failure.TIMEOUT)


@pytest.mark.parametrize("kind", MUTATING)
@pytest.mark.parametrize("choice", [OnUnreachable.HOLD, OnUnreachable.YIELD])
def test_a_call_that_was_given_up_is_made_void(kind, choice):
    """ "It is followed by a StartJob for a hold that never was, with a later number" """
    a, effects = given_up(kind, choice)
    assert called(effects) == StartJob("A/j/2", "k", "j", NO_HOLD)
    a.now = timer(a.fail(Failure.UNREACHABLE), Timer.RETRY)
    assert called(a.feed(RetryDue("j"))) == StartJob("A/j/2", "k", "j", NO_HOLD)
    assert of(a.reply(MateStarted(NO)), Call) == []
    assert a.awaited() is None


@pytest.mark.parametrize("kind", MUTATING)
def test_a_call_that_did_not_go_out_needs_none(kind):
    assert of(asking(kind, on_peer_unreachable=OnUnreachable.YIELD).fail(Failure.UNREACHABLE), Call) == []


@pytest.mark.parametrize("kind", MUTATING)
def test_if_the_mate_has_started_by_that_call_the_job_asks(kind):
    a, _ = given_up(kind, OnUnreachable.HOLD)
    assert type(called(a.reply(MateStarted(YES)))) is protocol.GetMateJobId
    a, _ = given_up(kind, OnUnreachable.YIELD)
    assert of(a.reply(MateStarted(YES)), Reschedule) == [Reschedule("j")]


def test_a_runjob_that_asks_nothing_new_does_not_end_the_doubt():
    a, _ = given_up(TryStartMate, OnUnreachable.YIELD)
    a.ready()
    assert called(a.fail(Failure.UNREACHABLE)) == StartJob("A/j/3", "k", "j", NO_HOLD)


def test_a_runjob_whose_call_is_answered_ends_the_doubt():
    a, _ = given_up(TryStartMate, OnUnreachable.YIELD)
    a.run_job(Status.QUEUING)
    assert type(a.awaited()) is TryStartMate
    assert of(a.reply(MateTried(NO)), Call) == []


def test_one_that_makes_another_void_and_fails_says_nothing_of_the_proposal_at_the_job_s_slot():
    """The job would give its nodes back twice."""
    a, effects = given_up(TryStartMate, OnUnreachable.YIELD, slots=True)
    makes_void = called(effects)
    job = a.job()
    job.slot, job.proposes, job.confirmed, job.group.slot = a.now, True, True, "A/j/1"
    a.feed(SlotDue("j"))
    assert type(called(a.feed(Claimed("j", Allocation(4), False)))) is protocol.ProposeGroupStart
    assert decided(a.feed(CallFailed("j", makes_void, Failure.UNREACHABLE, "B"))) == []
    assert a.state() is JobState.READY


@pytest.mark.parametrize("kind", MUTATING)
def test_so_is_that_of_a_job_which_has_started_alone_once_this_one_is_queued_again(kind):
    """ "If the job has started alone instead, that goes out once it is queued again" """
    a, effects = given_up(kind, OnUnreachable.START)
    assert decided(effects) == [Start]
    assert type(called(effects)) is TellMember
    void, news = [effect.request for effect in of(a.feed(Requeued("j")), Call)][::-1]
    assert (void, type(news)) == (StartJob("A/j/2", "k", "j", NO_HOLD), TellMember)
    assert of(a.reply(MateStarted(NO)), Call) == []
    assert a.awaited() is None


def test_if_the_mate_has_started_by_that_call_it_hears_once_more_that_the_job_was_queued_again():
    """It may follow it: it has heard that when it did not run."""
    a, _ = given_up(TryStartMate, OnUnreachable.START)
    [first] = [call.request for call in of(a.feed(Requeued("j")), Call) if type(call.request) is TellMember]
    assert called(a.reply(MateStarted(YES))) == first._replace(number=first.number + 1)


@pytest.mark.parametrize("kind", MUTATING)
def test_a_call_that_was_answered_in_the_end_leaves_no_doubt(kind):
    a = asking(kind)
    a.fail(Failure.TIMEOUT)
    a.now = 1
    a.feed(RetryDue("j"))
    assert decided(a.reply(MateTried(YES) if kind is TryStartMate else MateStarted(YES))) == [Start]
    assert [type(effect.request) for effect in of(a.feed(Requeued("j")), Call)] == [TellMember]


@pytest.mark.parametrize("late", [TryStartMate("B/k/1", "j", "k", 0), StartJob("B/k/1", "j", "k", 1)])
def test_a_call_that_is_void_starts_nothing(late):
    a = asking(TryStartMate)
    a.reply(MateTried(NO))
    assert a.state() is JobState.HOLDING
    assert answered(a.feed(Asked("B", StartJob("B/k/2", "j", "k", NO_HOLD)))) == MateStarted(NO)
    assert of(a.feed(Asked("B", late)), Start) == []
