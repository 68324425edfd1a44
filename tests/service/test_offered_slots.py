"""A domain whose resource manager schedules and whose pairs meet: orders about slots, what comes of them, offers."""

import pytest

from cosched.core.effects import Book, Claim, EndTurn, Quote, Start, Unbook, Yield
from cosched.core.job import JobState
from cosched.core.protocol import GroupProposed, MateStarted, MateStatus, MateTried, Settled, Status, Vote
from cosched.service.store import Store
from cosched_adapters.batch_system import SlotOnRecord
from tests.service.offered_site import NOW, Site
from tests.service.replies import BOOKED, NO, mate_is
from tests.service.slot_site import SLOT, due, has_slot, last, propose, settle, site, site_of, slot_of, slots_of

__all__ = ["site"]


def test_a_ready_job_agrees_on_a_slot_and_yields(site: Site, store: Store) -> None:
    has_slot(site, 1)
    assert [type(order) for order in site.orders] == [Quote, Book, Yield]
    assert (site.scheduler.meeting.slot("1"), site.state(1)) == (SLOT, JobState.QUEUED)
    assert store.job(1).slot == SLOT


def test_at_its_slot_the_job_is_claimed_and_starts_once_its_mate_has(site: Site) -> None:
    slots = has_slot(site, 1)
    due(site, 1)
    slots.claimed(last(site, Claim), True)
    assert site.state(1) is JobState.READY
    assert site.outside.calls[-1].request.slot == slot_of(site)
    site.answer(1, BOOKED)
    assert site.orders[-1] == Start("1")
    assert site.scheduler.meeting.slot("1") is None


def test_an_offer_at_the_slot_waits_for_the_claim_and_is_no_run_job(site: Site) -> None:
    slots = has_slot(site, 1)
    site.clock.instant = SLOT - 1
    site.offer(1)
    assert site.state(1) is JobState.QUEUED
    due(site, 1)
    slots.claimed(last(site, Claim), True)
    assert site.state(1) is JobState.READY


def test_an_offer_long_before_the_slot_is_a_run_job(site: Site) -> None:
    has_slot(site, 1)
    site.offer(1)
    assert site.state(1) is JobState.READY


def test_a_job_whose_nodes_are_late_is_claimed_again_and_keeps_its_slot(site: Site) -> None:
    slots = has_slot(site, 1)
    due(site, 1)
    slots.claimed(last(site, Claim), False)
    assert site.scheduler.meeting.slot("1") == SLOT
    assert Unbook("1") not in site.orders
    due(site, 1)
    assert type(site.orders[-1]) is Claim


def test_an_offer_that_waited_for_a_slot_which_is_dropped_is_a_run_job(site: Site) -> None:
    has_slot(site, 1)
    site.clock.instant = SLOT
    site.offer(1)
    settle(site, slot_of(site))
    assert Unbook("1") in site.orders
    assert site.state(1) is JobState.READY


def test_an_offer_that_waited_and_is_withdrawn_is_gone(site: Site) -> None:
    has_slot(site, 1)
    site.clock.instant = SLOT
    site.offer(1)
    site.offered.withdrawn("1")
    settle(site, slot_of(site))
    assert site.state(1) is JobState.QUEUED


def test_nodes_that_are_free_again_give_each_job_with_a_slot_a_turn(site: Site) -> None:
    slots = has_slot(site, 1)
    site.submit(2)
    assert site.orders[-1] != Quote("1", NOW)
    slots.freed()
    assert site.orders == [Quote("1", NOW)]


def test_nodes_that_are_freed_while_an_earlier_slot_is_agreed_on_leave_what_is_kept_for_it(site: Site) -> None:
    slots = has_slot(site, 1)
    slots.freed()
    slots.quoted(last(site, Quote), NOW + 50)
    slots.freed()
    assert EndTurn("1") not in site.orders
    site.answer(1, GroupProposed(Vote.BOOKED, earliest=NOW + 50))
    slots.booked(last(site, Book), True)
    assert site.scheduler.meeting.slot("1") == NOW + 50
    site.answer(1, Settled(True))
    slots.freed()
    assert type(site.outside.orders[-1]) is Quote


def test_only_the_last_of_two_equal_orders_counts(site: Site) -> None:
    slots = has_slot(site, 1)
    slots.freed()
    earlier = last(site, Quote)
    settle(site, slot_of(site))
    site.ready(1)
    site.answer(1, MateTried(False, None, True))
    later, calls = last(site, Quote), len(site.outside.calls)
    slots.quoted(earlier, NOW)
    assert len(site.outside.calls) == calls
    slots.quoted(later, NOW)
    assert len(site.outside.calls) == calls + 1


def test_a_proposal_that_is_over_frees_what_was_kept_for_it(site: Site) -> None:
    slots = has_slot(site, 1)
    slots.freed()
    slots.quoted(last(site, Quote), NOW + 50)
    site.answer(1, NO)
    assert site.orders[-1] == EndTurn("1")
    assert site.scheduler.meeting.slot("1") == SLOT


def test_a_move_that_is_not_booked_is_taken_back_on_both_sides(site: Site) -> None:
    slots = has_slot(site, 1)
    slots.freed()
    slots.quoted(last(site, Quote), NOW + 50)
    name = site.outside.calls[-1].request.request_id
    site.answer(1, GroupProposed(Vote.BOOKED, earliest=NOW + 50))
    slots.booked(last(site, Book), False)
    told = site.outside.calls[-1].request
    assert (told.request_id, told.start, told.keep) == (name, False, False)
    assert Unbook("1") in site.orders
    assert site.scheduler.meeting.slot("1") is None


# Slots that peers propose


def test_a_peer_books_a_slot_of_a_queued_job_and_starts_it_there(site: Site) -> None:
    slots = slots_of(site)
    site.submit(1)
    assert propose(site, 1, SLOT) is None  # it is answered later
    slots.quoted(last(site, Quote), SLOT)
    slots.booked(last(site, Book), True)
    assert site.scheduler.meeting.slot("1") == SLOT
    settle(site, slot_of(site), keep=True)
    site.clock.instant = SLOT
    assert propose(site, 1, None, slot_of(site)) is None
    slots.claimed(last(site, Claim), True)
    assert propose(site, 1, None, slot_of(site)) == BOOKED
    settle(site, "b/1/9999", start=True)
    assert site.orders[-1] == Start("1")


@pytest.mark.parametrize(("booked", "state"), [(True, JobState.QUEUED), (False, JobState.READY)])
def test_a_job_that_is_offered_while_a_slot_for_now_is_asked_for_is_ready_unless_it_is_booked(site, booked, state):
    slots = slots_of(site)
    site.submit(1)
    propose(site, 1, NOW)
    slots.quoted(last(site, Quote), NOW)
    site.offer(1)
    assert site.state(1) is JobState.QUEUED
    slots.booked(last(site, Book), booked)
    assert (site.state(1), site.domain.core.jobs["1"].slot) == (state, NOW if booked else None)


@pytest.mark.parametrize("kind", [Quote, Book])
def test_what_comes_for_a_job_that_has_ended_is_no_fault(site: Site, kind: type) -> None:
    slots = slots_of(site)
    site.submit(1)
    propose(site, 1, SLOT)
    if kind is Book:
        slots.quoted(last(site, Quote), SLOT)
    asked = last(site, kind)
    site.domain.end("1", JobState.CANCELLED)
    if kind is Quote:
        slots.quoted(asked, SLOT)
    else:
        slots.booked(asked, True)
    assert site.state(1) is None


def test_what_comes_for_an_earlier_job_of_the_same_id_is_not_told(site: Site) -> None:
    slots = slots_of(site)
    site.submit(1)
    propose(site, 1, SLOT)
    asked = last(site, Quote)
    site.domain.end("1", JobState.CANCELLED)
    site.submit(1, pair="other")
    slots.quoted(asked, SLOT)
    assert site.state(1) is JobState.QUEUED


# Restart


def test_a_new_service_has_the_slots_that_are_on_record(site: Site, store: Store) -> None:
    has_slot(site, 1)
    again = site_of(store)
    assert again.scheduler.meeting.slot("1") == SLOT
    assert slots_of(again).on_record() == {"1": SlotOnRecord(SLOT, 1)}
    again.clock.instant = SLOT
    again.offer(1)  # by its hook, which calls again
    assert again.state(1) is JobState.QUEUED


def test_the_first_questions_of_a_ready_job_are_as_ever(site: Site) -> None:
    site.submit(1)
    site.offer(1)
    site.answer(1, mate_is("1"), MateStatus(Status.HOLDING, 1, None), MateStarted(True))
    assert site.orders == [Start("1")]
