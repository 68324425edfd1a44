"""Slots that peers propose (meet.md, Slots), and proposals that cross."""

import pytest

from cosched.core.allocation import Allocation
from cosched.core.coscheduling.slots import MOST_AHEAD
from cosched.core.effects import Book, Claim, EndTurn, Hold, Quote, Reschedule, Start, Timer, Unbook, Yield
from cosched.core.events import (
    Answered,
    Booked,
    Claimed,
    Drained,
    Finished,
    Linked,
    MayBeEarlier,
    Quoted,
    SlotLapsed,
    StartedUnasked,
    Submitted,
    Tried,
    Unlinked,
)
from cosched.core.job import JobState
from cosched.core.protocol import MateName, MateStarted, MateTried, Proposed, ProposeStart, Refusal, Settled

from .driver import NO, YES, answered, decided, of, timer
from .meeting_driver import PATIENCE, SLOT, Meeting, dropped

# B proposes


@pytest.mark.parametrize("generation", [0, 1])
def test_whatever_a_peer_says_a_slot_does_not_become_a_later_one(generation):
    a = Meeting().queues()
    a.gives_slot()
    effects = a.asked_for_slot(SLOT + 1, number=5, generation=generation)
    if generation:
        effects = a.quoted(SLOT + 1, for_peer=True)
    assert answered(effects) in (Proposed(SLOT + 1), Proposed(None, refusal=Refusal.OUTDATED))
    assert a.job().slot in (SLOT, None)
    assert not of(effects, Book)


def test_a_proposal_is_booked_if_the_job_fits_there():
    a = Meeting().queues()
    assert a.asked_for_slot() == [Quote("j", SLOT, for_peer=True)]
    assert a.quoted(SLOT, for_peer=True) == [Book("j", SLOT, 1, for_peer=True)]
    effects = a.booked(for_peer=True)
    assert answered(effects) == Proposed(SLOT, True, 1)
    assert timer(effects, Timer.LAPSE) == PATIENCE


def test_a_proposal_is_answered_with_the_earliest_instant():
    a = Meeting().queues()
    a.asked_for_slot(100)
    assert answered(a.quoted(170, for_peer=True)) == Proposed(170)
    assert a.job().slot is None


def test_a_proposal_of_now_may_have_been_under_way_for_a_while():
    a = Meeting().queues()
    a.now = 12
    assert a.asked_for_slot(10) == [Quote("j", 12, for_peer=True)]
    assert a.quoted(12, for_peer=True) == [Book("j", 12, 1, for_peer=True)]


def test_an_instant_that_is_not_before_the_callers_slot_is_not_booked():
    """ "The pair moves only if both can be earlier." """
    a = Meeting().queues()
    a.gives_slot()
    a.asked_for_slot(SLOT, number=5, generation=1, before=SLOT)
    assert answered(a.quoted(SLOT, for_peer=True)) == Proposed(SLOT)


def test_a_move_has_a_higher_generation():
    a = Meeting().queues()
    a.gives_slot()
    assert answered(a.gives_slot(200, number=5, generation=1, before=SLOT)) == Proposed(200, True, 2)
    assert (a.job().slot, a.job().slot_generation) == (200, 2)


def test_why_a_proposal_is_refused():
    def refusal(a: Meeting, **asked: object) -> Refusal:
        return answered(a.asked_for_slot(**asked)).refusal

    a = Meeting().queues()
    assert answered(a.ask(ProposeStart("B/i/1", "j", "i", SLOT))).refusal is Refusal.NOT_MATE
    assert refusal(a, generation=3) is Refusal.OUTDATED
    a.asked_for_slot(number=3)
    assert answered(a.quoted(None, for_peer=True)).refusal is Refusal.NEVER
    a.asked_for_slot(number=4)
    a.quoted(SLOT, for_peer=True)
    assert answered(a.booked(booked=False, for_peer=True)).refusal is Refusal.NOT_QUEUING
    a.feed(Drained(100))
    assert refusal(a, number=5) is Refusal.DRAINING
    a.configure(slots=False)
    assert refusal(a, number=6) is Refusal.OFF
    ready = Meeting().queues()
    ready.ready()
    assert refusal(ready) is Refusal.NOT_QUEUING


def test_no_slot_is_more_than_a_year_ahead():
    a = Meeting().queues()
    assert answered(a.asked_for_slot(MOST_AHEAD + 1)).refusal is Refusal.NEVER
    assert of(a.asked_for_slot(MOST_AHEAD, number=3), Quote)


def test_a_retry_of_a_proposal_gets_the_same_answer():
    """ "A retry with the same request id gets the same answer." """
    a = Meeting().queues()
    a.asked_for_slot()
    assert a.asked_for_slot() == []  # the first one is still being worked on
    a.quoted(SLOT, for_peer=True)
    assert a.asked_for_slot() == []
    a.booked(for_peer=True)
    assert answered(a.asked_for_slot()) == Proposed(SLOT, True, 1)


def test_a_late_copy_of_an_earlier_proposal_does_not_take_the_place_of_the_present_one():
    a = Meeting().queues()
    a.asked_for_slot(300, number=3)
    assert a.asked_for_slot(100, number=2) == []
    a.quoted(300, for_peer=True)
    assert answered(a.booked(300, for_peer=True)) == Proposed(300, True, 1)


def test_a_later_proposal_while_the_scheduler_looks_for_the_instant_of_the_first():
    a = Meeting().queues()
    a.asked_for_slot(100)
    assert a.asked_for_slot(300, number=3) == []
    assert a.quoted(150, for_peer=True) == [Quote("j", 300, for_peer=True)]


@pytest.mark.parametrize(
    "event",
    [StartedUnasked("j"), Finished("j", JobState.CANCELLED), Unlinked("j"), Linked("j", MateName("B", "x"))],
    ids=lambda event: type(event).__name__,
)
def test_what_a_scheduler_plans_for_a_peer_may_come_too_late(event):
    outcomes = (Quoted("j", SLOT, True), Booked("j", SLOT, 1, Allocation(4), True), Claimed("j", Allocation(4), True))
    for step, outcome in enumerate(outcomes):
        a = Meeting().queues()
        a.asked_for_slot()
        for earlier in outcomes[:step]:
            a.feed(earlier)
        if step == 2:
            a.asked_start_at_slot()
        a.feed(event)
        answer = answered(a.feed(outcome))
        assert answer == MateStarted(NO) if step == 2 else answer.refusal in (Refusal.NOT_MATE, Refusal.NOT_QUEUING)
        assert a.job().slot is None


def test_a_booking_that_is_kept_waits_for_its_slot_and_then_for_the_start():
    a = Meeting().queues()
    a.gives_slot()
    effects = a.told_to(keep=True)
    assert (answered(effects), timer(effects, Timer.LAPSE)) == (Settled(True), SLOT + PATIENCE)
    assert answered(a.told_to(keep=True, number=9)) == Settled(True)


def test_a_booking_that_nobody_keeps_or_starts_lapses():
    a = Meeting().queues()
    a.gives_slot()
    effects = a.feed(SlotLapsed("j"))
    assert (dropped(effects), of(effects, Unbook), of(effects, Reschedule)) == ([1], [Unbook("j")], [Reschedule("j")])
    assert answered(a.told_to(keep=True)) == Settled(False)
    assert answered(a.asked_start_at_slot()) == MateStarted(NO)
    assert answered(a.gives_slot(number=6)).slot_generation == 3


def test_a_booking_is_dropped_by_its_generation():
    """ "Dropped, on both sides by the generation." """
    a = Meeting().queues()
    a.gives_slot(generation=0)
    a.gives_slot(200, number=5, generation=1, before=SLOT)
    assert answered(a.told_to(keep=False, generation=1, number=6)) == Settled(False)
    effects = a.told_to(keep=False, generation=2, number=7)
    assert (answered(effects), a.job().slot, of(effects, Reschedule)) == (Settled(True), None, [Reschedule("j")])


def test_a_slot_is_gone_with_the_move_that_its_domain_has_not_heard_of():
    """B has booked a move, whose answer was lost, and drops it."""
    a = Meeting().has_slot()
    effects = a.told_to(keep=False, generation=2)
    assert (answered(effects), a.job().slot) == (Settled(True), None)


def test_a_late_word_about_a_slot_changes_nothing():
    a = Meeting().queues()
    a.gives_slot()
    a.feed(SlotLapsed("j"))
    a.gives_slot(number=6)
    generation = a.job().slot_generation
    assert answered(a.told_to(keep=False, generation=1, number=3)) == Settled(False)
    assert answered(a.asked_start_at_slot(generation, number=4)) == MateStarted(NO)  # a copy of an earlier call
    assert answered(a.told_to(keep=True, generation=generation, number=5)) == Settled(True)
    assert a.job().slot == SLOT


def test_a_dropped_slot_does_not_disturb_a_call_that_is_under_way():
    """B's job asks us to start its mate, and drops its slot meanwhile; a retry of the first call gets its answer."""
    a = Meeting().queues()
    a.asked_try(5)
    a.feed(Tried("j", Allocation(4)))
    a.told_to(keep=False, number=6)
    assert answered(a.asked_try(5)) == MateTried(YES)


def test_a_peer_starts_the_job_at_its_slot():
    a = Meeting().queues()
    a.gives_slot()
    a.now = SLOT
    assert a.asked_start_at_slot() == [Claim("j", for_peer=True)]
    assert a.asked_start_at_slot() == []
    effects = a.claimed(for_peer=True)
    assert (decided(effects), answered(effects)) == ([Start], MateStarted(YES))
    assert answered(a.asked_start_at_slot()) == MateStarted(YES)


def test_a_peer_is_told_that_nodes_are_not_free_at_the_slot():
    a = Meeting().queues()
    a.gives_slot()
    a.asked_start_at_slot()
    assert answered(a.claimed(NO, for_peer=True)) == MateStarted(NO)
    assert a.job().slot == SLOT
    assert a.asked_start_at_slot(number=5) == [Claim("j", for_peer=True)]


@pytest.mark.parametrize("cannot_yield", [False, True])
def test_a_peer_starts_a_job_that_has_nodes_already_at_its_slot(cannot_yield):
    a = Meeting().queues()
    a.gives_slot()
    if not cannot_yield:
        a.ready()
    else:
        a.feed_ready_that_cannot_yield()
        a.reply_that_its_mate_queues()
        assert decided(a.reply(MateTried(NO, mate_ready=True))) == [Hold]
    effects = a.asked_start_at_slot()
    assert (decided(effects), answered(effects)) == ([Start], MateStarted(YES))


def test_a_job_that_runs_has_not_started_at_this_slot():
    """Its mate asks why: the record says that they are apart."""
    a = Meeting().queues()
    a.gives_slot()
    a.feed(StartedUnasked("j"))
    assert answered(a.asked_start_at_slot()) == MateStarted(NO)


# Crossing proposals


def test_of_two_proposals_that_cross_that_of_the_first_domain_by_name_goes_on():
    a = Meeting()
    a.proposes()
    assert answered(a.asked_for_slot()).refusal is Refusal.CROSSING
    assert a.state() is JobState.READY
    assert of(a.reply(Proposed(SLOT, True, 1)), Book)


def crossed(ready: bool) -> Meeting:
    """Job j, whose mate is on the domain @, before A by name, proposes an instant."""
    a = Meeting()
    a.feed(Submitted("j", MateName("@", "j")))
    a.asked_id(peer="@")
    a.ready()
    a.reply_that_its_mate_queues()
    a.reply(MateTried(NO, mate_ready=True))
    a.quoted(SLOT)
    if not ready:
        a.reply(Proposed(SLOT, True, 1))
        a.booked()
        a.reply(Settled(True))
        a.feed(MayBeEarlier("j"))
        a.quoted(200)
    return a


@pytest.mark.parametrize("ready", [True, False])
def test_the_other_one_gives_way(ready):
    a = crossed(ready)
    mine = a.job().call
    effects = a.ask(ProposeStart("@/k/2", "j", "k", 150, 0 if ready else 1), peer="@")
    assert of(effects, Yield if ready else EndTurn)
    assert of(effects, Quote) == [Quote("j", 150, for_peer=True)]
    (book,) = of(a.quoted(150, for_peer=True), Book)
    assert answered(a.booked(150, book.generation, for_peer=True)).booked
    assert a.feed(Answered("j", mine, Proposed(None, refusal=Refusal.CROSSING))) == []
    assert (a.job().slot, a.job().proposes) == (150, False)


def test_a_proposal_that_was_made_before_its_domain_knew_of_the_slot_is_refused():
    """The other order of arrival: our proposal was booked there while theirs was under way."""
    a = Meeting()
    a.agrees()
    assert answered(a.asked_for_slot()).refusal is Refusal.CROSSING
    a.reply(Settled(True))
    lost = a.asked_for_slot(number=3)  # they have lost it since
    assert answered(lost).refusal is Refusal.OUTDATED
    assert of(lost, Reschedule)
    assert a.job().slot is None
    assert of(a.asked_for_slot(number=4), Quote)
