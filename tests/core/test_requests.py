"""Requests of peers (coscheduling.md): who may ask what, idempotent starts, request ids and retries."""

from collections.abc import Callable

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.answers import Answers
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.effects import Answer, Start, Try
from cosched.core.events import Ready, ReleaseDue, Requeued, Tried
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, MateStarted, MateTried, StartJob, Status, TryStartMate, call_number
from cosched.core.settings import Scheme
from tests.core.had import had

from .driver import NO, YES, DomainA, answered, decided, of, told


def queued() -> DomainA:
    a = DomainA()
    a.submit()
    a.asked_id()
    return a


def ready() -> DomainA:
    a = DomainA()
    a.ready()
    a.asked_id()
    return a


def holding() -> DomainA:
    a = DomainA()
    a.hold_or_yield()
    return a


def test_answers_are_kept_as_long_as_the_job_that_they_are_about():
    """Also those of former mates, but not those that have since called about another job."""
    jobs = [PairedJob(name, "ann") for name in "ij"]
    answers = Answers(DomainA().core.ledger)
    for number, (job, caller) in enumerate(((jobs[0], "k"), (jobs[0], "m"), (jobs[1], "m")), 1):
        answers.reply(job, "b", TryStartMate(f"b/{caller}/{number}", job.id, caller, 0), MateTried(True), [])
    answers.forget(jobs[0])
    assert list(answers.last) == [("b", "m")]
    answers.forget(jobs[1])
    assert answers == Answers(answers.ledger)


# TryStartMate


def test_a_queued_job_is_tried_by_the_local_scheduler():
    """ "`TryStartMate(k)` asks: if a scheduling iteration ran now [...] would k start?" "k is wanted until then" "If
    the mate job is waiting in the queue or unsubmitted, a remote function will be called to try to run the mate job."
    (IV-C; mended: not if unsubmitted)"""
    assert queued().asked_try(hold_until=1700) == [Try("j", 1700)]  # not answered before the local scheduler has tried


@pytest.mark.parametrize("started", [YES, NO])
def test_the_answer_is_the_local_schedulers(started):
    """ "If so, k starts at once, and only k, without a RunJob of its own. Otherwise nothing changes" "Function
    remote.tryStartMate(k) (line 12) invokes an additional scheduling iteration on the remote machine and returns True
    only if the mate job k gets started." (IV-C)"""
    a = queued()
    a.now = 8
    a.asked_try()
    effects = a.feed(Tried("j", had(started)))
    assert answered(effects) == MateTried(started)
    assert decided(effects) == []  # the local scheduler has started it, or not
    assert a.state() is (JobState.RUNNING if started else JobState.QUEUED)
    assert (a.job().ready_at, a.job().started_at) == ((8, 8) if started else (None, None))


@pytest.mark.parametrize("at", [ready, holding])
def test_a_job_that_has_nodes_starts_when_it_is_tried(at):
    """ "A domain that is asked to start such a job starts it at once and says so" """
    effects = at().asked_try()
    assert [type(effect) for effect in effects if type(effect) in (Start, Answer)] == [Start, Answer]
    assert answered(effects) == MateTried(YES)


@pytest.mark.parametrize(
    ("how", "answer"), [(None, YES), (JobState.COMPLETED, YES), (JobState.FAILED, NO), (JobState.CANCELLED, NO)]
)
def test_a_job_that_is_not_queuing(how, answer):
    """ "If k is not queuing, the answer is yes if it has started, no otherwise." """
    calls = (TryStartMate("B/k/2", "j", "k", 0), MateTried), (StartJob("B/k/2", "j", "k", 1), MateStarted)
    for request, kind in calls:
        a = holding()
        a.asked_start(1, number=1)
        if how is not None:
            a.finish(how)
        effects = a.ask(request)
        assert (answered(effects), decided(effects)) == (kind(answer), [])


@pytest.mark.parametrize(("job", "caller", "peer"), [("x", "k", "B"), ("j", "x", "B"), ("j", "k", "C")])
def test_a_peer_may_not_start_a_job_that_is_not_its_mate(job, caller, peer):
    calls = TryStartMate("id/1", job, caller, 0), StartJob("id/1", job, caller, 1)
    for request, answer in zip(calls, (MateTried(NO), MateStarted(NO)), strict=True):
        a = holding()
        effects = a.ask(request, peer)
        assert (answered(effects), decided(effects)) == (answer, [])
        assert a.state() is JobState.HOLDING


# Of a run that is over


def ran_before(at: Callable[[], DomainA]) -> DomainA:
    """It waits as it did, and has begun a run before that."""
    a = queued()
    a.asked_try()
    a.feed(Tried("j", had(YES)))
    a.feed(Requeued("j"))
    a.acknowledge()
    if at is ready:
        a.feed(Ready("j", Allocation(4), FOREVER))
    if at is holding:
        a.hold_or_yield()
    return a


@pytest.mark.parametrize(("runs", "answer"), [(0, NO), (1, YES), (2, YES), (None, YES)])
@pytest.mark.parametrize("at", [queued, ready, holding])
def test_a_call_of_a_run_that_is_over_starts_nothing(at, runs, answer):
    """ "a job that waits and has begun more runs than the call says is not started" """
    a = ran_before(at)
    generation = a.asked_status().generation
    effects = a.ask(TryStartMate("B/k/2", "j", "k", 1700, runs=runs))
    if at is queued:
        assert of(effects, Try) == ([Try("j", 1700)] if answer else [])
        effects = a.feed(Tried("j", had(YES))) if answer else effects
    assert answered(effects) == MateTried(answer)
    assert (a.state() is JobState.RUNNING) is answer
    if at is not queued:
        a = ran_before(at)
        effects = a.ask(StartJob("B/k/2", "j", "k", generation, runs=runs))
        assert (answered(effects), a.state() is JobState.RUNNING) == (MateStarted(answer), answer)


@pytest.mark.parametrize("how", [None, JobState.COMPLETED])
def test_a_job_that_has_started_without_the_caller_counts_as_started_all_the_same(how):
    """The caller, which still waits for the answer, starts late, as if it had asked again."""
    for request in (TryStartMate("B/k/2", "j", "k", 0, runs=0), StartJob("B/k/2", "j", "k", 1, runs=0)):
        a = holding()
        a.asked_start(1)
        if how is not None:
            a.finish(how)
        assert answered(a.ask(request)).started


def test_a_copy_of_a_call_that_was_answered_is_a_copy_whatever_it_says_of_runs():
    a = ran_before(queued)
    assert answered(a.ask(TryStartMate("B/k/1", "j", "k", 0, runs=0))) == MateTried(YES)
    assert a.state() is JobState.QUEUED


def test_a_call_is_answered_once_also_if_its_copy_starts_the_job_while_it_is_tried():
    """Its manager looks for nodes for a try; the job is ready meanwhile, runs, and is queued again."""
    a = queued()
    a.asked_try()
    a.ready()
    assert answered(a.asked_try()) == MateTried(YES)
    a.feed(Requeued("j"))
    assert a.core.incoming.tries_in_vain("j")
    assert answered(a.feed(Tried("j", None))) == MateTried(YES)
    assert a.state() is JobState.QUEUED


# StartJob


def test_a_holding_job_starts():
    effects = holding().asked_start(generation=1)
    assert (decided(effects), answered(effects)) == ([Start], MateStarted(YES))
    assert told(effects)[1] == "started: asked by B"


@pytest.mark.parametrize(("at", "generation"), [(queued, 0), (holding, 0), (holding, 2)])
def test_a_job_without_a_hold_of_this_generation_does_not_start(at, generation):
    a = at()
    before = a.state()
    effects = a.asked_start(generation)
    assert (decided(effects), answered(effects), a.state()) == ([], MateStarted(NO), before)


# Retries: "Every mutating call carries a request id (a retry returns the first answer)"


@pytest.mark.parametrize("kind", ["try", "start"])
def test_a_retry_of_a_start_returns_the_first_answer(kind):
    a = holding()
    ask = a.asked_try if kind == "try" else lambda: a.asked_start(1)
    first = ask()
    again = ask()
    assert (answered(again), decided(again)) == (answered(first), [])
    a.finish(JobState.FAILED)
    assert answered(ask()) == answered(first)


def test_a_retry_while_the_local_scheduler_still_tries_waits_for_the_same_outcome():
    """A local scheduler may take seconds to try (slurm.md); the retry is answered when it has."""
    a = queued()
    assert of(a.asked_try(), Try) != []
    assert a.asked_try() == []
    assert answered(a.feed(Tried("j", Allocation(4)))) == MateTried(YES)
    assert answered(a.asked_try()) == MateTried(YES)


def test_a_retry_of_a_refused_try_returns_no_though_the_job_could_start_now():
    a = queued()
    a.asked_try(number=1)
    a.feed(Tried("j", None))
    effects = a.asked_try(number=1)
    assert (of(effects, Try), answered(effects)) == ([], MateTried(NO))
    a.ready()
    effects = a.asked_try(number=1)
    assert (decided(effects), answered(effects)) == ([], MateTried(NO))
    assert a.state() is JobState.READY


def test_a_retry_of_a_refused_start_returns_no_though_the_job_holds_again():
    a = holding()
    a.feed(ReleaseDue("j"))
    a.asked_start(generation=2, number=1)  # no such hold yet
    a.hold_or_yield()
    effects = a.asked_start(generation=2, number=1)
    assert (decided(effects), answered(effects)) == ([], MateStarted(NO))


def test_a_late_copy_of_an_earlier_request_starts_nothing():
    """The caller has asked again since, under another id: nobody waits for the answer to this one."""
    a = queued()
    for number in (1, 2, 10):
        a.asked_try(number)
        a.feed(Tried("j", None))
    for number in (1, 2, 9):
        effects = a.asked_try(number)
        assert (of(effects, Try), answered(effects)) == ([], MateTried(NO))
    a.ready()
    for effects in (a.asked_try(1), a.asked_start(1, number=9)):
        assert decided(effects) == []
    assert a.state() is JobState.READY


def test_a_call_of_another_kind_with_the_id_of_the_last_one_is_answered_in_its_own_kind():
    a = holding()
    assert answered(a.ask(StartJob("b/k/7", "j", "k", 99))) == MateStarted(False)
    assert answered(a.ask(TryStartMate("b/k/7", "j", "k", 0))) == MateTried(False)
    assert a.state() is JobState.HOLDING


def test_request_ids_of_another_implementation_are_known_by_equality():
    """ "An id without a number at its end counts as number 0." (proto)"""
    a = queued()
    for request_id in ("x", "y"):
        assert of(a.ask(TryStartMate(request_id, "j", "k", 0)), Try)
        a.feed(Tried("j", None))
    assert of(a.ask(TryStartMate("y", "j", "k", 0)), Try) == []
    assert [call_number(name) for name in ("A/j/12", "x", "", "A/j/x")] == [12, 0, 0, 0]


def test_answers_are_kept_by_caller():
    """One job's request ids say nothing of another's."""
    a = queued()
    a.submit("i")
    a.asked_id(caller="l", pair="i")
    a.asked_try(number=5)
    a.feed(Tried("j", None))
    assert of(a.asked_try(number=1, job="i", caller="l"), Try)


# The disclosed generation


def test_a_ready_job_is_started_by_the_generation_it_disclosed():
    a = ready()
    assert decided(a.asked_start(a.asked_status().generation)) == [Start]


def test_a_disclosed_generation_is_that_of_the_hold_that_follows(a):
    a.run_job(Status.QUEUING)
    generation = a.asked_status().generation
    a.reply(MateTried(NO))
    assert a.state() is JobState.HOLDING
    assert decided(a.asked_start(generation)) == [Start]


def test_ready_then_yield_makes_the_disclosed_generation_stale():
    """ "If such a job yields meanwhile, a StartJob with its generation is refused." """
    a = DomainA(scheme=Scheme.YIELD)
    a.run_job(Status.QUEUING)
    generation = a.asked_status().generation
    a.reply(MateTried(NO))
    effects = a.asked_start(generation, number=1)
    assert (decided(effects), answered(effects)) == ([], MateStarted(NO))
    a.now = 1
    a.ready()  # ready again, but that is another readiness
    assert a.asked_status().generation == generation + 1
    effects = a.asked_start(generation, number=2)
    assert (decided(effects), answered(effects)) == ([], MateStarted(NO))
    assert decided(a.asked_start(a.asked_status().generation, number=3)) == [Start]


def test_a_yield_that_nobody_was_told_of_makes_nothing_stale():
    """Generations are those of holds, but for disclosed ones: the jitter of a hold depends on them."""
    a = DomainA(scheme=Scheme.YIELD)
    for a.now in range(3):
        a.hold_or_yield()
    assert a.asked_status().generation == 0
    a.asked_status()  # a queued job discloses nothing
    a.now = 5
    a.hold_or_yield()
    assert a.job().generation == 0
