"""Heartbeats compare the clocks of two domains, over real connections."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode

from cosched.service.wire.translation import write_clock
from cosched.v1 import cluster_pb2 as states
from cosched.v1 import coscheduling_pb2 as wire
from tests.logged import logged
from tests.service.faulty_proxy import PASS, delay_replies
from tests.service.peer_world import PATIENT, QUESTIONS, Behaviour, World, a_world, refuses, says, world

__all__ = ["world"]

AHEAD = 5000.0  # seconds


async def well_ahead(*_: object) -> Message:
    received = time.time() + AHEAD
    return write_clock(received, time.time() + AHEAD, takes_groups=True)


nothing = says(wire.CompareClocksResponse())
NONE = {
    "unreadable": says(b"\xff"),
    "nothing": nothing,
    "out of range": says(wire.CompareClocksResponse(received_at=Timestamp(seconds=-1))),
    "refused": refuses(StatusCode.PERMISSION_DENIED, "PEER_UNKNOWN", "who are you?"),
}


@asynccontextmanager
async def a_world_with(clock: Behaviour | None) -> AsyncIterator[World]:
    async with a_world() as world:
        world.eureka.clock = clock
        await world.eureka.restart()
        yield world


async def test_a_heartbeat_measures_how_far_the_clock_of_a_peer_is_ahead() -> None:
    async with a_world_with(well_ahead) as world:
        assert (world.view().clock_offset, world.view().clock_uncertainty) == (None, None)
        assert world.peers.clock_offset("eureka") is None
        await world.peers.beat()
        known = world.peers.clock_offset("eureka")
        assert abs(known.ahead - AHEAD) <= known.uncertainty
        view = world.view()
        assert view.clock_offset == pytest.approx(AHEAD, abs=view.clock_uncertainty)


async def test_of_several_heartbeats_the_quickest_counts() -> None:
    async with a_world_with(well_ahead) as world:
        world.proxy.set(delay_replies(0.2))
        await world.peers.beat()
        slow = quick = world.peers.clock_offset("eureka")
        world.proxy.set(PASS)
        async with asyncio.timeout(PATIENT):
            while quick.uncertainty > slow.uncertainty / 2:
                await world.peers.beat()
                quick = world.peers.clock_offset("eureka")
        world.proxy.set(delay_replies(0.2))
        await world.peers.beat()
        after = world.peers.clock_offset("eureka")
        assert slow.uncertainty >= 0.1
        assert after.uncertainty < slow.uncertainty
        for known in (slow, quick, after):
            assert abs(known.ahead - AHEAD) <= known.uncertainty


async def test_calls_and_heartbeats_of_a_peer_of_an_older_version_are_as_before(caplog: pytest.LogCaptureFixture):
    async with a_world_with(None) as world:
        for _ in range(3):
            await world.peers.beat()
            await world.call(QUESTIONS[0])
        view = world.view()
        assert (view.state, view.problem, view.clock_offset) == (states.PEER_STATE_REACHABLE, "", None)
        assert [told.state for told in world.told] == [states.PEER_STATE_REACHABLE]
    assert not logged(caplog)


@pytest.mark.parametrize("clock", NONE.values(), ids=NONE)
async def test_an_answer_that_is_none_leaves_the_offset_unknown_and_the_peer_reachable(clock: Behaviour) -> None:
    async with a_world_with(clock) as world:
        for _ in range(2):
            await world.peers.beat()
        assert world.view().state == states.PEER_STATE_REACHABLE
        assert world.peers.clock_offset("eureka") is None


async def test_a_domain_that_is_no_peer_has_no_clock(world: World) -> None:
    assert world.peers.clock_offset("mira") is None
