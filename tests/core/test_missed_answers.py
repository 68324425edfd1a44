"""Nobody holds on because an answer was missed, though the peer is there (coscheduling.md, Absence)."""

import pytest

from cosched.core import protocol
from cosched.core.allocation import Allocation
from cosched.core.effects import AskAgain, Call, Hold, Timer
from cosched.core.events import Answered, CallFailed, PatienceOver, PeerAway, PeerThere, Ready, RetryDue, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Found, GetMateJobId, GetMember, MateJobId, MateStatus, Status, named_group
from cosched.core.settings import OnUnreachable

from .absence import BUSY, GONE, asking, known
from .driver import DomainA, called, decided, of, timer


def of_group(**settings: object) -> tuple[DomainA, GetMember, GetMember]:
    """Domain A, whose job j of a group asks B and C; what it asks them."""
    a = known(**settings)
    a.feed(Submitted("j", named_group("g", ("B", "C"))))
    a.feed(Ready("j", Allocation(4), FOREVER))
    return a, *(a.job().group.asked[peer] for peer in "BC")


def test_a_peer_that_is_back_before_the_others_have_answered_is_asked_again():
    a, of_b, of_c = of_group(on_peer_unreachable=OnUnreachable.HOLD)
    a.feed(CallFailed("j", of_b, GONE, "B"))
    a.feed(PeerThere("B"))
    effects = a.feed(Answered("j", of_c, MateJobId(Found.UNSUBMITTED, None), "C"))
    assert decided(effects) == [Hold]
    a.now = timer(effects, Timer.RETRY)
    assert [call.peer for call in of(a.feed(RetryDue("j")), Call)] == ["B", "C"]


def test_a_job_that_holds_since_its_peer_was_busy_asks_again_after_a_restart():
    a = asking(GetMateJobId)
    a.now = a.core.settings.peer_patience
    assert decided(a.fail(BUSY)) == [Hold]
    effects = known().core.recover(a.job(), 0, a.now)
    assert a.state() is JobState.READY
    assert not of(effects, AskAgain)  # its scheduler does not know it yet, and is told of a job that is ready
    assert isinstance(called(effects), GetMateJobId)


@pytest.mark.parametrize(
    "events",
    [[RetryDue("j")], [PeerAway("B"), PeerThere("B")], [PatienceOver("j")]],
    ids=["time to ask again", "the peer is back", "patience is over"],
)
def test_a_job_that_may_not_ask_since_it_is_booked_asks_when_that_is_over(events):
    a, of_b, of_c = of_group()
    a.feed(Answered("j", of_c, MateJobId(Found.MATE, "k"), "C"))
    a.feed(Answered("j", a.job().group.asked["C"], MateStatus(Status.QUEUING, 0, None), "C"))
    a.now = a.core.settings.peer_patience
    assert decided(a.feed(CallFailed("j", of_b, BUSY, "B"))) == [Hold]
    a.ask(protocol.ProposeGroupStart("C/k/1", "j", "k", 0, 60), "C")
    assert [of(a.feed(event), Call) for event in events] == [[] for _ in events]
    effects = a.ask(protocol.SettleGroupStart("C/k/1", "j", "k", start=False), "C")
    assert [call.peer for call in of(effects, Call)] == ["B", "C"]
    assert a.state() is JobState.READY
