"""A job that has not started names another mate than before (coscheduling.md, Mates); nothing starts alone by it."""

import pytest

from cosched.core.effects import AskAgain, Call, ClearTimer, HasMate, Hold, Reschedule, SetTimer, Start, Timer
from cosched.core.events import Answered, Linked
from cosched.core.protocol import FOREVER, Found, GetMateJobId, MateJobId, MateProblem, MateStatus, Status, named_mate
from cosched.core.settings import Scheme

from .driver import DomainA, called, decided, detail, of

RELINKED = Linked("j", named_mate("B", "twice"))
UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)


def test_a_queued_job_takes_another_mate_and_says_which_it_had():
    a = DomainA(mate_patience=500)
    a.submit(pair="tvice")
    a.now = 20
    effects = a.feed(RELINKED)
    assert detail(effects, "is linked")["was"] == "tvice@B"
    assert effects[2:] == [HasMate("j"), SetTimer("j", Timer.PATIENCE, 520), Reschedule("j")]
    assert a.asked_id("k", pair="twice") == MateJobId(Found.MATE, "j")
    assert a.asked_id("k2", pair="tvice") == UNSUBMITTED


def test_a_job_that_keeps_its_mate_says_only_whether_it_would_start_alone(a):
    a.submit(pair="twice")
    for or_alone in (True, False):
        told = detail(a.feed(Linked("j", named_mate("B", "twice", None, or_alone))), "is linked")
        assert (told["or_alone"], "was" in told) == (or_alone, False)


def test_a_holding_job_asks_for_its_new_mate_with_its_nodes():
    a = DomainA(release_interval=1200)
    a.ready()
    a.reply(UNSUBMITTED)
    a.now = 30
    effects = a.feed(RELINKED)
    assert decided(effects) == []
    assert effects[2:] == [
        HasMate("j"), ClearTimer("j", Timer.RELEASE), AskAgain("j"),
        Call("B", "j", GetMateJobId("j", "twice", None, "")),
    ]  # fmt: skip
    assert decided(a.reply(UNSUBMITTED)) == [Hold]
    assert a.job().held_until == 1200, "the hold is no longer for it"


def test_a_ready_job_asks_for_its_new_mate_and_hears_no_more_of_the_old_one(a):
    asked = called(a.ready())
    assert of(a.feed(RELINKED), Call) == [Call("B", "j", GetMateJobId("j", "twice", None, ""))]
    assert a.feed(Answered("j", asked, UNSUBMITTED)) == []
    assert decided(a.reply(UNSUBMITTED)) == [Hold]


def test_a_job_that_would_be_lost_with_its_nodes_keeps_them_for_its_new_mate():
    a = DomainA(scheme=Scheme.YIELD)
    a.submit(pair="tvice")
    a.feed_ready_that_cannot_yield()
    a.reply(UNSUBMITTED)
    a.feed(RELINKED)
    assert decided(a.reply(UNSUBMITTED)) == [Hold]
    assert a.asked_id("k", pair="twice") == MateJobId(Found.MATE, "j")
    assert decided(a.asked_start(a.job().generation)) == [Start]


def test_the_old_mate_may_neither_start_the_job_nor_ask_for_it(a):
    a.submit(pair="tvice")
    a.asked_id("old", pair="tvice")
    a.ready()
    a.reply(MateJobId(Found.MATE, "old"))
    a.feed(RELINKED)
    assert a.asked_status(caller="old").status is Status.UNKNOWN
    assert decided(a.asked_try(caller="old")) == []
    assert a.asked_id("old", pair=None, mate="j") == MateJobId(Found.NO_PAIR, None, MateProblem.NAMES_PAIR)


def test_what_was_said_of_the_mate_before_is_forgotten():
    a = DomainA(on_mate_unknown="wait", mate_patience=500)
    a.ready()
    a.reply(MateJobId(Found.NO_PAIR, None, MateProblem.TAKEN))
    assert a.job().problem == MateProblem.TAKEN
    a.feed(RELINKED)
    assert a.job().problem == ""


@pytest.mark.parametrize("status", [Status.QUEUING, Status.HOLDING])
def test_a_new_mate_is_asked_as_ever(a, status):
    a.ready(hold_limit=FOREVER)
    a.reply(UNSUBMITTED)
    a.feed(RELINKED)
    a.reply(MateJobId(Found.MATE, "k"))
    assert called(a.reply(MateStatus(status, 1, None))).job == "k"
