"""The prose of section IV-C (Tang et al. 2011), sentence by sentence."""

import pytest

from cosched.core.effects import Answer, Call, Hold, Start, Try, Yield
from cosched.core.events import Tried
from cosched.core.job import JobState
from cosched.core.protocol import Failure, Found, GetMateStatus, MateJobId, MateProblem, MateStarted, MateTried, Status
from cosched.core.settings import Scheme
from cosched.sim.script import Action, ScriptedEvent

from .driver import MATE_IS_K, NO, YES, DomainA, answered, called, decided, of
from .replays import Replay

BOTH = [Scheme.HOLD, Scheme.YIELD]


def test_it_is_invoked_when_a_job_is_ready():
    """ "The core coscheduling algorithm extends the existing function in the traditional resource manager, which is
    invoked when a job is scheduled and ready to run." """
    a = DomainA()
    a.submit()
    assert a.state() is JobState.QUEUED  # nothing is asked before
    assert of(a.ready(), Call)


def test_a_job_without_a_mate_starts_on_its_nodes():
    """ "Normally, the function starts the scheduled job on the assigned nodes." """
    assert Replay({"a1": (5, 100, 10)}, {"b1": (0, 1, 1)}, []).start("a1") == 5


def test_questions_come_before_the_start():
    """ "But with coscheduling, additional logic will be executed before the job can actually start." """
    a = DomainA()
    for effects in (a.ready(), a.reply(MATE_IS_K)):
        assert decided(effects) == []
        assert of(effects, Call)


def test_calls_go_to_the_mates_machine_and_starts_stay_here():
    """ "The algorithm is distributed: “self.xyz” calls a local function, and “remote.xyz” calls a remote function on
    the remote machine." """
    a = DomainA()
    (call,) = of(a.ready(), Call)
    assert call.peer == "B"
    a.reply(MATE_IS_K)
    effects = a.reply(a.asked_status("nobody"))  # unknown
    assert of(effects, Start) == [Start("j")]


@pytest.mark.parametrize("a_scheme", BOTH)
@pytest.mark.parametrize("b_scheme", BOTH)
def test_the_scheme_is_local(a_scheme, b_scheme):
    """ "Each machine runs the same algorithm with a locally configured scheme, either hold or yield." """
    # a1's mate b1 comes at 50; b2's mate a2 comes at 300.
    run = Replay(
        {"a1": (0, 100, 4), "a2": (300, 100, 4)},
        {"b1": (50, 100, 4), "b2": (200, 100, 4)},
        [("a1", "b1"), ("a2", "b2")],
        a_only={"scheme": a_scheme},
        b_only={"scheme": b_scheme},
    )
    assert (run.job("a1").holds > 0) is (a_scheme is Scheme.HOLD)
    assert (run.job("b2").holds > 0) is (b_scheme is Scheme.HOLD)
    assert run.starts() == {"a1": 50, "b1": 50, "a2": 300, "b2": 300}


def test_a_flag_enables_it():
    """ "The algorithm can be enabled or disabled by a flag." """
    pair = {"a1": (0, 100, 4)}, {"b1": (50, 100, 4)}, [("a1", "b1")]
    assert Replay(*pair).starts() == {"a1": 50, "b1": 50}
    assert Replay(*pair, scheme=Scheme.OFF).starts() == {"a1": 0, "b1": 50}


def test_disabled_here_or_without_a_mate_a_job_starts_normally():
    """ "As shown in Algorithm 1, if coscheduling is not enabled or the mate job is not found, the ready job will start
    normally (lines 35 and 31, respectively), skipping the coscheduling logic." """
    assert decided(DomainA(scheme=Scheme.OFF).ready()) == [Start]
    a = DomainA()
    a.ready()
    effects = a.reply(MateJobId(Found.NO_PAIR, None))
    assert decided(effects) == [Start]
    assert of(effects, Call) == []


def test_disabled_at_the_mates_machine_both_start_normally():
    """ "no such pair, also if coscheduling is off there: then j starts" (coscheduling.md)"""
    off = DomainA(scheme=Scheme.OFF)
    off.submit()
    assert off.asked_id() == MateJobId(Found.NO_PAIR, None, MateProblem.OFF)


def test_the_status_comes_first():
    """ "If coscheduling is enabled and a valid mate is found, we will first get the status of the mate, based on which
    the job will act." """
    a = DomainA()
    a.ready()
    assert type(called(a.reply(MATE_IS_K))) is GetMateStatus


def test_a_holding_mate_and_the_job_start_at_once():
    """ "If the remote job is in hold status, both jobs will be started immediately (lines 7 and 8)." """
    a = DomainA()
    a.run_job(Status.HOLDING, generation=1)
    assert decided(a.reply(MateStarted(YES))) == [Start]
    b = DomainA()  # the other side
    b.hold_or_yield()
    effects = b.asked_start(generation=1)
    assert decided(effects) == [Start]
    assert answered(effects) == MateStarted(YES)


def test_a_waiting_mate_is_tried():
    """ "If the mate job is waiting in the queue or unsubmitted, a remote function will be called to try to run the
    mate job." (Mended: not if unsubmitted, see line 11.)"""
    b = DomainA()
    b.submit()
    b.asked_id()
    assert b.asked_status().status is Status.QUEUING
    assert of(b.asked_try(hold_until=99), Try) == [Try("j", 99)]


@pytest.mark.parametrize("started", [YES, NO])
def test_trying_answers_yes_only_if_the_mate_was_started(started):
    """ "Function remote.tryStartMate(k) (line 12) invokes an additional scheduling iteration on the remote machine and
    returns True only if the mate job k gets started." """
    b = DomainA()
    b.submit()
    b.asked_id()
    assert of(b.asked_try(), Answer) == []  # not before the local scheduler has tried
    effects = b.feed(Tried("j", started))
    assert answered(effects) == MateTried(started)
    assert b.state() is (JobState.RUNNING if started else JobState.QUEUED)


def test_the_additional_iteration_starts_only_the_mate():
    """ "(The paper lets the extra iteration start other jobs too [...])"; "If so, k starts at once, and only k"
    (coscheduling.md)"""
    # At 100 A iterates first and asks for b2, behind b1 in the queue: b2 starts before b1 does.
    run = Replay(
        {"a9": (0, 100, 10), "a2": (5, 10, 10)},
        {"b9": (0, 100, 10), "b1": (3, 50, 6), "b2": (5, 10, 4)},
        [("a2", "b2")],
    )
    assert run.starts() == {"a9": 0, "a2": 100, "b9": 0, "b1": 100, "b2": 100}


def test_the_job_starts_with_its_mate():
    """ "If the mate job is started, the local job is also started (line 14)." """
    a = DomainA()
    a.run_job(Status.QUEUING)
    assert decided(a.reply(MateTried(YES))) == [Start]


@pytest.mark.parametrize(("scheme", "decision"), [(Scheme.HOLD, Hold), (Scheme.YIELD, Yield)])
@pytest.mark.parametrize("mate", [Status.QUEUING, Status.UNSUBMITTED])
def test_else_it_holds_or_yields(scheme, decision, mate):
    """ "If the mate job cannot run at this moment (including the unsubmitted case), the local job will either hold
    (line 17) or yield (line 20) according to the preconfigured local coscheduling scheme." """
    a = DomainA(scheme=scheme)
    effects = a.run_job(mate)
    if mate is Status.QUEUING:
        effects = a.reply(MateTried(NO))
    assert decided(effects) == [decision]


def test_held_nodes_are_busy():
    """ "Function self.holdJob(j, N) sets job j to holding status and marks the nodes N busy, not allowing another job
    to use them." """
    # a2 needs 7 nodes, of which a1 holds 1 from 0 to 50, and runs on until 150.
    run = Replay({"a1": (0, 100, 4), "a2": (10, 10, 7)}, {"b1": (50, 100, 4)}, [("a1", "b1")])
    assert run.times("a1", "holds") == [0]
    assert run.starts() == {"a1": 50, "b1": 50, "a2": 150}


def test_after_a_yield_other_jobs_are_tried():
    """ "Function self.yieldJob(j) invokes an additional local scheduling iteration to try to run other jobs."

    Mended: "The iteration goes on without it" """
    # a1 yields at 0; a2, behind it, gets all nodes at the same instant.
    run = Replay({"a1": (0, 100, 4), "a2": (0, 10, 10)}, {"b1": (50, 100, 4)}, [("a1", "b1")], scheme=Scheme.YIELD)
    assert run.times("a1", "yields")[0] == 0
    assert run.start("a2") == 0


def test_unknown_lets_it_start():
    """ "If the remote status is unknown, the algorithm continues to start the local job (line 26)." """
    assert decided(DomainA().run_job(Status.UNKNOWN)) == [Start]


@pytest.mark.parametrize("scheme", BOTH)
def test_it_does_not_wait_for_ever_for_a_machine_or_a_mate_that_is_down(scheme):
    """ "The algorithm is fault-tolerant: a job will not wait forever when the remote machine or its mate job is
    down." """
    # a1 waits from 0 on. The link is cut at 40 (or b1 cancelled), and a1's next RunJob is at 60 at the latest.
    a = {"a1": (0, 100, 4), "a2": (60, 1, 1)}  # the submission of a2 begins an iteration
    jobs = a, {"b9": (0, 10**6, 10), "b1": (1, 100, 4)}, [("a1", "b1")]
    down = ScriptedEvent(40, Action.CUT, "A", peer="B")
    run = Replay(*jobs, script=[down], scheme=scheme, release_interval=60)
    assert run.told("a1")[-2] == (60, "started: PeerUnreachable")
    cancelled = ScriptedEvent(40, Action.CANCEL, "B", row=1)
    run = Replay(*jobs, script=[cancelled], scheme=scheme, release_interval=60)
    assert run.told("a1")[-2] == (60, "started: its mate will not run: cancelled")


def test_a_machine_that_is_down_lets_the_job_start_at_once():
    """ "If the remote system is down, line 2 will return nothing so that the ready job will start immediately." """
    a = DomainA()
    a.ready()
    assert decided(a.fail(Failure.UNREACHABLE)) == [Start]


def test_a_mate_that_failed_alone_lets_the_job_start_normally():
    """ "If the mate job fails alone, the mate status will be returned as unknown (line 25)." "The ready job thus will
    start normally, too."

    Mended: "cancelled, failed, unknown | it will not run | j starts" """
    b = DomainA()
    b.run_job(Status.UNKNOWN)
    b.asked_id()
    b.finish(JobState.FAILED)
    status = b.asked_status().status
    assert status is Status.FAILED
    assert decided(DomainA().run_job(status)) == [Start]
