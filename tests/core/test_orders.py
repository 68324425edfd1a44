"""Orders to end a run because of a mate: on record, counted once, repeated until nothing is left (life.md)."""

from __future__ import annotations

import pytest

from cosched.core import protocol
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, CancelJob, Effect, EndRun, Record, Reschedule, Start, Timer, Try, Yield
from cosched.core.events import Answered, Asked, CallFailed, CheckDue, Finished, PeerThere, Requeued, RunsOn, Submitted
from cosched.core.job import JobState
from cosched.core.kept import restore, to_plain
from cosched.core.protocol import EndedBy, Failure, MateStatus, MateTried, MemberTold, Status, TellMember, Terms
from cosched.core.settings import CoschedulingSettings, OnMemberRequeued
from cosched.core.story import What, Why

from .driver import MATE_IS_K, NO, YES, DomainA, answered, called, decided, of, timer, told

REQUEUE, END = OnMemberRequeued.REQUEUE, OnMemberRequeued.END
TERMS = Terms(ends_with=("B",), if_requeued=REQUEUE)
QUEUED_AGAIN = MateStatus(Status.QUEUING, 0, None, runs=1)
HOLDING = QUEUED_AGAIN._replace(status=Status.HOLDING)
ENDED = MateStatus(Status.ENDED, 0, 0, runs=1)
FAILED = MateStatus(Status.FAILED, 0, 0, runs=1)
CHECK = protocol.GetMateStatus("k", "j")


def running(terms: Terms = TERMS, **settings: object) -> DomainA:
    """Domain A, whose job j has started with k."""
    a = DomainA(**settings)
    a.feed(Submitted("j", protocol.named_mate("B", "run7")._replace(terms=terms)))
    a.run_job(Status.HOLDING, generation=1)
    a.reply(protocol.MateStarted(YES))
    assert a.state() is JobState.RUNNING
    return a


def hint(number: int = 1) -> TellMember:
    """B says that k has changed."""
    return TellMember("j", "k", number)


def check(a: DomainA) -> protocol.Request:
    """What job j asks while it runs."""
    return a.job().group.checks.get("B", CHECK)


def hears(a: DomainA, status: MateStatus, number: int = 1) -> list[Effect]:
    """Job j hears that k has changed, asks, and is told this."""
    assert of(a.ask(hint(number)), Call) == [Call("B", "j", CHECK)]
    return a.feed(Answered("j", check(a), status, "B"))


def ordered(terms: Terms, status: MateStatus) -> DomainA:
    """The same, and the rules have ended its run."""
    a = running(terms)
    assert of(hears(a, status), EndRun)
    return a


@pytest.mark.parametrize(
    ("status", "order"),
    [
        (QUEUED_AGAIN, EndRun("j", Why.MATE_REQUEUED, again=True)),
        (QUEUED_AGAIN._replace(runs=0), None),  # "(*queuing* is also what a mate says that never ran)"
        (MateStatus(Status.RUNNING, 0, 5, runs=2), None),
        (ENDED, EndRun("j", Why.MATE_ENDED)),
        (ENDED._replace(runs=0), EndRun("j", Why.MATE_ENDED)),  # a domain that does not count runs
        (FAILED, EndRun("j", Why.MATE_ENDED)),
        (FAILED._replace(status=Status.CANCELLED), EndRun("j", Why.MATE_ENDED)),
        (FAILED._replace(status=Status.CANCELLED, ended_by=EndedBy.MATE), EndRun("j", Why.MATE_ENDED)),
        (FAILED._replace(status=Status.CANCELLED, runs=0), None),  # "the option is void"
        (MateStatus(Status.UNKNOWN, 0, None), None),
    ],
)
def test_what_follows_from_how_the_mate_stands(status, order):
    """ "only if the mate waits *now* and has begun at least one run"; "when that member has ended, however" """
    assert of(hears(running(), status), EndRun) == ([] if order is None else [order])


def test_a_hint_is_acknowledged_when_it_is_on_record_what_follows():
    """ "Who acknowledges has its own order to be queued again on record" """
    a = running()
    assert of(a.ask(hint()), Answer) == []
    assert of(a.ask(hint()), Answer) == []  # a copy is not acknowledged before, either
    effects = a.feed(Answered("j", check(a), QUEUED_AGAIN, "B"))
    assert [type(effect) for effect in effects if type(effect) is not Record] == [EndRun, Answer]
    assert [record.what for record in of(effects, Record)] == [What.HEARS_OF_MATE, What.RUN_ENDS], "in this order"
    assert answered_hint(effects)
    assert of(a.ask(hint()), Call) == []
    assert answered_hint(a.ask(hint()))


@pytest.mark.parametrize("starts", [YES, NO])
def test_a_hint_that_comes_while_the_job_may_be_starting_is_acknowledged_when_that_is_known(a, starts):
    """Else its mate would ask in between, and be told that it runs."""
    a.feed(Submitted("j", protocol.named_mate("B", "run7")._replace(terms=TERMS)))
    a.run_job(Status.HOLDING, generation=1)
    assert of(a.ask(hint()), Answer) == []
    effects = a.reply(protocol.MateStarted(starts))
    assert of(effects, Answer) == []
    if starts:
        assert of(effects, Call) == [Call("B", "j", CHECK)]
        effects = a.feed(Answered("j", check(a), QUEUED_AGAIN, "B"))
        assert of(effects, EndRun)
    else:
        effects = a.reply(MateTried(NO))
        assert a.state() is JobState.READY  # it held, and asks again at once
    assert answered_hint(effects)


def test_a_mate_with_nodes_may_just_be_starting_with_the_job():
    """It is asked again for a while. Who waits with nodes, since this domain could not be reached, still waits then."""
    a = running(peer_patience=30, retry_interval=1)
    effects = hears(a, HOLDING)
    assert (of(effects, EndRun), of(effects, Answer), timer(effects, Timer.CHECK)) == ([], [], 1)
    a.now = 59
    a.feed(CheckDue("j"))
    assert of(a.feed(Answered("j", check(a), HOLDING, "B")), EndRun) == []
    a.now = 60
    a.feed(CheckDue("j"))
    effects = a.feed(Answered("j", check(a), HOLDING, "B"))
    assert of(effects, EndRun) == [EndRun("j", Why.MATE_REQUEUED, again=True)]
    assert answered_hint(effects)


def test_a_hint_is_superseded_by_a_later_one():
    """ "only the latest number is kept" """
    a = running()
    a.ask(hint(1))
    assert of(a.ask(hint(2)), Answer) == [Answer("B", hint(1), MemberTold(False))]
    effects = a.feed(Answered("j", check(a), QUEUED_AGAIN, "B"))
    assert of(effects, Answer) == [Answer("B", hint(2), MemberTold(True))]


def answered_hint(effects: list[Effect]) -> bool:
    [answer] = of(effects, Answer)
    return answer.answer.heard


def test_a_job_that_follows_nobody_asks_nothing():
    effects = running(Terms()).ask(hint())
    assert (of(effects, Call), answered_hint(effects)) == ([], True)


@pytest.mark.parametrize("failure", [Failure.UNREACHABLE, Failure.TIMEOUT, Failure.BUSY, Failure.REFUSED])
def test_no_answer_ends_nobody_and_it_is_asked_again(failure):
    """ "A mate that gives no answer ends nobody" """
    a = running(peer_patience=30)
    a.ask(hint())
    a.now = 10
    effects = a.feed(CallFailed("j", check(a), failure, "B"))
    assert (of(effects, EndRun), of(effects, Answer), timer(effects, Timer.CHECK)) == ([], [], 40)
    assert Call("B", "j", CHECK) in a.feed(PeerThere("B"))
    assert a.feed(CheckDue("j")) == [Call("B", "j", CHECK)]
    effects = a.feed(Answered("j", check(a), ENDED, "B"))
    assert of(effects, EndRun) == [EndRun("j", Why.MATE_ENDED)]
    assert answered_hint(effects)
    assert a.feed(CheckDue("j")) == []


@pytest.mark.parametrize("second", [QUEUED_AGAIN, ENDED])
@pytest.mark.parametrize("first", [QUEUED_AGAIN, ENDED])
def test_the_first_order_on_record_counts(first, second):
    """ "Of two orders at once the one on record first counts." """
    a = running()
    a.ask(hint(1))
    a.ask(hint(2))
    assert len(of(a.feed(Answered("j", check(a), first, "B")), EndRun)) == 1
    assert of(a.feed(Answered("j", check(a), second, "B")), EndRun) == []
    effects = a.ask(hint(3))
    assert (of(effects, Call), answered_hint(effects)) == ([], True)
    assert a.job().ending is (Why.MATE_REQUEUED if first is QUEUED_AGAIN else Why.MATE_ENDED)


ORDERS = [
    (Terms(ends_with=("B",)), ENDED, JobState.COMPLETED, "completed: its mate has ended"),
    (Terms(ends_with=("B",)), FAILED, JobState.COMPLETED, "completed: its mate has ended"),
    (Terms(fail_together=True), FAILED, JobState.FAILED, "failed: its mate failed"),
    (Terms(ends_with=("B",), fail_together=True), FAILED, JobState.FAILED, "failed: its mate failed"),
    (Terms(if_requeued=END), QUEUED_AGAIN, JobState.CANCELLED, "cancelled: its mate was queued again"),
]


@pytest.mark.parametrize("how", [JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED])
@pytest.mark.parametrize(("terms", "status", "state", "story"), ORDERS)
def test_the_state_of_a_job_whose_run_was_ended_is_as_the_rules_say(terms, status, state, story, how):
    """ "its state is completed, its reason 'ended with its mate'"; "state failed"; "cancelled" """
    a = ordered(terms, status)
    effects = a.feed(Finished("j", how))
    assert (a.state(), a.job().ended_by, a.job().ending) == (state, EndedBy.MATE, None)
    assert story in told(effects)


def test_a_job_that_ends_by_itself_before_it_is_queued_again_has_ended_so():
    a = ordered(TERMS, QUEUED_AGAIN)
    effects = a.finish(JobState.COMPLETED)
    assert (a.state(), a.job().ended_by) == (JobState.COMPLETED, EndedBy.ITSELF)
    assert "completed" in told(effects)
    assert of(effects, Call) == [Call("B", "j", TellMember("k", "j", 1))]  # its mate waits for it


def test_to_be_queued_again_because_of_news_is_no_news():
    """ "To be queued again because of news is no news that queues others again." """
    a = ordered(TERMS, QUEUED_AGAIN)
    assert told(a.feed(Requeued("j"))) == ["is queued again: its mate was queued again"]
    assert (a.state(), a.job().ending, a.job().again, a.job().news) == (JobState.QUEUED, None, False, {})
    assert of(running().feed(Requeued("j")), Call) != []


def test_a_job_that_is_to_end_ends_though_it_is_queued_again():
    """Its resource manager has taken its nodes back meanwhile."""
    a = ordered(Terms(ends_with=("B",)), ENDED)
    effects = a.feed(Requeued("j"))
    assert (of(effects, CancelJob), of(effects, Call)) == ([CancelJob("j", Why.MATE_ENDED)], [])
    effects = a.ready()
    assert (decided(effects), of(effects, CancelJob)) == ([Yield], [CancelJob("j", Why.MATE_ENDED)])
    effects = a.asked_try()
    assert (of(effects, Try), answered(effects)) == ([], MateTried(NO))
    a.finish(JobState.CANCELLED)
    assert (a.state(), a.job().ended_by) == (JobState.CANCELLED, EndedBy.MATE)


@pytest.mark.parametrize(("terms", "status"), [order[:2] for order in ORDERS] + [(TERMS, QUEUED_AGAIN)])
def test_a_job_whose_run_is_to_end_starts_for_nobody(terms, status):
    """ "answers TryStartMate with no until nothing is left of the run" """
    a = ordered(terms, status)
    again = a.job().again
    expected = MateStatus(Status.QUEUING, 0, None, runs=1) if again else MateStatus(Status.RUNNING, 0, 0, runs=1)
    assert a.asked_status() == expected
    assert answered(a.asked_try(1)) == MateTried(NO)
    assert answered(a.asked_start(0, 2)) == protocol.MateStarted(NO)


def test_a_member_whose_run_is_to_end_is_booked_for_nobody():
    core = Coscheduler("A", 10, CoschedulingSettings(), story=False)
    core.handle(Submitted("j", protocol.named_group("g", ("B", "C"))), 0)
    core.handle(Asked("B", protocol.GetMember("k", "g", ("A", "B", "C"), "")), 0)
    core.jobs["j"].ending = Why.MATE_ENDED
    proposal = protocol.ProposeGroupStart("B/k/1", "j", "k", 0, 5)
    [answer] = core.handle(Asked("B", proposal), 0)
    assert answer == Answer("B", proposal, protocol.GroupProposed(protocol.Vote.NO))


@pytest.mark.parametrize(
    ("terms", "status", "order"),
    [
        (TERMS, QUEUED_AGAIN, EndRun("j", Why.MATE_REQUEUED, again=True)),
        (Terms(if_requeued=END), QUEUED_AGAIN, EndRun("j", Why.MATE_REQUEUED)),
        (Terms(fail_together=True), FAILED, EndRun("j", Why.MATE_FAILED)),
    ],
)
def test_an_order_is_given_again_after_a_restart(terms, status, order):
    a = restarted(ordered(terms, status))
    assert of(a.recovered, EndRun) == [order]
    assert answered(a.asked_try(1)) == MateTried(NO)


def test_a_running_job_asks_after_a_restart_what_has_become_of_its_mate():
    assert of(restarted(running()).recovered, Call) == [Call("B", "j", CHECK)]
    assert of(restarted(running(Terms())).recovered, Call) == []


def restarted(a: DomainA) -> DomainA:
    """The domain with what is on record; `recovered` has what follows."""
    before, again = a.job(), DomainA()
    job = restore(type(before)(before.id, before.owner, before.group, before.state), to_plain(before))
    job.started_at = before.started_at
    job.group.checks = {}
    again.recovered = again.core.recover(job, 0, 0)
    return again


def test_a_job_that_its_manager_cannot_queue_again_runs_on_and_others_hear_so():
    """ "else the others continue, and the story says why" """
    a = ordered(TERMS, QUEUED_AGAIN)
    effects = a.feed(RunsOn("j"))
    assert told(effects) == ["runs on without its mate: its resource manager cannot queue it again"]
    assert of(effects, Call) == [Call("B", "j", TellMember("k", "j", 1))]
    assert a.asked_status() == MateStatus(Status.RUNNING, 0, 0, runs=1)
    assert a.feed(RunsOn("j")) == []


# A job that was queued again


def requeued(**settings: object) -> DomainA:
    """Job j was queued again, and is ready, but B has not heard so."""
    a = running(Terms(), peer_patience=30, retry_interval=1, **settings)
    a.now = 100
    assert of(a.feed(Requeued("j")), Call) == [Call("B", "j", TellMember("k", "j", 1))]
    effects = a.ready()
    assert (told(effects), decided(effects)) == (["yields: MateNotTold"], [Yield])
    return a


def test_a_job_that_was_queued_again_asks_for_nodes_when_others_know_that():
    """ "a job that was queued again asks for nodes only when its news is acknowledged" """
    a = requeued()
    assert of(a.acknowledge(), Reschedule) == [Reschedule("j")]
    assert called(a.ready())
    a.reply(MATE_IS_K)
    assert decided(a.reply(MateStatus(Status.RUNNING, 0, 0, runs=1))) == [Start]


@pytest.mark.parametrize(
    ("failure", "after", "goes_on"),
    [
        (Failure.UNREACHABLE, 30, True),
        (Failure.TIMEOUT, 30, True),
        (Failure.TIMEOUT, 29, False),  # a lost word
        (Failure.BUSY, 500, False),  # it is alive
    ],
)
def test_or_when_they_cannot_be_reached(failure, after, goes_on):
    """ "or its peer is unreachable" """
    a = requeued()
    a.now += after
    assert Reschedule("j") in a.feed(CallFailed("j", a.job().news["B"].request, failure, "B")) or not goes_on
    assert decided(a.ready()) == ([] if goes_on else [Yield])
