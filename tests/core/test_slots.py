"""Slots (meet.md): each step of a proposal, a booking and a start at a slot, and what ends them."""

import pytest

from cosched.core.coscheduling.asked_early import MOST
from cosched.core.coscheduling.proposing import ROUNDS
from cosched.core.effects import (
    Book,
    Call,
    Claim,
    ClearTimer,
    EndTurn,
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
from cosched.core.events import (
    Answered,
    Booked,
    CallFailed,
    Claimed,
    Drained,
    Finished,
    Linked,
    MayBeEarlier,
    NodesLost,
    PeerThere,
    Quoted,
    RetryDue,
    SlotDue,
    SlotLapsed,
    StartedUnasked,
    Submitted,
    Tried,
    Unlinked,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    FOREVER,
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
    TryStartMate,
)
from cosched.core.settings import OnUnreachable, Scheme

from .driver import NO, YES, DomainA, answered, called, decided, of, timer, told

SLOT, PATIENCE = 500, 30


class Meeting(DomainA):
    """Domain A, which gives slots. B is asked, or asks; B books or A does."""

    def __init__(self, **settings: object) -> None:
        super().__init__(slots=True, **settings)

    # A proposes

    def refused(self, mate_ready: bool = True):
        """RunJob(j) up to the refused TryStartMate."""
        self.run_job(Status.QUEUING)
        return self.reply(MateTried(NO, mate_ready=mate_ready))

    def quoted(self, at: int | None, for_peer: bool = False):
        return self.feed(Quoted("j", at, for_peer))

    def booked(self, at: int = SLOT, generation: int = 1, booked: bool = True, for_peer: bool = False):
        return self.feed(Booked("j", at, generation, booked, for_peer))

    def proposes(self, at: int = SLOT):
        self.refused()
        return self.quoted(at)

    def agrees(self, at: int = SLOT, generation: int = 1):
        """A has proposed the slot, and both domains have booked it."""
        self.proposes(at)
        self.reply(Proposed(at, True, generation))
        return self.booked(at, generation)

    def has_slot(self, at: int = SLOT, generation: int = 1):
        """A has proposed the slot, and B knows that it is kept."""
        self.agrees(at, generation)
        self.reply(Settled(True))
        return self

    def due(self):
        self.now = max(self.now, self.job().slot)
        return self.feed(SlotDue("j"))

    def claimed(self, claimed: bool = True, for_peer: bool = False):
        return self.feed(Claimed("j", claimed, for_peer))

    # B proposes

    def queues(self):
        """Job j queues, and was asked for by its mate."""
        self.submit()
        self.asked_id()
        return self

    def asked_for_slot(self, at: int = SLOT, number: int = 2, generation: int = 0, before: int = FOREVER):
        return self.ask(ProposeStart(f"B/k/{number}", "j", "k", at, generation, before))

    def gives_slot(self, at: int = SLOT, number: int = 2, generation: int = 0, before: int = FOREVER):
        """B's proposal is booked."""
        self.asked_for_slot(at, number, generation, before)
        (book,) = of(self.quoted(at, for_peer=True), Book)
        return self.booked(at, book.generation, for_peer=True)

    def told_to(self, *, keep: bool, generation: int = 1, number: int = 3):
        return self.ask(SettleStart(f"B/k/{number}", "j", "k", generation, keep))

    def asked_start_at_slot(self, generation: int = 1, number: int = 4):
        return self.ask(StartJob(f"B/k/{number}", "j", "k", 0, None, generation))


def dropped(effects: list) -> list[int]:
    """The generations of slots that the other domain is told to drop."""
    requests = [call.request for call in of(effects, Call)]
    return [request.slot_generation for request in requests if type(request) is SettleStart and not request.keep]


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
    return a.feed(Tried("j", False))


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
    assert (of(effects, Unbook), of(effects, EndTurn), dropped(effects)) == ([Unbook("j")], [EndTurn("j")], [])


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
    assert (dropped(effects), of(effects, Unbook), of(effects, EndTurn)) == ([2], [Unbook("j")], [EndTurn("j")])


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


def test_an_early_turn_whose_job_lost_its_slot_meanwhile_ends():
    a = Meeting().has_slot()
    a.feed(MayBeEarlier("j"))
    a.told_to(keep=False)
    assert a.quoted(200) == [EndTurn("j")]


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


# B proposes


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
    outcomes = (Quoted("j", SLOT, True), Booked("j", SLOT, 1, True, True), Claimed("j", YES, True))
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
    a.feed(Tried("j", True))
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
    assert of(a.asked_for_slot(number=3), Quote)  # they have lost it since


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
