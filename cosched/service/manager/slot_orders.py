"""Orders about slots, and tries of wanted jobs, for a manager that can meet: see `adapters.batch_system`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import TypeVar, assert_never
from weakref import WeakValueDictionary

from cosched.core.effects import Book, Claim, EndTurn, Quote, Unbook
from cosched.core.protocol import JobId
from cosched.service.clock import Clock
from cosched.service.domain.offered_slots import OfferedSlots
from cosched.service.tasks import Tasks
from cosched_adapters.batch_system import MeetingSystem
from cosched_adapters.manager import ManagerError

PACE = 1.0  # least seconds between two turns of jobs that could be before their slots
_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")


class SlotOrders:
    """Those of one domain. The orders of a job are carried out one after another."""

    def __init__(self, slots: OfferedSlots, system: MeetingSystem, clock: Clock, tasks: Tasks) -> None:
        self._slots, self._system = slots, system
        self._clock, self._tasks = clock, tasks
        self._taken_up = asyncio.Event()
        self._orders_of: WeakValueDictionary[JobId, asyncio.Lock] = WeakValueDictionary()
        self._freed = self._in_turns = False

    # After a restart

    def take_up(self) -> None:
        """Take up the slots on record, as soon as the manager answers. All orders wait for that."""
        self._tasks.run(self._take_up())

    async def _take_up(self) -> None:
        told = False
        while not self._taken_up.is_set():
            try:
                await self._system.take_up_slots(self._slots.on_record())
                self._taken_up.set()
            except ManagerError as error:
                if not told:  # log it once
                    _LOG.warning("slots are not taken up yet: %s", error)
                told = True
                await asyncio.sleep(PACE)

    # Orders

    async def carry_out(self, order: Quote | Book | Unbook | Claim | EndTurn) -> None:
        """Carry out an order, and tell the domain what has come of it."""
        match order:
            case Quote():
                self._slots.quoted(order, await self._in_order(order.job, lambda: self._quoted(order), None))
            case Book():
                self._slots.booked(order, await self._in_order(order.job, lambda: self._booked(order), False))
            case Unbook():
                await self._in_order(order.job, lambda: self._system.unbook(order.job), None)
            case Claim():
                self._slots.claimed(order, await self._in_order(order.job, lambda: self._system.claim(order.job), 0))
            case EndTurn():  # the job's own proposal is over
                await self._in_order(order.job, lambda: self._system.drop_quote(order.job), None)
            case _:
                assert_never(order)

    async def _quoted(self, order: Quote) -> int | None:
        not_before = self._clock.to_wall(order.not_before)
        at = await self._system.quote(order.job, not_before, self._slots.paired(), keep=not order.for_peer)
        return None if at is None else max(order.not_before, self._clock.from_wall(at))

    async def _booked(self, order: Book) -> bool:
        at, paired = self._clock.to_wall(order.at), self._slots.paired()
        return self._slots.meeting.awaits(order) and await self._system.book(order.job, order.generation, at, paired)

    async def try_start(self, job: JobId) -> int:
        """Have a wanted job offered for its mate: before its turn, as far as the budget and its owner's share allow."""
        return await self._in_order(job, lambda: self._tried(job), 0)

    async def _tried(self, job: JobId) -> int:
        slots = self._slots
        if slots.has_slot(job):  # its mate's domain asks for an earlier one
            return 0
        if not slots.may_start_before_turn(job):
            return await self._system.try_start(job)
        budget = Fraction(slots.meeting.settings.mate_budget)
        started = await self._system.start_wanted(job, budget, slots.guards, slots.ready())
        slots.pushed(job, started.pushed)
        return started.offer

    async def _in_order(self, job: JobId, call: Callable[[], Awaitable[_T]], otherwise: _T) -> _T:
        """Carry out a call after those before it; `otherwise`: what a manager has done that cannot."""
        lock = self._orders_of.setdefault(job, asyncio.Lock())
        await self._taken_up.wait()
        async with lock:
            try:
                return await call()
            except ManagerError as error:
                _LOG.info("job %s: %s", job, error)
                return otherwise

    # Early turns

    def freed(self) -> None:
        """Note that nodes are free again: soon all jobs with slots have a turn."""
        self._freed = True
        if not self._in_turns:
            self._in_turns = True
            self._tasks.run(self._have_turns())

    async def _have_turns(self) -> None:
        while self._freed:
            self._freed = False
            self._slots.freed()
            await asyncio.sleep(PACE)
        self._in_turns = False
