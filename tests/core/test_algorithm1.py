"""Algorithm 1 (Tang et al. 2011, IV-C), line by line. "Mended:" quotes coscheduling.md where it departs from a line."""

import pytest

from cosched.core.effects import Call, Hold, Start, Yield
from cosched.core.events import ReleaseDue, Tried
from cosched.core.job import JobState
from cosched.core.protocol import (
    FOREVER,
    Failure,
    Found,
    GetMateJobId,
    GetMateStatus,
    MateJobId,
    MateStarted,
    MateTried,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.core.settings import Scheme

from .driver import MATE_IS_K, NO, YES, DomainA, answered, called, decided, of, told


def test_lines_1_and_2_ask_for_the_mates_id():
    """1 if cosched_enabled then; 2 k = remote.getMateJobId(j)"""
    a = DomainA()
    effects = a.ready()
    assert effects == [Call("B", "j", GetMateJobId("j", "j", None, ""))]
    assert a.state() is JobState.READY


def test_the_input_is_a_job_with_its_nodes():
    """Input: A scheduled job j with assigned nodes N"""
    a = DomainA()
    a.ready(nodes=7)
    assert a.job().nodes == 7


@pytest.mark.parametrize(
    ("scheme", "answer", "decision"),
    [(Scheme.HOLD, YES, Start), (Scheme.HOLD, NO, Hold), (Scheme.YIELD, NO, Yield)],
)
def test_the_result_is_a_start_a_hold_or_a_yield(scheme, answer, decision):
    """Result: Job j either starts, or holds, or yields."""
    a = DomainA(scheme=scheme)
    a.run_job(Status.QUEUING)
    assert decided(a.reply(MateTried(answer))) == [decision]


def test_the_result_may_be_a_start_of_the_mate():
    """Its remote mate job k , if existing, could be triggered to start under certain condition."""
    b = DomainA(scheme=Scheme.YIELD)
    b.submit()
    b.asked_id()
    b.asked_try()
    assert answered(b.feed(Tried("j", YES))) == MateTried(YES)
    assert b.state() is JobState.RUNNING


def test_lines_3_and_4_ask_for_the_status_of_the_mate_that_was_found():
    """3 if k then; 4 mate_status = remote.getMateStatus(k)"""
    a = DomainA()
    a.ready()
    assert a.reply(MATE_IS_K) == [Call("B", "j", GetMateStatus("k", "j"))]


@pytest.mark.parametrize(
    ("status", "next_step"),
    [
        (Status.HOLDING, StartJob),
        (Status.QUEUING, TryStartMate),
        (Status.UNSUBMITTED, Hold),
        (Status.UNKNOWN, Start),
    ],
)
def test_line_5_acts_by_the_status(status, next_step):
    """5 switch mate_status do"""
    effects = DomainA().run_job(status, generation=1)
    if next_step in (Start, Hold):
        assert decided(effects) == [next_step]
    else:
        assert type(called(effects)) is next_step


def test_lines_6_to_9_start_both():
    """6 case "holding"; 7 self.startJob(j, N); 8 remote.startJob(k); 9 endsw

    Mended: "`StartJob(k, generation)` there. When that is acknowledged, j starts."
    """
    a = DomainA()
    effects = a.run_job(Status.HOLDING, generation=3)
    assert called(effects) == StartJob("A/j/1", "k", "j", 3)
    assert decided(effects) == []
    effects = a.reply(MateStarted(YES))
    assert decided(effects) == [Start]
    assert a.state() is JobState.RUNNING


def test_line_8_may_come_too_late():
    """8 remote.startJob(k)

    Mended: "If it is refused, the hold has ended: treat k as queuing"
    """
    a = DomainA()
    a.run_job(Status.HOLDING, generation=3)
    effects = a.reply(MateStarted(NO))
    assert called(effects) == TryStartMate("A/j/2", "k", "j", 1200)
    assert decided(effects) == []


def test_lines_10_and_12_try_to_start_a_queuing_mate():
    """10 case "queuing"; 12 mate_started = remote.tryStartMate(k)"""
    assert called(DomainA().run_job(Status.QUEUING)) == TryStartMate("A/j/1", "k", "j", 1200)


def test_lines_10_and_12_say_how_long_the_caller_will_hold():
    """12 mate_started = remote.tryStartMate(k)

    Mended: "the request carries `hold_until`, the instant until which the caller will hold if the answer is no
    (absent if it will yield; for ever with the timer off)"
    """
    for settings, hold_until in (
        ({}, 1200),
        ({"release_interval": 0}, FOREVER),
        ({"scheme": Scheme.YIELD}, 0),
    ):
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
        effects = a.reply(MateJobId(Found.UNSUBMITTED, None))
    assert of(effects, Call) == []
    assert decided(effects) == [Hold if scheme is Scheme.HOLD else Yield]


def test_lines_13_to_15_start_with_the_mate():
    """13 if mate_started then; 14 self.startJob(j, N); 15 end"""
    a = DomainA()
    a.run_job(Status.QUEUING)
    assert decided(a.reply(MateTried(YES))) == [Start]
    assert a.state() is JobState.RUNNING


def test_lines_16_to_19_hold():
    """16 else; 17 if self.scheme == "hold" then; 18 self.holdJob(j, N); 19 end"""
    a = DomainA(scheme=Scheme.HOLD)
    effects = a.hold_or_yield(nodes=7)
    assert of(effects, Hold) == [Hold("j", 1200)]
    assert decided(effects) == [Hold]
    assert a.state() is JobState.HOLDING
    assert a.core.ledger.held_nodes == 7


def test_lines_20_to_24_yield():
    """20 if self.scheme == "yield" then; 21 self.yieldJob(j); 22 end; 23 end; 24 endsw"""
    a = DomainA(scheme=Scheme.YIELD)
    effects = a.hold_or_yield()
    assert of(effects, Yield) == [Yield("j", 1.0)]
    assert decided(effects) == [Yield]
    assert a.state() is JobState.QUEUED
    assert a.core.ledger.held_nodes == 0


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_lines_25_to_28_start_if_the_status_is_unknown(scheme):
    """25 case "unknown"; 26 self.startJob(j, N); 27 endsw; 28 endsw"""
    a = DomainA(scheme=scheme)
    assert decided(a.run_job(Status.UNKNOWN)) == [Start]


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_lines_29_to_33_start_without_a_mate(scheme):
    """29 end; 30 else; 31 self.startJob(j, N); 32 end; 33 end

    Mended: "no such pair, also if coscheduling is off there: then j starts"
    """
    a = DomainA(scheme=scheme)
    a.ready()
    effects = a.reply(MateJobId(Found.NO_PAIR, None))
    assert decided(effects) == [Start]
    assert told(effects) == ["started: its mate's domain knows no such pair"]


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_line_31_is_reached_too_if_line_2_returns_nothing(scheme):
    """30 else; 31 self.startJob(j, N)

    "If the remote system is down, line 2 will return nothing so that the ready job will start immediately."
    """
    a = DomainA(scheme=scheme)
    a.ready()
    assert decided(a.fail(Failure.UNREACHABLE)) == [Start]


def test_lines_34_to_36_start_at_once_if_disabled():
    """34 else; 35 self.startJob(j, N); 36 end"""
    a = DomainA(scheme=Scheme.OFF)
    effects = a.ready()
    assert decided(effects) == [Start]
    assert of(effects, Call) == []
    assert a.state() is JobState.RUNNING
