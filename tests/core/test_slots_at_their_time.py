"""What becomes of slots (meet.md, Slots): both start, the slot is dropped, or the domain starts again."""

import pytest

from cosched.core.coscheduling.asked_early import MOST
from cosched.core.effects import (
    Call,
    Claim,
    ClearTimer,
    Hold,
    Quote,
    Reschedule,
    SetTimer,
    Start,
    Timer,
    Unbook,
    Want,
    Yield,
)
from cosched.core.events import Drained, Finished, Linked, NodesLost, RetryDue, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import (
    Failure,
    MateName,
    MateStarted,
    MateTried,
    Proposed,
    ProposeStart,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.core.settings import OnUnreachable, Scheme

from .driver import NO, YES, answered, called, decided, of, timer, told
from .meeting_driver import PATIENCE, SLOT, Meeting, dropped

# At the slot


def test_at_the_slot_both_start():
    """ "Due: at the slot (a timer) both start." """
    a = Meeting().has_slot()
    assert a.due() == [Claim("j")]
    assert called(a.claimed()) == StartJob("A/j/4", "k", "j", 0, None, 1)
    assert a.state() is JobState.READY
    effects = a.reply(MateStarted(YES))
    assert (decided(effects), told(effects)[0], a.job().slot) == ([Start], "started: at its slot", None)


@pytest.mark.parametrize("here", [True, False])
def test_nodes_that_are_not_free_at_the_slot_are_awaited_for_a_while(here):
    a = Meeting().has_slot()

    def not_free():
        if here:
            return a.claimed(NO)
        a.claimed()
        return a.reply(MateStarted(NO))

    for waited in range(PATIENCE):
        a.due()
        assert timer(not_free(), Timer.SLOT) == SLOT + waited + 1
        assert a.state() is JobState.QUEUED
        a.now += 1
    a.due()
    effects = not_free()
    assert (dropped(effects), of(effects, Reschedule), a.job().slot) == ([1], [Reschedule("j")], None)


def test_a_job_that_is_ready_by_itself_at_its_slot_has_that_answered_first():
    a = Meeting().has_slot()
    a.now = SLOT
    a.ready()
    assert a.due() == [SetTimer("j", Timer.SLOT, SLOT + 1)]
    a.reply_that_its_mate_queues()
    assert decided(a.reply(MateTried(YES))) == [Start]


def test_a_job_that_is_always_ready_by_itself_loses_its_slot_in_the_end():
    a = Meeting().has_slot()
    a.now = SLOT + PATIENCE
    a.ready()
    assert dropped(a.due()) == [1]


def test_a_start_at_a_slot_whose_outcome_is_unknown_is_asked_again_and_then_as_unreachable():
    """ "At the due time an unknown outcome is that of StartJob: ask again with the same id, then as unreachable; only
    then are mates desynchronised, and the record says so." """
    a = Meeting().has_slot()
    a.due()
    request = called(a.claimed())
    for _ in range(PATIENCE):
        assert timer(a.fail(Failure.TIMEOUT), Timer.RETRY) == a.now + 1
        a.now += 1
        assert called(a.feed(RetryDue("j"))) == request
    effects = a.fail(Failure.TIMEOUT)
    assert (decided(effects), dropped(effects)) == ([Start], [1])
    assert "started: PeerUnreachable" in told(effects)


def test_a_start_at_a_slot_that_did_not_go_out_is_as_unreachable_at_once():
    a = Meeting(on_peer_unreachable=OnUnreachable.YIELD).has_slot()
    a.due()
    a.claimed()
    effects = a.fail(Failure.UNREACHABLE)
    assert (decided(effects), dropped(effects), a.job().slot) == ([Yield], [1], None)


def test_a_job_at_its_slot_does_not_hold_behind_a_reservation():
    """Its limit was that of an earlier RunJob."""
    a = Meeting(on_peer_unreachable=OnUnreachable.HOLD).has_slot()
    a.due()
    a.claimed()
    assert decided(a.fail(Failure.UNREACHABLE)) == [Yield]


def test_crossing_starts_at_a_slot_start_both_once():
    """B's job was ready by itself: it takes ours, which waits for the answer, for a holding one."""
    a = Meeting().has_slot()
    a.due()
    a.claimed()
    status = a.asked_status()
    assert status.status is Status.HOLDING
    assert decided(a.asked_start(status.generation)) == [Start]
    assert a.reply(MateStarted(YES)) == []


def test_nodes_that_come_for_a_slot_that_is_gone_are_given_back():
    a = Meeting().has_slot()
    a.due()
    a.told_to(keep=False)
    assert decided(a.claimed()) == [Yield]
    assert a.state() is JobState.QUEUED


# What drops a slot


@pytest.mark.parametrize(
    "event",
    [Finished("j", JobState.CANCELLED), Unlinked("j"), Linked("j", MateName("B", "x")), Drained(60)],
    ids=lambda event: type(event).__name__,
)
@pytest.mark.parametrize("proposes", [True, False])
def test_a_slot_ends_with_its_pair_and_where_the_domain_drains(event, proposes):
    """ "Dropped: the mate is cancelled, unlinked or has failed." """
    a = Meeting()
    if proposes:
        a.has_slot()
    else:
        a.queues()
        a.gives_slot()
    effects = a.feed(event)
    assert (dropped(effects), of(effects, Unbook), a.job().slot) == ([1], [Unbook("j")], None)
    kinds = {effect.timer for effect in of(effects, ClearTimer)}
    assert kinds >= {Timer.SLOT} if proposes else kinds >= {Timer.LAPSE}


def test_a_job_that_starts_early_has_no_slot_any_more_and_tells_nobody():
    """ "Early: if it fits now it has RunJob, with TryStartMate as usual." """
    a = Meeting().has_slot()
    a.ready()
    a.reply_that_its_mate_queues()
    effects = a.reply(MateTried(YES))
    assert (decided(effects), dropped(effects), a.job().slot) == ([Start], [], None)
    assert ClearTimer("j", Timer.SLOT) in effects


def test_a_job_that_lost_its_nodes_keeps_its_slot():
    a = Meeting().has_slot()
    a.due()
    a.claimed()
    a.feed(NodesLost("j"))
    assert (a.state(), a.job().slot) == (JobState.QUEUED, SLOT)
    assert a.due() == [Claim("j")]


def test_with_slots_a_job_never_holds_by_its_scheme():
    """ "With slots a job of a pair never holds, whatever the scheme says." """
    for settings in ({"scheme": Scheme.HOLD}, {"scheme": Scheme.YIELD, "max_yields": 1}):
        a = Meeting(**settings)
        for _ in range(3):
            assert decided(a.hold_or_yield()) == [Yield]
            a.now += 1


def test_a_job_that_cannot_yield_holds_and_makes_no_proposal():
    a = Meeting().queues()
    a.feed_ready_that_cannot_yield()
    a.reply_that_its_mate_queues()
    assert decided(a.reply(MateTried(NO, mate_ready=True))) == [Hold]


# Restart


def recovered(a: Meeting, now: int):
    """Another life of the domain, with what was recorded of job j; what it does first."""
    b = Meeting()
    b.now = now
    b.core.answers.last.update(a.core.answers.last)
    b.core.ledger.calls_before = 1000
    return b, b.core.recover(a.job(), 0, now)


def test_a_slot_is_taken_up_after_a_restart():
    b, effects = recovered(Meeting().has_slot(), 100)
    assert (timer(effects, Timer.SLOT), of(effects, Call)) == (SLOT, [])
    assert b.due() == [Claim("j")]


def test_a_slot_that_was_not_confirmed_is_kept_again_after_a_restart():
    a = Meeting()
    a.agrees()
    a.ready()  # a RunJob came between, and its domain was killed
    a.feed(NodesLost("j"))
    _, effects = recovered(a, 100)
    assert (called(effects).keep, timer(effects, Timer.LAPSE)) == (True, 100 + PATIENCE)


def test_a_booking_is_taken_up_after_a_restart():
    a = Meeting().queues()
    a.gives_slot()
    _, effects = recovered(a, 100)
    assert timer(effects, Timer.LAPSE) == 100 + PATIENCE
    _, effects = recovered(a, 600)  # whether it is kept or not, it ends at one instant
    assert timer(effects, Timer.LAPSE) == SLOT + PATIENCE
    a.told_to(keep=True)
    b, effects = recovered(a, 600)
    assert timer(effects, Timer.LAPSE) == SLOT + PATIENCE
    assert answered(b.asked_for_slot()) == Proposed(SLOT, True, 1)


def test_a_start_at_a_slot_is_asked_again_after_a_restart():
    a = Meeting().has_slot()
    a.due()
    request = called(a.claimed())
    b, effects = recovered(a, SLOT + 10)
    assert called(effects) == request
    assert decided(b.reply(MateStarted(YES))) == [Start]


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_ready_job_whose_instant_was_looked_for_asks_again_after_a_restart(rounds):
    """It gets the same answer, and goes on from there."""
    a = Meeting()
    a.refused()
    answer = MateTried(NO, mate_ready=True)
    if rounds == 2:
        a.quoted(100)
        answer = Proposed(150)
        a.reply(answer)
    b, effects = recovered(a, 5)
    assert type(called(effects)) is (TryStartMate if rounds == 1 else ProposeStart)
    assert of(b.reply(answer), Quote)


def test_a_job_is_still_wanted_after_a_restart():
    a = Meeting().queues()
    a.asked_try()
    _, effects = recovered(a, 100)
    assert of(effects, Want) == [Want("j")]
    a.feed(Unlinked("j"))
    _, effects = recovered(a, 100)
    assert of(effects, Want) == []


# Wanted


def test_a_job_that_was_asked_for_before_its_submission_is_wanted():
    """ "Wanted: a mate has asked for it by TryStartMate, or had asked before it was submitted." """
    a = Meeting()
    a.asked_id()
    assert of(a.submit(), Want) == [Want("j")]
    assert of(Meeting().submit(), Want) == []


def test_what_was_asked_for_early_takes_a_bounded_memory():
    """Of each peer; those that were not asked for the longest are forgotten."""
    a = Meeting()
    a.asked_id("k", pair="other", peer="C")
    for number in [*range(MOST), 0, *range(MOST, MOST + 10)]:
        a.asked_id(f"k{number}", pair=f"p{number}")
    assert {peer: len(early) for peer, early in a.core.mates._asked_early.items()} == {"B": MOST, "C": 1}
    assert of(a.submit("h", pair="p1"), Want) == []
    assert of(a.submit("i", pair="p0"), Want) == [Want("i")]
    assert of(a.submit("j", pair=f"p{MOST + 9}"), Want) == [Want("j")]
    assert len(a.core.mates._asked_early["B"]) == MOST - 2


def test_a_job_has_asked_early_for_the_last_pair_that_it_named_only():
    a = Meeting()
    for pair in ("p", "q"):
        a.asked_id("k", pair=pair)
    assert of(a.submit("i", pair="p"), Want) == []
    assert of(a.submit("j", pair="q"), Want) == [Want("j")]


def test_a_job_is_not_wanted_any_more_when_its_mate_changes():
    """ "It ends with the job's start, an unlink, or the mate's end." """
    for event in (Unlinked("j"), Linked("j", MateName("B", "x"))):
        assert of(Meeting().queues().feed(event), Want) == [Want("j", False)]
