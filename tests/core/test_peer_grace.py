"""A peer that was there and is away has a grace: its mates wait, ask again, then act as `on_peer_unreachable` says.

Issue 10: "A peer that was there and does not answer gets `peer_grace` (default 2 min) before `on_peer_unreachable`
applies; a service that stops says goodbye, and its peers wait; a busy peer (RESOURCE_EXHAUSTED, slow) is alive."
"""

import pytest

from cosched.core.coscheduling.peers import MAX_ABSENCE
from cosched.core.effects import AskAgain, Call, Hold, Reschedule, SetTimer, Start, Timer, Yield
from cosched.core.events import GraceOver, PeerAway, PeerLeaves, PeerThere, ReleaseDue, RetryDue
from cosched.core.job import JobState
from cosched.core.protocol import GetMateJobId, MateStarted, MateTried, StartJob, Status, TryStartMate
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme

from .absence import BUSY, GONE, GRACE, LATE, SLOW, asking, known, waiting
from .driver import MATE_IS_K, NO, YES, DomainA, called, decided, detail, of, timer, told

SCHEMES = [(Scheme.HOLD, Hold), (Scheme.YIELD, Yield)]
CHOICES = [(OnUnreachable.START, Start), (OnUnreachable.HOLD, Hold), (OnUnreachable.YIELD, Yield)]
ORDERS = [(TryStartMate, MateTried(YES)), (StartJob, MateStarted(YES))]


# Before the grace is over


def test_a_replay_has_no_grace_unless_it_is_given_one():
    """ "A replay keeps the paper's rule, no grace, unless it is set." """
    assert CoschedulingSettings().peer_grace == 0
    assert told(asking(GetMateJobId, peer_grace=0).fail(GONE)) == ["started: PeerUnreachable"]


def test_a_peer_that_never_was_there_has_no_grace():
    a = DomainA(peer_grace=GRACE)
    a.ready()
    effects = a.fail(GONE)
    assert told(effects) == ["started: PeerUnreachable"]
    assert "away_s" not in detail(effects, "started")


@pytest.mark.parametrize(("scheme", "decision"), SCHEMES)
@pytest.mark.parametrize("kind", [GetMateJobId, TryStartMate, StartJob])
def test_a_ready_job_holds_or_yields_meanwhile(kind, scheme, decision):
    a = asking(kind, scheme=scheme)
    a.now = 10
    effects = a.fail(GONE)
    assert decided(effects) == [decision]
    assert told(effects)[-1].endswith("PeerAway")
    assert timer(effects, Timer.GRACE) == 10 + GRACE


def test_an_answer_shows_that_a_peer_was_there():
    a = DomainA(peer_grace=GRACE)
    a.ready()
    a.reply(MATE_IS_K)
    assert decided(a.fail(GONE)) == [Hold]


@pytest.mark.parametrize(("scheme", "decision"), SCHEMES)
def test_a_job_that_gets_ready_meanwhile_waits_without_a_question(scheme, decision):
    a = waiting(scheme)
    a.now = 50
    effects = a.ready("i")
    assert (decided(effects), of(effects, Call)) == ([decision], [])


def test_the_cap_holds_meanwhile():
    """ "a ready one holds or yields within the usual rules" """
    a = waiting()
    a.configure(max_held_fraction=0, peer_grace=GRACE)
    assert decided(a.ready("i")) == [Yield]


def test_a_hold_is_released_in_time_meanwhile():
    """ "A hold never outlives its release interval." """
    a = waiting(release_interval=60)
    a.now = 70
    assert told(a.feed(ReleaseDue("j"))) == ["is released"]
    effects = a.ready()  # the nodes are still free
    assert (decided(effects), timer(effects, Timer.RELEASE)) == ([Hold], 130)


@pytest.mark.parametrize(("kind", "answer"), ORDERS)
def test_a_call_whose_outcome_is_unknown_is_repeated_with_its_id_as_long_as_the_grace_lasts(kind, answer):
    a = asking(kind, peer_patience=30, retry_interval=7)
    request = a.awaited()
    for a.now in (10, 50, 129):
        effects = a.fail(LATE)
        assert (decided(effects), timer(effects, Timer.RETRY)) == ([], a.now + 7)
        assert a.feed(RetryDue("j")) == [Call("B", "j", request)]
    assert decided(a.reply(answer)) == [Start]


@pytest.mark.parametrize("kind", [TryStartMate, StartJob])
def test_a_call_whose_outcome_is_unknown_is_given_up_after_the_grace(kind):
    a = asking(kind, peer_patience=30)
    a.now = 10
    a.fail(LATE)
    a.now = 130
    effects = a.fail(LATE)
    assert told(effects) == ["started: PeerUnreachable"]
    assert detail(effects, "started")["away_s"] == GRACE


# The peer is back


def test_a_holding_job_asks_again_at_once_when_the_peer_is_back():
    """ "they go on at once when the peer is back" """
    a = waiting()
    a.now = 40
    effects = a.feed(PeerThere("B"))
    assert AskAgain("j") in effects
    assert type(called(effects)) is GetMateJobId
    assert (a.state(), a.core.ledger.held_nodes) == (JobState.READY, 0)
    a.reply_that_its_mate_queues()
    assert decided(a.reply(MateTried(YES))) == [Start]


def test_a_hold_that_goes_on_ends_when_it_would_have_ended():
    a = waiting(release_interval=60)
    a.now = 40
    a.feed(PeerThere("B"))
    a.reply_that_its_mate_queues()
    assert a.awaited().hold_until == 70
    assert timer(a.reply(MateTried(NO)), Timer.RELEASE) == 70
    assert a.job().generation == 2  # another hold for those who were told of the first


def test_a_hold_that_would_have_ended_does_not_go_on():
    a = waiting(release_interval=60)
    a.now = 69
    a.feed(PeerThere("B"))
    a.reply_that_its_mate_queues()
    a.now = 70
    assert decided(a.reply(MateTried(NO))) == [Yield]


def test_a_job_that_yielded_is_considered_again_at_once_when_the_peer_is_back():
    assert Reschedule("j") in waiting(Scheme.YIELD).feed(PeerThere("B"))


def test_who_has_missed_no_answer_holds_on_when_the_peer_is_back():
    a = known()
    a.hold_or_yield()
    a.feed(PeerAway("B"))
    a.feed(PeerThere("B"))
    assert (a.state(), a.job().generation) == (JobState.HOLDING, 1)


def test_an_answer_to_another_job_shows_that_the_peer_is_back():
    a = known()
    a.ready("i")
    a.ready("j")
    a.fail(GONE, "j")
    assert AskAgain("j") in a.reply(MATE_IS_K, "i")


def test_a_mate_that_asks_meanwhile_is_answered():
    """Calls cross: the mate is ready too, and may be the first to ask."""
    a = waiting()
    a.asked_id()
    a.feed(PeerThere("B"))
    status = a.asked_status()
    assert status.status is Status.HOLDING
    assert decided(a.asked_start(status.generation)) == [Start]


# The grace is over


@pytest.mark.parametrize(("choice", "decision"), CHOICES)
@pytest.mark.parametrize("missed", [True, False])
def test_when_the_grace_is_over_holding_jobs_ask_once_more(choice, decision, missed):
    """ "When the grace is over they act as on_peer_unreachable says, and the record says so." """
    a = waiting(on_peer_unreachable=choice) if missed else known(on_peer_unreachable=choice)
    if not missed:
        a.hold_or_yield()
        a.now = 10
        a.feed(PeerAway("B"))
    a.now = 10 + GRACE
    assert AskAgain("j") in a.feed(GraceOver("B"))
    effects = a.fail(GONE)
    assert decided(effects) == [decision]
    if choice is OnUnreachable.START:
        assert detail(effects, "started") == {"why": "PeerUnreachable", "away_s": GRACE}


def test_when_the_grace_is_over_queued_jobs_are_considered_and_start_alone():
    a = waiting(Scheme.YIELD)
    a.now = 10 + GRACE
    assert Reschedule("j") in a.feed(GraceOver("B"))
    a.ready()
    assert told(a.fail(GONE)) == ["started: PeerUnreachable"]


def test_the_end_of_a_grace_of_a_peer_that_is_back_means_nothing():
    a = waiting()
    a.feed(PeerThere("B"))
    assert a.feed(GraceOver("B")) == []


def test_a_grace_runs_from_the_first_unanswered_call():
    a = waiting()
    a.now = 100
    assert a.feed(PeerAway("B")) == []  # it is known
    assert a.core.peers.grace_end("B") == 10 + GRACE


def test_a_restart_lengthens_no_grace():
    """ "however often we restart the grace runs from when the peer was last known to be there" """
    a, again = waiting(), DomainA(peer_grace=GRACE)
    again.now = 100
    effects = again.core.asking.recover_peer("B", a.core.peers.known["B"])
    assert effects == [SetTimer("B", Timer.GRACE, 10 + GRACE)]
    again.now = 10 + GRACE
    again.ready()
    assert told(again.fail(GONE)) == ["started: PeerUnreachable"]


# Goodbye


@pytest.mark.parametrize(("back_by", "end"), [(0, 10 + GRACE), (7200, 7200), (10**9, 10 + MAX_ABSENCE)])
def test_a_peer_that_says_goodbye_is_away_from_then_on_and_waited_for_as_it_says(back_by, end):
    """Whatever it says, there is a bound."""
    a = known()
    a.now = 10
    assert timer(a.feed(PeerLeaves("B", back_by)), Timer.GRACE) == end
    effects = a.ready()
    assert (decided(effects), of(effects, Call)) == ([Hold], [])


def test_an_answer_that_was_under_way_does_not_undo_a_goodbye():
    a = asking(GetMateJobId)
    a.feed(PeerLeaves("B"))
    a.reply(MATE_IS_K)
    assert decided(a.fail(GONE)) == [Hold]
    assert a.core.peers.expects("B", a.now)
    assert AskAgain("j") in a.feed(PeerThere("B"))
    assert not a.core.peers.expects("B", a.now)


def test_the_grace_of_a_replay_is_none_though_its_peer_says_goodbye(a):
    assert a.feed(PeerLeaves("B", 7200)) == []
    a.ready()
    assert decided(a.fail(GONE)) == [Start]


# Busy peers


@pytest.mark.parametrize("grace", [0, GRACE])
def test_a_busy_peer_is_asked_again(grace):
    """ "a busy peer (RESOURCE_EXHAUSTED, slow) is alive" """
    a = asking(GetMateJobId, peer_grace=grace)
    effects = a.fail(BUSY)
    assert (decided(effects), timer(effects, Timer.RETRY)) == ([], 1)
    assert type(called(a.feed(RetryDue("j")))) is GetMateJobId


@pytest.mark.parametrize("grace", [0, GRACE])
@pytest.mark.parametrize(("scheme", "decision"), SCHEMES)
def test_nobody_starts_alone_because_a_peer_is_busy(scheme, decision, grace):
    a = asking(GetMateJobId, scheme=scheme, peer_grace=grace, peer_patience=30)
    a.now = 30
    effects = a.fail(BUSY)
    assert decided(effects) == [decision]
    assert told(effects)[-1].endswith("PeerBusy")
    if decision is Hold:
        assert timer(effects, Timer.RETRY) == 60
        assert AskAgain("j") in a.feed(RetryDue("j"))


@pytest.mark.parametrize("grace", [0, GRACE])
@pytest.mark.parametrize(("kind", "answer"), ORDERS)
def test_a_slow_peer_is_asked_again_for_as_long_as_it_is_alive(kind, answer, grace):
    a = asking(kind, peer_grace=grace, peer_patience=30)
    for a.now in (10, 1000, 100_000):
        effects = a.fail(SLOW)
        assert (decided(effects), timer(effects, Timer.RETRY)) == ([], a.now + 1)
    assert decided(a.reply(answer)) == [Start]


def test_an_outcome_stays_unknown_though_the_peer_is_too_busy_for_the_retry():
    a = asking(StartJob, peer_patience=30)
    a.fail(SLOW)
    a.now = 100
    assert decided(a.fail(BUSY)) == []
    assert a.state() is JobState.READY


def test_a_busy_peer_is_there():
    a = asking(GetMateJobId)
    a.ready("i")
    a.fail(GONE, "i")
    assert AskAgain("i") in a.fail(BUSY, "j")
