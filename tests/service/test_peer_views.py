"""What is known of a peer: views that follow calls and heartbeats."""

import asyncio

import grpc
import pytest
from grpc import StatusCode
from grpc_health.v1 import health_pb2

from cosched.core.protocol import MateTried
from cosched.service.configuration_sections import Peer
from cosched.service.peers.peer_view import PeerView
from cosched.service.peers.peers import PeerClients
from cosched.v1 import cluster_pb2 as states
from tests.service.faulty_proxy import BLACK_HOLE, PASS, REFUSE, FaultyProxy
from tests.service.peer_world import ORDERS, PATIENT, QUESTIONS, World, a_world, answer, refuses, world
from tests.waiting import until

__all__ = ["world"]
REACHABLE, UNREACHABLE = states.PEER_STATE_REACHABLE, states.PEER_STATE_UNREACHABLE


async def test_a_view_follows_the_calls_and_changes_are_told(world: World) -> None:
    assert world.view().state == states.PEER_STATE_UNKNOWN
    assert world.view().round_trip is None
    await world.call(QUESTIONS[0])
    reachable = world.view()
    assert (reachable.name, reachable.address) == ("eureka", world.proxy.address)
    assert (reachable.state, reachable.problem) == (REACHABLE, "")
    assert reachable.round_trip is not None
    await world.call(QUESTIONS[0])
    assert world.view().since == reachable.since
    world.proxy.set(REFUSE)
    await world.failure(QUESTIONS[0])
    assert "onnection" in world.view().problem
    world.proxy.set(PASS)
    await world.call(ORDERS[0])
    assert world.peers.views() == [world.view()]
    assert [view.state for view in world.told] == [REACHABLE, UNREACHABLE, REACHABLE]
    assert [view.since for view in world.told] == sorted(view.since for view in world.told)


async def test_heartbeats_find_a_peer_that_dies_and_comes_back() -> None:
    async with a_world(direct=True) as world:
        for _ in range(2):
            await world.peers.beat()
            assert world.view().state == REACHABLE
            await world.eureka.stop()
            await world.peers.beat()
            assert world.view().state == UNREACHABLE
            await world.eureka.start()
    assert world.eureka.seen == []


async def test_a_peer_that_says_it_is_not_serving_is_there_with_a_problem(world: World) -> None:
    await world.eureka.health.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    await world.peers.beat()
    assert world.view().state == REACHABLE
    assert world.view().problem == "it says that it does not serve now"
    assert await world.call(ORDERS[0]) == MateTried(True)  # what the call itself brings counts


async def test_a_peer_without_a_health_service_is_reachable(world: World) -> None:
    world.eureka.health = None
    await world.eureka.restart()
    await world.peers.beat()
    assert world.view().state == REACHABLE
    assert await world.call(ORDERS[0]) == MateTried(True)


async def test_a_heartbeat_does_not_hide_that_calls_are_refused(world: World) -> None:
    world.eureka.behaviour = refuses(StatusCode.PERMISSION_DENIED, "PEER_UNKNOWN", "who are you?")
    await world.failure(QUESTIONS[0])
    await world.peers.beat()
    assert world.view().state == states.PEER_STATE_REFUSED
    assert world.view().problem == "PERMISSION_DENIED PEER_UNKNOWN: who are you?"
    world.eureka.behaviour = answer
    await world.call(QUESTIONS[0])
    await world.peers.beat()
    assert world.view().state == REACHABLE


async def test_a_heartbeat_waits_for_all_peers_at_once() -> None:
    with FaultyProxy("127.0.0.1:9", BLACK_HOLE) as hole:
        told: list[PeerView] = []
        silent = [Peer(name=f"silent{number}", address=hole.address) for number in range(20)]
        peers = PeerClients("intrepid", silent, PATIENT, None, told.append)
        beat = asyncio.ensure_future(peers.beat())
        await until(lambda: hole.accepted == 20)  # before any of them has answered, or will
        assert not told
        hole.set(REFUSE)
        await beat
        assert [view.state for view in peers.views()] == [UNREACHABLE] * 20
        assert len(told) == 20
        await peers.close()


@pytest.mark.parametrize(
    ("code", "there"),
    [
        (grpc.StatusCode.RESOURCE_EXHAUSTED, [True]),  # too busy for the question, but alive
        (grpc.StatusCode.UNAVAILABLE, [False]),
        (grpc.StatusCode.PERMISSION_DENIED, []),  # a misconfiguration says nothing of that
        (grpc.StatusCode.UNIMPLEMENTED, [True]),  # an answer, of a peer without that service
    ],
)
async def test_what_an_answer_to_the_question_for_its_health_says(world, code, there):
    async def check(_: object, context: grpc.aio.ServicerContext) -> None:
        await context.abort(code, "no")

    heard: list[bool] = []
    world.peers._peers["eureka"]._health = lambda _, well: heard.append(well)
    world.eureka.health.Check = check
    await world.eureka.restart()
    await world.peers.beat()
    assert heard == there
