"""Orders about slots to a batch system: what waits for what, and what comes of a failure."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

import pytest

from cosched.core.effects import Quote, Start, Try, Unbook
from cosched.core.protocol import MateTried
from cosched.service.manager.slot_orders import SlotOrders
from cosched.service.store import Store
from cosched.service.tasks import Tasks
from cosched_adapters.batch_system import SlotOnRecord, WantedStart
from cosched_adapters.manager import UnavailableError
from tests.service.offered_site import NOW, Site
from tests.service.slot_site import SLOT, has_slot, last, propose, site, site_of, slots_of

__all__ = ["site"]


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

    async def start_wanted(self, job_id: str, budget: Fraction, guards: dict[str, int], ready: Collection[str]) -> Any:
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
    """They know the slots on record."""
    orders = SlotOrders(slots_of(site), system, site.clock, Tasks(pytest.fail))
    orders.take_up()
    return orders


async def test_orders_of_a_job_wait_for_those_before_it_and_for_the_slots_on_record(site, monkeypatch):
    monkeypatch.setattr("cosched.service.manager.slot_orders.PACE", 0)
    has_slot(site, 1)
    system = System()
    system.silent = 2
    orders = SlotOrders(slots_of(site), system, site.clock, Tasks(pytest.fail))
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
    await orders.carry_out(last(site, Quote))
    assert site.domain.core.reserving.asked == {}


async def test_a_wanted_job_starts_within_the_budget_and_is_counted(site: Site, store: Store) -> None:
    site.submit(1, 2)
    site.ready(2)
    site.answer(2, MateTried(False))
    site.asked_to_try(1)
    system = System(start_wanted=WantedStart(True, 5))
    assert await orders_of(site, system).try_start("1")
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
    assert await orders_of(site, system).try_start("1")
    assert system.asked[1:] == [("try_start", "1")]
    site.offered.tried("1", True)
    assert site.scheduler.starts.by_owner(NOW) == {"ann": (1, 0, 0)}


async def test_a_job_with_a_slot_is_not_tried(site: Site) -> None:
    has_slot(site, 1)
    assert site.asked_to_try(1) is None  # it is answered later
    assert type(site.orders[-1]) is Try
    system = System()
    assert not await orders_of(site, system).try_start("1")
    assert system.asked[1:] == []
