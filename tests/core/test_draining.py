"""A domain that drains makes no holds and no pairs; what holds is settled first, and its peers hold nothing in vain.

Issue 10: "`cosched drain`/`resume`: no new holds or pairs, what holds is settled first".
"""

import pytest

from cosched.core.coscheduling.peers import MAX_ABSENCE
from cosched.core.effects import AskAgain, Call, Hold, Reschedule, Start, Timer, Yield
from cosched.core.events import Drained, PeerDrains, PeerLeaves, ReleaseDue, Resumed, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import MateStarted, MateStatus, MateTried, Status
from cosched.core.settings import Scheme

from .driver import MATE_IS_K, NO, YES, DomainA, answered, decided, of, timer, told

SETTLED_BY = 60


def drained(a: DomainA) -> list:
    return a.feed(Drained(SETTLED_BY))


# This domain


def test_a_job_that_gets_ready_yields_without_a_question():
    a = DomainA(scheme=Scheme.HOLD)
    drained(a)
    effects = a.ready()
    assert told(effects)[-1] == "yields: Draining"
    assert of(effects, Call) == []


def test_a_job_without_a_mate_goes_on_as_usual(a):
    a.feed(Submitted("i"))
    drained(a)
    assert decided(a.ready("i")) == [Start]


def test_a_queued_job_is_not_started_for_a_peer(a):
    a.submit()
    a.asked_id()
    drained(a)
    assert answered(a.asked_try()) == MateTried(NO)
    assert a.state() is JobState.QUEUED


def test_what_holds_asks_once_more(a):
    """ "what holds is settled first" """
    a.hold_or_yield()
    assert AskAgain("j") in drained(a)
    a.reply_that_its_mate_queues()
    assert decided(a.reply(MateTried(YES))) == [Start]


def test_what_holds_does_so_until_the_bound_and_is_given_back_then(a):
    """ "a mate that can come may still come within a bound; else the hold is given back" """
    a.hold_or_yield()
    drained(a)
    a.reply_that_its_mate_queues()
    effects = a.reply(MateTried(NO))
    assert (decided(effects), timer(effects, Timer.RELEASE)) == ([Hold], SETTLED_BY)
    a.asked_id()
    assert decided(a.asked_start(a.job().generation)) == [Start]


def test_a_hold_that_is_given_back_is_not_taken_again(a):
    a.hold_or_yield()
    drained(a)
    a.reply_that_its_mate_queues()
    a.reply(MateTried(NO))
    a.now = SETTLED_BY
    assert told(a.feed(ReleaseDue("j"))) == ["is released"]
    assert decided(a.ready()) == [Yield]


def test_a_job_that_asked_before_may_start_but_does_not_hold(a):
    a.run_job(Status.QUEUING)
    drained(a)
    assert told(a.reply(MateTried(NO))) == ["yields: Draining"]


def test_a_job_that_would_be_lost_with_its_nodes_holds_on(a):
    a.hold_or_yield()
    a.job().cannot_yield = True
    drained(a)
    a.reply_that_its_mate_queues()
    assert decided(a.reply(MateTried(NO))) == [Hold]
    a.now = SETTLED_BY
    assert told(a.feed(ReleaseDue("j"))) == ["holds on"]


def test_it_holds_again_once_it_is_resumed(a):
    drained(a)
    a.ready()
    a.now = 1
    assert Reschedule("j") in a.feed(Resumed())
    assert decided(a.hold_or_yield()) == [Hold]


# Its peers


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
def test_nobody_holds_for_a_peer_that_drains(scheme):
    """ "peers know that the domain drains so that they do not hold nodes for it in vain" """
    a = DomainA(scheme=scheme)
    a.feed(PeerDrains("B", 100))
    assert told(a.hold_or_yield())[-1] == "yields: PeerDraining"
    a.now = 100
    assert decided(a.hold_or_yield()) == [Hold if scheme is Scheme.HOLD else Yield]


def test_of_a_drained_peer_that_has_left_it_is_told_that_it_is_away():
    a = DomainA(peer_grace=120)
    a.feed(PeerDrains("B", 100))
    a.feed(PeerLeaves("B", 100))
    assert told(a.ready())[-1] == "yields: PeerAway"


def test_who_holds_for_it_asks_again_and_gives_its_nodes_back(a):
    a.hold_or_yield()
    assert AskAgain("j") in a.feed(PeerDrains("B", 100))
    a.reply_that_its_mate_queues()
    assert decided(a.reply(MateTried(NO))) == [Yield]


def test_a_mate_that_holds_at_it_still_comes(a):
    a.feed(PeerDrains("B", 100))
    a.ready()
    a.reply(MATE_IS_K)
    a.reply(MateStatus(Status.HOLDING, 1, None))
    assert decided(a.reply(MateStarted(YES))) == [Start]


def test_its_mates_are_considered_again_when_it_is_resumed(a):
    a.feed(PeerDrains("B", 100))
    a.hold_or_yield()
    assert Reschedule("j") in a.feed(PeerDrains("B", 0))
    a.now = 1
    assert decided(a.hold_or_yield()) == [Hold]


def test_whatever_it_says_there_is_a_bound(a):
    a.feed(PeerDrains("B", 10**9))
    a.now = MAX_ABSENCE
    assert decided(a.hold_or_yield()) == [Hold]
