"""Slots that our jobs propose (meet.md, Slots): to agree on them, to keep them, to move them."""

import pytest

from cosched.core.coscheduling.proposing import ROUNDS
from cosched.core.coscheduling.slots import MOST_AHEAD
from cosched.core.effects import Book, Call, ClearTimer, EndTurn, Quote, Reschedule, Start, Timer, Unbook, Yield
from cosched.core.events import (
    Answered,
    CallFailed,
    Drained,
    Finished,
    Linked,
    MayBeEarlier,
    NodesLost,
    PeerThere,
    RetryDue,
    SlotDue,
    SlotLapsed,
    StartedUnasked,
    Tried,
    Unlinked,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    Failure,
    GetMateJobId,
    MateName,
    MateStarted,
    MateTried,
    Proposed,
    ProposeStart,
    Refusal,
    Settled,
    SettleStart,
    StartJob,
    Status,
)
from cosched.core.settings import Scheme

from .driver import NO, YES, DomainA, answered, called, decided, of, timer, told
from .meeting_driver import PATIENCE, SLOT, Meeting, dropped

# To agree


def test_a_mate_that_has_never_been_ready_gets_no_proposal():
    """ "If k's domain answered mate_ready, rule 4 follows at once"; an old peer never answers so."""
    assert decided(Meeting().refused(mate_ready=False)) == [Yield]


def test_a_domain_without_slots_makes_no_proposal_and_says_of_no_job_that_it_is_ready():
    a = DomainA(scheme=Scheme.YIELD)
    a.run_job(Status.QUEUING)
    assert decided(a.reply(MateTried(NO, mate_ready=True))) == [Yield]
    assert not answered(tried(a)).mate_ready


def tried(a: DomainA, number: int = 1):
    """B asks to start job j, which cannot start."""
    a.asked_try(number)
    return a.feed(Tried("j", None))


def test_an_answer_says_that_the_job_has_been_ready_once():
    """ "mate_ready: k has been ready once and is queuing." """
    a = Meeting().queues()
    assert not answered(tried(a)).mate_ready
    a.hold_or_yield()
    assert answered(tried(a, 2)).mate_ready


def test_a_slot_that_both_can_keep_is_agreed_in_one_round():
    """ "A proposes t = earliest(j, now) and B answers u >= t. If u = t: agreed, and B's answer has booked it." """
    a = Meeting()
    assert of(a.refused(), Quote) == [Quote("j", 0)]
    assert called(a.quoted(SLOT)) == ProposeStart("A/j/2", "k", "j", SLOT)
    assert of(a.reply(Proposed(SLOT, True, 7)), Book) == [Book("j", SLOT, 7)]
    effects = a.booked(generation=7)
    assert (decided(effects), a.state()) == ([Yield], JobState.QUEUED)
    assert called(effects) == SettleStart("A/j/3", "k", "j", 7, keep=True)
    assert (timer(effects, Timer.SLOT), timer(effects, Timer.LAPSE)) == (SLOT, PATIENCE)
    assert told(effects)[:1] == ["has a slot"]
    assert of(a.reply(Settled(True)), ClearTimer) == [ClearTimer("j", Timer.LAPSE)]


def test_a_later_answer_is_the_next_proposal():
    """ "Else A tries earliest(j, u), and so on." """
    a = Meeting()
    a.proposes(100)
    assert of(a.reply(Proposed(150)), Quote) == [Quote("j", 150)]
    assert called(a.quoted(170)).not_before == 170
    assert of(a.reply(Proposed(170, True, 1)), Book) == [Book("j", 170, 1)]


def test_there_is_no_slot_after_50_rounds():
    """ "A round is one ProposeStart. After 50 rounds there is no slot." """
    a = Meeting()
    a.proposes(1)
    for at in range(2, ROUNDS + 1):
        a.reply(Proposed(at))
        assert of(a.quoted(at), Call)
    a.reply(Proposed(ROUNDS + 1))
    assert decided(a.quoted(ROUNDS + 1)) == [Yield]


def test_a_job_that_never_fits_yields():
    a = Meeting()
    a.refused()
    assert decided(a.quoted(None)) == [Yield]


def test_an_instant_more_than_a_year_ahead_is_no_answer():
    a = Meeting()
    a.proposes()
    effects = a.reply(Proposed(MOST_AHEAD))
    assert (decided(effects), of(effects, Quote)) == ([Yield], [])


@pytest.mark.parametrize("refusal", Refusal)
def test_a_refusal_is_an_answer(refusal):
    """ "A domain may say no to a proposal." """
    a = Meeting()
    a.proposes()
    effects = a.reply(Proposed(None, refusal=refusal))
    assert (decided(effects), a.job().slot, a.job().call) == ([Yield], None, None)


def test_agreed_on_now_both_start():
    """ "If both can start now, both do: that is a start and no yield." """
    a = Meeting()
    a.proposes(0)
    a.reply(Proposed(0, True, 1))
    request = called(a.booked(0))
    assert request == StartJob("A/j/3", "k", "j", 0, None, 1)
    effects = a.reply(MateStarted(YES))
    assert (decided(effects), a.job().yields, told(effects)[0]) == ([Start], 0, "started: at its slot")


def test_now_may_be_a_little_later_when_the_answer_comes():
    a = Meeting()
    a.proposes(0)
    a.now = 2
    assert of(a.reply(Proposed(1, True, 1)), Book) == [Book("j", 2, 1)]
    assert type(called(a.booked(2))) is StartJob


def test_agreed_on_now_but_the_mates_nodes_are_not_free_yet():
    a = Meeting()
    a.agrees(0)
    effects = a.reply(MateStarted(NO))
    assert (decided(effects), a.state(), a.job().slot, timer(effects, Timer.SLOT)) == ([Yield], JobState.QUEUED, 0, 1)


def test_what_our_scheduler_does_not_book_is_dropped_there():
    a = Meeting()
    a.proposes()
    a.reply(Proposed(SLOT, True, 4))
    effects = a.booked(generation=4, booked=False)
    assert (decided(effects), dropped(effects)) == ([Yield], [4])


def test_an_answer_that_comes_twice_is_carried_out_once():
    a = Meeting()
    a.run_job(Status.QUEUING)
    request = a.job().call
    assert of(a.reply(MateTried(NO, mate_ready=True)), Quote)
    assert a.reply(MateTried(NO, mate_ready=True)) == []
    assert a.feed(CallFailed("j", request, Failure.TIMEOUT)) == []


@pytest.mark.parametrize("failure", Failure)
def test_without_an_answer_to_a_proposal_the_job_yields(failure):
    """ "No answer to ProposeStart: j has yielded, which is safe." """
    a = Meeting()
    a.proposes()
    request = a.job().call
    assert decided(a.fail(failure)) == [Yield]
    assert a.feed(Answered("j", request, Proposed(SLOT, True, 1))) == []
    assert a.job().slot is None


def test_a_proposal_that_a_peer_which_was_there_does_not_answer_is_made_again_once_it_is_back():
    a = Meeting(peer_grace=100)
    a.proposes()
    assert "yields: PeerAway" in told(a.fail(Failure.UNREACHABLE))
    assert of(a.feed(PeerThere("B")), Reschedule) == [Reschedule("j")]


# What happens while our scheduler plans


@pytest.mark.parametrize(
    "event",
    [StartedUnasked("j"), Finished("j", JobState.CANCELLED), NodesLost("j"), Unlinked("j")],
    ids=lambda event: type(event).__name__,
)
def test_an_outcome_that_comes_too_late_changes_nothing(event):
    for step in range(2):
        a = Meeting()
        a.refused()
        if step:
            a.quoted(SLOT)
            a.reply(Proposed(SLOT, True, 1))
        a.feed(event)
        before = repr(a.job())
        effects = a.booked() if step else a.quoted(SLOT)
        assert (of(effects, Call), a.job().slot, repr(a.job())) == ([], None, before)


# To keep a slot


def test_the_word_that_a_slot_is_kept_is_repeated():
    a = Meeting()
    a.agrees()
    keep = a.job().call
    assert timer(a.fail(Failure.TIMEOUT), Timer.RETRY) == 1
    assert called(a.feed(RetryDue("j"))) == keep


def test_the_word_that_a_slot_is_kept_is_repeated_after_a_runjob_came_between():
    a = Meeting()
    a.agrees()
    keep = a.job().call
    a.ready()
    assert type(a.job().call) is GetMateJobId
    a.reply_that_its_mate_queues()
    effects = a.reply(MateTried(NO, mate_ready=True))
    assert decided(effects) == [Yield]  # it makes no other proposal until this one is confirmed
    again = called(effects)
    assert (type(again), again.slot_generation, again.keep) == (SettleStart, 1, True)
    assert again != keep


def test_an_answer_to_the_word_that_a_slot_is_kept_counts_during_a_runjob():
    a = Meeting()
    a.agrees()
    keep = a.job().call
    a.ready()
    assert a.feed(Answered("j", keep, Settled(True))) == [ClearTimer("j", Timer.LAPSE)]
    assert type(a.job().call) is GetMateJobId
    assert a.feed(Answered("j", keep, Settled(False))) == []


def test_a_slot_that_the_other_domain_does_not_have_any_more_is_dropped():
    a = Meeting()
    a.agrees()
    effects = a.reply(Settled(False))
    assert (of(effects, Unbook), of(effects, Reschedule), dropped(effects)) == ([Unbook("j")], [Reschedule("j")], [])
    assert (a.job().slot, a.job().call) == (None, None)


def test_a_proposed_slot_that_is_not_confirmed_lapses():
    a = Meeting()
    a.agrees()
    a.now = PATIENCE
    effects = a.feed(SlotLapsed("j"))
    assert (dropped(effects), a.job().slot, a.job().call) == ([1], None, None)


# Early


def test_a_move_names_the_present_generation_and_slot():
    """ "The pair moves only if both can be earlier." """
    a = Meeting().has_slot()
    assert of(a.feed(MayBeEarlier("j")), Quote) == [Quote("j", 0)]
    assert called(a.quoted(200)) == ProposeStart("A/j/4", "k", "j", 200, 1, SLOT)
    a.reply(Proposed(200, True, 2))
    effects = a.booked(200, 2)
    assert of(effects, EndTurn) == [EndTurn("j")]
    assert timer(effects, Timer.SLOT) == 200
    assert (a.job().slot, a.job().slot_generation, called(effects).slot_generation) == (200, 2, 2)


def test_a_move_is_given_up_if_either_instant_is_not_before_the_slot():
    """ "A move is given up as soon as either instant is not before the present slot." """
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    assert a.quoted(SLOT) == [EndTurn("j")]
    a.feed(MayBeEarlier("j"))
    a.quoted(200)
    assert a.reply(Proposed(SLOT)) == [EndTurn("j")]
    assert (a.job().slot, a.job().call) == (SLOT, None)


def test_a_slot_that_the_other_domain_calls_outdated_is_dropped():
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    a.quoted(200)
    effects = a.reply(Proposed(None, refusal=Refusal.OUTDATED))
    assert (of(effects, Unbook), dropped(effects), EndTurn("j") in effects) == ([Unbook("j")], [], True)


def test_a_turn_ends_at_once_while_no_move_can_be_agreed_on():
    a = Meeting(peer_grace=100)
    a.agrees()
    assert a.feed(MayBeEarlier("j")) == [EndTurn("j")]  # it is not confirmed
    a.reply(Settled(True))
    a.feed(Drained(100))
    assert a.feed(MayBeEarlier("j")) == [EndTurn("j")]


def test_a_move_that_only_the_other_domain_books_ends_the_slot():
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    a.quoted(200)
    a.reply(Proposed(200, True, 2))
    effects = a.booked(200, 2, booked=False)
    assert (dropped(effects), of(effects, Unbook), EndTurn("j") in effects) == ([2], [Unbook("j")], True)


@pytest.mark.parametrize(
    "event",
    [
        StartedUnasked("j"),
        Finished("j", JobState.CANCELLED),
        Unlinked("j"),
        SlotDue("j"),
        Linked("j", MateName("B", "x")),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_turn_ends_with_what_ends_its_negotiation(event):
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    a.quoted(200)
    assert of(a.feed(event), EndTurn) == [EndTurn("j")]
    assert type(a.job().call) is not ProposeStart


def test_a_move_ends_with_its_slot():
    """The drop crosses the proposal: the other domain may propose another slot at once."""
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    a.quoted(200)
    assert EndTurn("j") in a.told_to(keep=False)
    assert of(a.asked_for_slot(number=5), Quote)


def test_an_early_turn_whose_job_lost_its_slot_meanwhile_ends():
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    a.told_to(keep=False)
    assert a.quoted(200) == [EndTurn("j")]
