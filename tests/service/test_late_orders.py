"""An order to a resource manager that schedules leaves once it is on disk; its job may be offered anew before that."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cosched.core.effects import Start
from cosched.core.events import ReleaseDue
from cosched.core.job import JobState
from cosched.core.protocol import MemberTold, Status, named_mate
from cosched.core.settings import Scheme
from cosched.service.manager.offers import Offers
from cosched.service.peers.linking import Coupled
from cosched.service.store import Store
from cosched.service.tasks import Tasks
from cosched_adapters.batch_system import Offered
from cosched_adapters.manager import MustHoldError
from tests.conformance.memory import Machine, Memory
from tests.service.offered_site import Site

NOBODY = SimpleNamespace()


class Manned:
    """A site whose orders a test carries out, on a machine of two nodes where job 1 is offered."""

    def __init__(self, site: Site) -> None:
        self.site, self.machine = site, Machine(2)
        self.manager = Memory(self.machine)
        self.offers = Offers(site.domain, site.offered, self.manager, NOBODY, Coupled(["b"]), Tasks(pytest.fail))

    async def open(self) -> Manned:
        await self.manager.open()
        self.machine.submit(2, 600, named_mate("", "1"))
        return self

    def read(self) -> None:
        """The offers that the manager has reported."""
        while not self.manager._reports.empty():
            if isinstance(report := self.manager._reports.get_nowait(), Offered):
                self.offers.hear(report)

    async def carry_out(self, *orders: Any) -> None:
        for order in orders:
            await self.offers.carry_out(order)

    @property
    def kept(self) -> int:
        """Nodes that the manager keeps for jobs that wait."""
        return self.machine.kept


def release_is_due(site: Site) -> None:
    site.domain.timer_due(ReleaseDue("1"))


async def test_the_end_of_a_hold_before_a_restart_leaves_the_hold_after_it_alone(store: Store) -> None:
    before = Site(store)
    before.submit(1)
    before.hold(1)
    manned = await Manned(site := Site(store)).open()
    release_is_due(site)
    late = site.orders
    manned.read()
    site.answer(1, *site.no_luck(1))
    assert site.state(1) is JobState.HOLDING
    await manned.carry_out(*late)
    assert (len(late), manned.kept) == (1, 2)
    release_is_due(site)
    await manned.carry_out(*site.orders)
    assert (site.state(1), manned.kept) == (JobState.QUEUED, 0)


@pytest.mark.parametrize("scheme", [Scheme.HOLD, Scheme.YIELD])
async def test_a_job_that_lost_its_nodes_before_an_order_came_keeps_those_that_it_has_got_since(store, scheme):
    manned = await Manned(site := Site(store, scheme=scheme)).open()
    site.submit(1)
    manned.read()
    site.answer(1, *site.no_luck(1))
    if scheme is Scheme.HOLD:
        release_is_due(site)
    late = site.orders
    await manned.manager.give_back("1", 0.0)
    await manned.manager.hasten("1")
    manned.read()
    assert site.state(1) is JobState.READY
    await manned.carry_out(*late)
    assert (len(late), manned.kept) == (1, 2)


async def test_a_job_that_ends_while_its_manager_says_that_it_cannot_yield_is_offered_no_more(store: Store) -> None:
    site = Site(store, scheme=Scheme.YIELD)
    manned = Manned(site)
    site.submit(1)
    site.hold(1)

    async def give_back(*_: Any) -> bool:
        site.domain.end("1", JobState.CANCELLED)
        raise MustHoldError("it would be lost")

    manned.manager.give_back = give_back
    await manned.carry_out(*site.orders)
    assert site.state(1) is None


async def test_the_start_of_a_job_that_lost_its_nodes_before_it_came_is_void(store: Store) -> None:
    manned = await Manned(site := Site(store)).open()
    site.submit(1)
    manned.read()
    site.ready(1, Status.RUNNING)
    late = site.orders
    assert late == [Start("1")]
    site.offered.withdrawn("1")
    site.domain.calls.answered(site.outside.calls[-1], MemberTold(True))  # else it asks for no nodes
    site.offer(1, number=2)
    await manned.carry_out(*late)
    await asyncio.sleep(0.01)  # the manager would start it now
    assert (manned.machine.jobs["1"].state, site.state(1)) == ("queued", JobState.READY)
