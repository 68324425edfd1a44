"""Patience with an unsubmitted mate (coscheduling.md): "up to `mate_patience` after its own submission"."""

import pytest

from cosched.core.effects import Call, ClearTimer, Reschedule, SetTimer, Start, Timer, Yield
from cosched.core.events import Answered, PatienceOver, ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import Failure, Found, GetMateJobId, MateJobId, MateTried, Status, TryStartMate
from cosched.core.settings import CoschedulingSettings, OnUnreachable, ReleaseOrder, Scheme
from tests.core.driver import MATE_IS_K, NO, DomainA, called, decided, of, timer, told
from tests.sim.core.replays import Replay

UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)
PAIR = [("a1", "b1")]


def waiting(state: str, **settings: object) -> DomainA:
    """j waits for an unsubmitted mate at 500, when its patience is about to end."""
    a = DomainA(scheme=Scheme.YIELD if state == "queued" else Scheme.HOLD, mate_patience=500, **settings)
    a.ready()
    if state != "ready":
        a.reply(UNSUBMITTED)
    a.now = 500
    return a


# mate_patience


def test_patience_begins_with_the_submission():
    """ "up to `mate_patience` after its own submission"; "Its expiry is a timer event" """
    a = DomainA(mate_patience=500)
    a.now = 20
    assert timer(a.submit(), Timer.PATIENCE) == 520


def test_without_patience_there_is_no_timer():
    """ "none in a replay" """
    assert CoschedulingSettings().mate_patience is None
    assert of(DomainA().submit(), SetTimer) == []


def test_a_queued_job_looks_again_when_its_patience_ends():
    a = waiting("queued")
    effects = a.feed(PatienceOver("j"))
    assert told(effects) == ["waits no longer for an unsubmitted mate"]
    assert of(effects, Reschedule) == [Reschedule("j")]
    a.ready()
    assert told(a.reply(UNSUBMITTED)) == ["started: patience ended"]


def test_a_holding_job_asks_once_more_when_its_patience_ends():
    """ "then start j alone and say so": if k is unsubmitted still, which the hold does not know."""
    a = waiting("holding")
    effects = a.feed(PatienceOver("j"))
    assert called(effects) == GetMateJobId("j", "j", None, "")
    effects = a.reply(UNSUBMITTED)
    assert (decided(effects), told(effects)) == ([Start], ["started: patience ended"])
    assert ClearTimer("j", Timer.RELEASE) in effects
    assert a.core.ledger.held_nodes == 0


def test_a_holding_job_whose_mate_was_submitted_meanwhile_holds_on():
    a = waiting("holding")
    a.feed(PatienceOver("j"))
    assert a.reply(MATE_IS_K) == []
    assert (a.state(), a.job().mate, a.awaited()) == (JobState.HOLDING, "k", None)


@pytest.mark.parametrize("failure", [Failure.UNREACHABLE, Failure.TIMEOUT])
@pytest.mark.parametrize(
    ("choice", "decision"), [(OnUnreachable.START, [Start]), (OnUnreachable.HOLD, []), (OnUnreachable.YIELD, [])]
)
def test_a_holding_job_whose_peer_cannot_be_reached_when_its_patience_ends(failure, choice, decision):
    """What holds already goes on holding, but for `on_peer_unreachable` = start."""
    a = waiting("holding", on_peer_unreachable=choice)
    a.feed(PatienceOver("j"))
    assert decided(a.fail(failure)) == decision
    assert a.awaited() is None


def test_a_holding_job_that_is_refused_when_its_patience_ends_holds_on():
    a = waiting("holding")
    a.feed(PatienceOver("j"))
    assert told(a.fail(Failure.REFUSED)) == ["was refused: misconfigured peer"]
    assert a.state() is JobState.HOLDING


def test_an_answer_after_the_hold_has_ended_is_ignored():
    a = waiting("holding")
    question = called(a.feed(PatienceOver("j")))
    a.feed(ReleaseDue("j"))
    assert a.feed(Answered("j", question, UNSUBMITTED)) == []
    assert a.state() is JobState.QUEUED


def test_a_holding_job_that_knows_its_mate_holds_on():
    a = DomainA(mate_patience=500)
    a.hold_or_yield()
    a.now = 500
    effects = a.feed(PatienceOver("j"))
    assert (decided(effects), of(effects, Call)) == ([], [])
    assert a.state() is JobState.HOLDING


def test_a_ready_job_whose_patience_ends_acts_on_the_answer():
    a = waiting("ready")
    assert decided(a.feed(PatienceOver("j"))) == []
    assert told(a.reply(UNSUBMITTED)) == ["started: patience ended"]


def test_when_patience_has_ended_a_submitted_mate_still_counts():
    a = waiting("queued")
    a.feed(PatienceOver("j"))
    assert type(called(a.run_job(Status.QUEUING))) is TryStartMate
    assert decided(a.reply(MateTried(NO))) == [Yield]


def test_when_patience_has_ended_no_pair_is_said_to_be_no_pair():
    a = waiting("queued")
    a.feed(PatienceOver("j"))
    a.ready()
    assert told(a.reply(MateJobId(Found.NO_PAIR, None))) == ["started: its mate's domain knows no such pair"]


def test_a_start_clears_the_patience_timer():
    assert ClearTimer("j", Timer.PATIENCE) in DomainA(mate_patience=500).run_job(Status.UNKNOWN)


def test_a_patience_that_was_set_is_ended_though_the_settings_have_none_any_more():
    a = DomainA(mate_patience=500)
    a.submit()
    a.configure(mate_patience=None)
    assert ClearTimer("j", Timer.PATIENCE) in a.finish(JobState.CANCELLED)


def test_no_timer_is_ended_where_none_was_ever_set():
    a = DomainA()
    started = a.run_job(Status.UNKNOWN)
    assert Start in map(type, started)
    assert ClearTimer not in map(type, [*started, *a.finish(JobState.COMPLETED)])


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_patience_on_a_machine(scheme):
    run = Replay({"a1": (5, 9, 4)}, {"b1": (3000, 9, 4)}, PAIR, scheme=scheme, mate_patience=700)
    assert run.starts() == {"a1": 705, "b1": 3000}
    assert (705, "started: patience ended") in run.told("a1")
    assert (3000, "started: its mate started before it: desynchronised") in run.told("b1")


def test_a_mate_submitted_in_time_is_waited_for():
    run = Replay({"a1": (5, 9, 4)}, {"b9": (0, 900, 8), "b1": (600, 9, 4)}, PAIR, mate_patience=700)
    assert run.starts() == {"a1": 900, "b9": 0, "b1": 900}


def test_a_job_submitted_while_its_mate_holds_becomes_wanted_at_the_next_call():
    """ "A job that is submitted while its mate holds becomes wanted at the holder's next call." """
    # b1 comes at 160, behind b2. a1's next call is at 1200, after its release. At 1300 B's b4 is released: b1 comes
    # before b2 if it is wanted.
    b = {"b4": (100, 50, 8), "b2": (101, 50, 8), "b1": (160, 50, 8)}
    jobs = {"a1": (0, 50, 4), "a4": (5000, 50, 4)}, b, [*PAIR, ("a4", "b4")]
    run = Replay(*jobs)
    tries = [line for line in run.lines if line[2:4] == ("a1", "TryStartMate")]
    assert [(now, detail["hold_until"]) for now, *_, detail in tries] == [(1200, 2400)]
    assert (run.start("b1"), run.start("a1")) == (1300, 1300)
    assert Replay(*jobs, release_order=ReleaseOrder.LAST).start("b2") == 1300
