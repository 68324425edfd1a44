"""A domain whose resource manager schedules and whose pairs meet: orders about slots, what comes of them, offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import pytest

from cosched.adapters.batch_system import MeetingSystem, SlotOnRecord, WantedStart
from cosched.adapters.manager import UnavailableError
from cosched.core.effects import Book, Claim, EndTurn, Quote, SetTimer, Start, Timer, Try, Unbook, Yield
from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import (
    Found,
    GroupProposed,
    MateJobId,
    MateStarted,
    MateStatus,
    MateTried,
    ProposeGroupStart,
    Settled,
    SettleGroupStart,
    Status,
    Vote,
)
from cosched.core.scheduling.external_meeting import ExternalSettings
from cosched.core.settings import Scheme
from cosched.service.domain.offered_slots import OfferedSlots
from cosched.service.manager.slot_orders import SlotOrders
from cosched.service.store import Store
from cosched.service.tasks import Tasks
from tests.service.offered_site import NOW, Site, store

__all__ = ["store"]
SLOT = NOW + 100
BOOKED = GroupProposed(Vote.BOOKED, earliest=SLOT)


def site_of(store: Store, share: str = "1") -> Site:
    """Domain a, as the preset "meet" has it."""
    meets = ExternalSettings(10, slots=True, mate_budget=Decimal("0.5"), mate_budget_share=Decimal(share))
    return Site(store, meets, scheme=Scheme.YIELD, slots=True)


@pytest.fixture
def site(store: Store) -> Site:
    return site_of(store)


def slots_of(site: Site) -> OfferedSlots:
    return OfferedSlots(site.domain, site.scheduler)


def has_slot(site: Site, job: int) -> OfferedSlots:
    """The job has proposed SLOT, and both domains keep it."""
    slots = slots_of(site)
    site.submit(job)
    site.ready(job)
    site.answer(job, MateTried(False, None, True))
    slots.quoted(last(site, Quote), SLOT)
    site.answer(job, BOOKED)
    slots.booked(last(site, Book), True)
    site.answer(job, Settled(True))
    return slots


def last(site: Site, kind: type) -> Any:
    return next(order for order in reversed(site.outside.orders) if type(order) is kind)


def due(site: Site, job: int) -> None:
    site.clock.instant = SLOT
    site.domain.timer_due(SetTimer(str(job), Timer.SLOT, SLOT))


def propose(site: Site, job: int, not_before: int | None, slot: str = "") -> object:
    """A slot, which is to be booked; or a start at that slot."""
    id, book = f"b/{job}/{not_before or 9999}", not_before is not None
    asked = ProposeGroupStart(id, str(job), str(job), 0, 60, not_before=not_before, book=book, slot=slot)
    return site.domain.questions.ask(Asked("b", asked))


def settle(site: Site, name: str, *, keep: bool = False, start: bool = False) -> None:
    site.domain.questions.ask(Asked("b", SettleGroupStart(name, "1", "1", start=start, keep=keep)))


def slot_of(site: Site) -> str:
    """The name of the slot of job 1."""
    return str(site.domain.core.jobs["1"].group.slot)  # type: ignore[union-attr]


# Slots that our jobs propose


def test_a_ready_job_agrees_on_a_slot_and_yields(site: Site, store: Store) -> None:
    has_slot(site, 1)
    assert [type(order) for order in site.orders] == [Quote, Book, Yield]
    assert (site.scheduler.slot("1"), site.state(1)) == (SLOT, JobState.QUEUED)
    kept = store.job(1)
    assert kept is not None
    assert kept.memory is not None
    assert kept.memory["slot"] == SLOT


def test_at_its_slot_the_job_is_claimed_and_starts_once_its_mate_has(site: Site) -> None:
    slots = has_slot(site, 1)
    due(site, 1)
    slots.claimed(last(site, Claim), True)
    assert site.state(1) is JobState.READY
    assert site.outside.calls[-1].request.slot == slot_of(site)
    site.answer(1, GroupProposed(Vote.BOOKED))
    assert site.orders[-1] == Start("1")
    assert site.scheduler.slot("1") is None


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
    assert site.scheduler.slot("1") == SLOT
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
    assert site.scheduler.slot("1") == NOW + 50
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
    site.answer(1, GroupProposed(Vote.NO))
    assert site.orders[-1] == EndTurn("1")
    assert site.scheduler.slot("1") == SLOT


def test_a_move_that_is_not_booked_is_taken_back_on_both_sides(site: Site) -> None:
    slots = has_slot(site, 1)
    slots.freed()
    slots.quoted(last(site, Quote), NOW + 50)
    name = site.outside.calls[-1].request.request_id
    site.answer(1, GroupProposed(Vote.BOOKED, earliest=NOW + 50))
    slots.booked(last(site, Book), False)
    told = site.outside.calls[-1].request
    assert isinstance(told, SettleGroupStart)
    assert (told.request_id, told.start, told.keep) == (name, False, False)
    assert Unbook("1") in site.orders
    assert site.scheduler.slot("1") is None


# Slots that peers propose


def test_a_peer_books_a_slot_of_a_queued_job_and_starts_it_there(site: Site) -> None:
    slots = slots_of(site)
    site.submit(1)
    assert propose(site, 1, SLOT) is None  # it is answered later
    slots.quoted(last(site, Quote), SLOT)
    slots.booked(last(site, Book), True)
    assert site.scheduler.slot("1") == SLOT
    settle(site, slot_of(site), keep=True)
    site.clock.instant = SLOT
    assert propose(site, 1, None, slot_of(site)) is None
    slots.claimed(last(site, Claim), True)
    assert propose(site, 1, None, slot_of(site)) == GroupProposed(Vote.BOOKED)
    settle(site, "b/1/9999", start=True)
    assert site.orders[-1] == Start("1")


def test_a_job_that_is_offered_while_a_slot_for_now_is_booked_stays_bookable(site: Site) -> None:
    slots = slots_of(site)
    site.submit(1)
    propose(site, 1, NOW)
    slots.quoted(last(site, Quote), NOW)
    site.offer(1)
    assert site.state(1) is JobState.QUEUED
    slots.booked(last(site, Book), True)
    assert site.state(1) is JobState.QUEUED  # until it is started there
    assert site.domain.core.jobs["1"].slot == NOW


def test_a_job_that_was_offered_while_its_slot_could_not_be_booked_is_ready(site: Site) -> None:
    slots = slots_of(site)
    site.submit(1)
    propose(site, 1, NOW)
    slots.quoted(last(site, Quote), NOW)
    site.offer(1)
    slots.booked(last(site, Book), False)
    assert site.state(1) is JobState.READY


@pytest.mark.parametrize("kind", [Quote, Book])
def test_what_comes_for_a_job_that_has_ended_is_no_fault(site: Site, kind: type) -> None:
    slots = slots_of(site)
    site.submit(1)
    propose(site, 1, SLOT)
    asked = last(site, Quote)
    if kind is Book:
        slots.quoted(asked, SLOT)
        asked = last(site, Book)
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
    assert again.scheduler.slot("1") == SLOT
    assert slots_of(again).on_record() == {"1": SlotOnRecord(SLOT, 1)}
    again.clock.instant = SLOT
    again.offer(1)  # by its hook, which calls again
    assert again.state(1) is JobState.QUEUED


# The manager


class System:
    """Notes what it is asked for, and can be told to fail."""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.answers = answers
        self.silent = 0  # so many calls to take up slots fail

    async def take_up_slots(self, slots: Mapping[str, SlotOnRecord]) -> None:
        self.asked.append(("take up", dict(slots)))
        self.silent -= 1
        if self.silent >= 0:
            raise UnavailableError("squeue: no answer")

    async def start_wanted(
        self, job_id: str, budget: Fraction, guards: dict[str, int], ready: Collection[str]
    ) -> WantedStart:
        guards["9"] = 77
        self.asked.append(("start wanted", job_id, budget, list(ready)))
        return self.answers["start_wanted"]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*arguments: Any, **options: Any) -> Any:  # noqa: ARG001
            self.asked.append((name, *arguments))
            await asyncio.sleep(0)
            answer = self.answers.get(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def orders_of(site: Site, system: System) -> SlotOrders:
    tasks = Tasks(pytest.fail)
    return SlotOrders(slots_of(site), cast(MeetingSystem, system), cast(Any, site.clock), tasks)


async def test_orders_of_a_job_wait_for_those_before_it_and_for_the_slots_on_record(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cosched.service.manager.slot_orders.PACE", 0)
    has_slot(site, 1)
    system = System()
    system.silent = 2
    orders = orders_of(site, system)
    waiting = [asyncio.create_task(orders.carry_out(Unbook("1"))) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert system.asked == []
    orders.take_up()
    await asyncio.gather(*waiting)
    assert system.asked == [("take up", {"1": SlotOnRecord(SLOT, 1)})] * 3 + [("unbook", "1")] * 2


async def test_a_manager_that_cannot_plan_gives_no_slot(site: Site) -> None:
    site.submit(1)
    propose(site, 1, SLOT)
    orders = orders_of(site, System(quote=UnavailableError("squeue: no answer")))
    orders.take_up()
    await orders.carry_out(last(site, Quote))
    assert site.domain.core.reserving.asked == {}


async def test_a_wanted_job_starts_within_the_budget_and_is_counted(site: Site, store: Store) -> None:
    site.submit(1, 2)
    site.ready(2)
    site.answer(2, MateTried(False))
    site.asked_to_try(1)
    system = System(start_wanted=WantedStart(True, 5))
    orders = orders_of(site, system)
    orders.take_up()
    assert await orders.try_start("1")
    assert system.asked[1:] == [("start wanted", "1", Fraction(1, 2), ["2"])]
    assert store.meta("guards") == '{"9": 77}'
    site.offered.tried("1", True)
    assert site.orders[-1] == Start("1")
    assert site.scheduler.starts.by_owner(NOW) == {"ann": (1, 1, 5)}


async def test_a_share_that_is_used_up_leaves_wanted_jobs_to_their_turn(store: Store) -> None:
    site = site_of(store, share="0")
    site.submit(1)
    site.asked_to_try(1)
    system = System(try_start=True)
    orders = orders_of(site, system)
    orders.take_up()
    assert await orders.try_start("1")
    assert system.asked[1:] == [("try_start", "1")]
    site.offered.tried("1", True)
    assert site.scheduler.starts.by_owner(NOW) == {"ann": (1, 0, 0)}


async def test_a_job_with_a_slot_is_not_tried(site: Site) -> None:
    has_slot(site, 1)
    assert site.asked_to_try(1) is None  # it is answered later
    assert type(site.orders[-1]) is Try
    system = System()
    orders = orders_of(site, system)
    orders.take_up()
    assert not await orders.try_start("1")
    assert system.asked[1:] == []


def test_the_first_questions_of_a_ready_job_are_as_ever(site: Site) -> None:
    site.submit(1)
    site.offer(1)
    site.answer(1, MateJobId(Found.MATE, "1"), MateStatus(Status.HOLDING, 1, None), MateStarted(True))
    assert site.orders == [Start("1")]
