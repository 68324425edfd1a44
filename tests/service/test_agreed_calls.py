"""Instants of start on the way between a domain and its peer, each by the clock of whoever reads them."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.effects import Call
from cosched.core.protocol import GroupProposed, MateStarted, MateTried, ProposeGroupStart, Reply, Request, Vote
from cosched.core.timers import TimerQueue
from cosched.service.clock import Clock
from cosched.service.domain.watching import Watchers
from cosched.service.metrics import Metrics
from cosched.service.outside import ServiceOutside
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.clock_offset import Offset
from cosched.service.timers import Timers
from cosched.service.wire.message_parts import write_instant
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.peer_world import OF_SLOTS, ORDERS, QUESTIONS, Eureka, a_world, answer

AHEAD = 300.0  # seconds of Eureka's clock
KNOWN = Offset(AHEAD, 0.001)
LEAD = 0.5


class Caller:
    """A domain's outside, with its peer Eureka, who answers orders with an instant if she is asked for one."""

    def __init__(self, outside: ServiceOutside, eureka: Eureka, metrics: Metrics, heard: list[Reply]) -> None:
        self.outside, self.eureka, self.metrics, self.heard = outside, eureka, metrics, heard
        self.seen: Sequence[Any] = eureka.seen

    async def make(self, *requests: Request) -> None:
        for request in requests:
            self.outside.call(Call("eureka", "17", request))
            await self.outside.tasks.settled()

    def started(self, kind: str) -> float:
        return float(self.metrics.pair_starts[kind]._value.get())


async def keep_to_it(message: Message, context: grpc.aio.ServicerContext) -> Message:
    made = type(reply := await answer(message, context)).FromString(reply.SerializeToString())
    if isinstance(message, (wire.TryStartMateRequest, wire.StartJobRequest)):
        made.started = True
        if message.HasField("start_at"):
            made.start_at.CopyFrom(message.start_at)
    return made


@asynccontextmanager
async def a_caller(offset: Offset | None) -> AsyncIterator[Caller]:
    failed: list[BaseException] = []
    async with a_world(others=OF_SLOTS) as world:
        world.eureka.behaviour = keep_to_it
        metrics, clock, heard = Metrics("1"), Clock(), list[Reply]()
        policy, agreed = SimpleNamespace(timers=TimerQueue()), AgreedStart(lambda: LEAD, lambda _: offset, AHEAD + 1)
        calls = SimpleNamespace(answered=lambda _, reply: heard.append(reply))
        domain = SimpleNamespace(policy=policy, clock=clock, metrics=metrics, calls=calls)
        outside = ServiceOutside(domain, world.peers, agreed, None, Timers(clock), Watchers(), None, failed.append)
        yield Caller(outside, world.eureka, metrics, heard)
        await outside.tasks.close()
    assert not failed


async def test_orders_propose_an_instant_by_the_peer_s_clock_and_questions_none() -> None:
    async with a_caller(KNOWN) as caller:
        before = time.time()
        await caller.make(*QUESTIONS, *ORDERS)
        after = time.time()
        for order in caller.seen[2:]:
            proposed = order.start_at.seconds + order.start_at.nanos / 1e9
            assert before + LEAD <= proposed - AHEAD <= after + LEAD + 0.01
        assert len(caller.seen) == 4


async def test_each_attempt_proposes_anew() -> None:
    async with a_caller(KNOWN) as caller:
        await caller.make(ORDERS[1], ORDERS[1])
        first, second = (order.start_at.ToNanoseconds() for order in caller.seen)
        assert first < second


async def test_what_the_peer_answers_comes_by_our_clock() -> None:
    async with a_caller(KNOWN) as caller:
        before = time.time()
        await caller.make(*ORDERS)
        tried, started = caller.heard
        for reply in (tried, started):
            assert reply.started
            assert before + LEAD <= reply.start_at <= time.time() + LEAD + 0.01
        assert write_instant(tried.start_at + AHEAD) == caller.seen[0].start_at
        assert (caller.started("agreed"), caller.started("at_once")) == (2, 0)


@pytest.mark.parametrize("offset", [KNOWN, Offset(0.4, 0.1), Offset(-7200.3, 0.001), None])
async def test_slots_are_proposed_by_the_peer_s_clock_and_answered_by_ours(offset: Offset | None) -> None:
    ahead = offset.ahead if offset is not None else 0.0

    async def book(message: Message, _: grpc.aio.ServicerContext) -> Message:
        at = Timestamp(seconds=message.not_before.seconds + 60 * (not message.book))
        vote = wire.GROUP_VOTE_BOOKED if message.book else wire.GROUP_VOTE_NO
        return wire.ProposeGroupStartResponse(vote=vote, earliest=at)

    async with a_caller(offset) as caller:
        caller.eureka.behaviour = book
        t = 1_800_000_000
        asked = ProposeGroupStart("intrepid/17/1", "4", "17", 0, 60, not_before=t)
        await caller.make(asked, asked._replace(request_id="intrepid/17/2", only_before=t + 60, book=True))
        first, second = caller.seen
        assert abs(first.not_before.seconds - t - ahead) <= 0.5
        assert second.only_before.seconds - second.not_before.seconds == 60
        assert not first.HasField("only_before")
        assert caller.heard == [GroupProposed(Vote.NO, earliest=t + 60), GroupProposed(Vote.BOOKED, earliest=t)]


async def test_without_a_known_clock_all_start_at_once() -> None:
    async with a_caller(None) as caller:
        await caller.make(*ORDERS)
        assert caller.heard == [MateTried(True), MateStarted(True)]
        assert not any(order.HasField("start_at") for order in caller.seen)
        assert (caller.started("agreed"), caller.started("at_once")) == (0, 2)
