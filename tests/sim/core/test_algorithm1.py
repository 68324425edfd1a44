"""Algorithm 1 (Tang et al. 2011, IV-C) line by line, with the sentences of its prose in quotes.

"Mended:" quotes coscheduling.md where it departs from a line, "Table:" its table of the mate's status.
"""

import pytest

from cosched.core import protocol
from cosched.core.effects import Call, Hold, Start, Yield
from cosched.core.events import ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, MateJobId, MateStarted, MateStatus, MateTried, StartJob, Status, TryStartMate
from cosched.core.settings import Scheme
from cosched_sim.script import Action, ScriptedEvent
from tests.core.driver import MATE_IS_K, NO, YES, DomainA, called, decided, of, told
from tests.sim.core.replays import Replay


def test_lines_1_and_2_ask_for_the_mates_id():
    """Input: A scheduled job j with assigned nodes N. 1 if cosched_enabled then; 2 k = remote.getMateJobId(j)

    "The core coscheduling algorithm extends the existing function in the traditional resource manager, which is invoked
    when a job is scheduled and ready to run." "“self.xyz” calls a local function, and “remote.xyz” calls a remote
    function on the remote machine."
    """
    a = DomainA()
    a.submit()
    assert a.state() is JobState.QUEUED  # nothing is asked before
    assert a.ready(nodes=7) == [Call("B", "j", protocol.GetMateJobId("j", "j", None, ""))]
    assert (a.state(), a.job().nodes) == (JobState.READY, 7)


def test_lines_3_and_4_ask_for_the_status_of_the_mate_that_was_found():
    """3 if k then; 4 mate_status = remote.getMateStatus(k)

    "If coscheduling is enabled and a valid mate is found, we will first get the status of the mate, based on which the
    job will act." "additional logic will be executed before the job can actually start."
    """
    a = DomainA()
    a.ready()
    assert a.reply(MATE_IS_K) == [Call("B", "j", protocol.GetMateStatus("k", "j"))]


def test_lines_5_to_9_start_both():
    """5 switch mate_status do; 6 case "holding"; 7 self.startJob(j, N); 8 remote.startJob(k); 9 endsw

    "If the remote job is in hold status, both jobs will be started immediately (lines 7 and 8)."
    Table: "holding | it has nodes and waits | `StartJob(k, generation)` there. When that is acknowledged, j starts."
    """
    a = DomainA()
    effects = a.run_job(Status.HOLDING, generation=3)
    assert (called(effects), decided(effects)) == (StartJob("A/j/1", "k", "j", 3, runs=0), [])
    effects = a.reply(MateStarted(YES))
    assert of(effects, Start) == [Start("j")]
    assert told(effects) == ["started: its holding mate started"]
    assert a.state() is JobState.RUNNING


def test_line_8_may_come_too_late():
    """8 remote.startJob(k)

    Mended: "If it is refused, the hold has ended: treat k as queuing"
    """
    a = DomainA()
    a.run_job(Status.HOLDING, generation=3)
    effects = a.reply(MateStarted(NO))
    assert called(effects) == TryStartMate("A/j/2", "k", "j", 1200, runs=0)
    assert decided(effects) == []
    assert decided(a.reply(MateTried(NO))) == [Hold]


def test_lines_10_and_12_try_to_start_a_queuing_mate():
    """10 case "queuing"; 12 mate_started = remote.tryStartMate(k)

    Table: "queuing | it waits without nodes | `TryStartMate(k)`. If k has started, j starts; else j holds or yields"
    """
    assert called(DomainA().run_job(Status.QUEUING)) == TryStartMate("A/j/1", "k", "j", 1200, runs=0)


def test_lines_8_and_12_say_how_many_runs_of_the_mate_are_known():
    """8 remote.startJob(k); 12 mate_started = remote.tryStartMate(k)

    Mended: "So both calls repeat how many runs the mate has begun, as it was told"
    """
    a = DomainA()
    a.ready()
    a.reply(MATE_IS_K)
    assert called(a.reply(MateStatus(Status.HOLDING, 3, None, runs=2))) == StartJob("A/j/1", "k", "j", 3, runs=2)
    assert called(a.reply(MateStarted(NO))) == TryStartMate("A/j/2", "k", "j", 1200, runs=2)


def test_lines_10_and_12_say_how_long_the_caller_will_hold():
    """12 mate_started = remote.tryStartMate(k)

    Mended: "the request carries `hold_until`, the instant until which the caller will hold if the answer is no
    (absent if it will yield; for ever with the timer off)"
    """
    for settings, hold_until in (({}, 1200), ({"release_interval": 0}, FOREVER), ({"scheme": Scheme.YIELD}, 0)):
        assert called(DomainA(**settings).run_job(Status.QUEUING)).hold_until == hold_until


def test_lines_10_and_12_do_not_promise_the_end_of_an_earlier_hold():
    a = DomainA()
    a.hold_or_yield()
    a.feed(ReleaseDue("j"))
    a.configure(scheme=Scheme.YIELD)
    assert called(a.run_job(Status.QUEUING)).hold_until == 0


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
@pytest.mark.parametrize("when", ["no job of that pair is known", "its status is unsubmitted"])
def test_line_11_does_not_call_for_an_unsubmitted_mate(scheme, when):
    """11 case "unsubmitted"

    Mended: "its submission is awaited | j holds or yields": there is no job whose start could be tried.
    """
    a = DomainA(scheme=scheme)
    if when == "its status is unsubmitted":
        effects = a.run_job(Status.UNSUBMITTED)
    else:
        a.ready()
        effects = a.reply(MateJobId(protocol.Found.UNSUBMITTED, None))
    assert (of(effects, Call), decided(effects)) == ([], [Hold if scheme is Scheme.HOLD else Yield])


def test_lines_13_to_15_start_with_the_mate():
    """13 if mate_started then; 14 self.startJob(j, N); 15 end

    "If the mate job is started, the local job is also started (line 14)."
    """
    for scheme in (Scheme.HOLD, Scheme.YIELD):
        a = DomainA(scheme=scheme)
        a.run_job(Status.QUEUING)
        effects = a.reply(MateTried(YES))
        assert (decided(effects), told(effects)) == ([Start], ["started: its mate could start"])
        assert a.state() is JobState.RUNNING


def test_lines_16_to_19_hold():
    """16 else; 17 if self.scheme == "hold" then; 18 self.holdJob(j, N); 19 end

    "If the mate job cannot run at this moment (including the unsubmitted case), the local job will either hold (line
    17) or yield (line 20) according to the preconfigured local coscheduling scheme."
    """
    a = DomainA(scheme=Scheme.HOLD)
    effects = a.hold_or_yield(nodes=7)
    assert (of(effects, Hold), decided(effects)) == ([Hold("j", 1200)], [Hold])
    assert a.state() is JobState.HOLDING
    assert a.core.ledger.held_nodes == 7


def test_lines_20_to_24_yield():
    """20 if self.scheme == "yield" then; 21 self.yieldJob(j); 22 end; 23 end; 24 endsw"""
    a = DomainA(scheme=Scheme.YIELD)
    effects = a.hold_or_yield()
    assert (of(effects, Yield), decided(effects)) == ([Yield("j", 1.0)], [Yield])
    assert a.state() is JobState.QUEUED
    assert a.core.ledger.held_nodes == 0


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
@pytest.mark.parametrize("status", [Status.CANCELLED, Status.FAILED, Status.UNKNOWN])
def test_lines_25_to_28_start_if_the_status_is_unknown(scheme, status):
    """25 case "unknown"; 26 self.startJob(j, N); 27 endsw; 28 endsw

    "If the remote status is unknown, the algorithm continues to start the local job (line 26)." "If the mate job fails
    alone, the mate status will be returned as unknown (line 25)." "The ready job thus will start normally, too."
    Table: "cancelled, failed, unknown | it will not run | j starts"
    """
    effects = DomainA(scheme=scheme).run_job(status)
    assert decided(effects) == [Start]
    assert told(effects) == [f"started: its mate will not run: {status}"]


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_lines_29_to_33_start_without_a_mate(scheme):
    """29 end; 30 else; 31 self.startJob(j, N); 32 end; 33 end

    "if coscheduling is not enabled or the mate job is not found, the ready job will start normally (lines 35 and 31,
    respectively), skipping the coscheduling logic."
    Mended: "no such pair, also if coscheduling is off there: then j starts"
    """
    a = DomainA(scheme=scheme)
    a.ready()
    effects = a.reply(MateJobId(protocol.Found.NO_PAIR, None))
    assert decided(effects) == [Start]
    assert of(effects, Call) == []
    assert told(effects) == ["started: its mate's domain knows no such pair"]


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_line_31_is_reached_too_if_line_2_returns_nothing(scheme):
    """30 else; 31 self.startJob(j, N)

    "If the remote system is down, line 2 will return nothing so that the ready job will start immediately."
    """
    a = DomainA(scheme=scheme)
    a.ready()
    assert decided(a.fail(protocol.Failure.UNREACHABLE)) == [Start]


def test_lines_34_to_36_start_at_once_if_disabled():
    """34 else; 35 self.startJob(j, N); 36 end"""
    a = DomainA(scheme=Scheme.OFF)
    effects = a.ready()
    assert (decided(effects), of(effects, Call)) == ([Start], [])
    assert a.state() is JobState.RUNNING


# What its prose says of whole machines


@pytest.mark.parametrize("a_scheme", [Scheme.HOLD, Scheme.YIELD])
@pytest.mark.parametrize("b_scheme", [Scheme.HOLD, Scheme.YIELD])
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


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_it_does_not_wait_for_ever_for_a_machine_or_a_mate_that_is_down(scheme):
    """ "The algorithm is fault-tolerant: a job will not wait forever when the remote machine or its mate job is
    down." """
    # a1 waits from 0 on. The link is cut at 40, and a1's next RunJob is at 60 at the latest; or b1 is cancelled at 40.
    a = {"a1": (0, 100, 4), "a2": (60, 1, 1)}  # the submission of a2 begins an iteration
    jobs = a, {"b9": (0, 10**6, 10), "b1": (1, 100, 4)}, [("a1", "b1")]
    for event, at, why in (
        (ScriptedEvent(40, Action.CUT, "A", peer="B"), 60, "PeerUnreachable"),
        (ScriptedEvent(40, Action.CANCEL, "B", row=1), 40, "its mate will not run: cancelled"),
    ):
        run = Replay(*jobs, script=[event], scheme=scheme, release_interval=60)
        assert run.told("a1")[-2] == (at, f"started: {why}")
