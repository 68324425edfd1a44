"""Calls to a peer over mutual TLS: trouble with certificates is a refusal, never a peer that is down."""

import asyncio
from collections.abc import AsyncIterator, Callable

import grpc
import pytest
from google.protobuf.message import Message

from cosched.certificates.pem import server_name
from cosched.service.peers import peer
from cosched.service.wire.tls import PeerCredentials, ServerTls
from cosched.v1 import cluster_pb2 as states
from tests.service.faulty_proxy import BLACK_HOLE, REFUSE
from tests.service.peer_world import CALLS, HASTY, ORDERS, REFUSED, UNREACHABLE, World, a_world, answer
from tests.service.pki import EUREKA, INTREPID, Pki
from tests.waiting import until

Credentials = tuple[PeerCredentials | None, grpc.ServerCredentials | None]


def good_server(pki: Pki) -> grpc.ServerCredentials:
    return ServerTls(pki.files("eureka")).credentials()


@pytest.fixture
async def world(pki: Pki) -> AsyncIterator[World]:
    """Both have good certificates."""
    async with a_world(client=pki.peers("intrepid"), server=good_server(pki)) as made:
        yield made


def expired_client(pki: Pki) -> PeerCredentials:
    return PeerCredentials(pki.made("expired", [INTREPID], begin=-3, end=-1))


def expired_server(pki: Pki) -> grpc.ServerCredentials:
    return ServerTls(pki.made("expired", [EUREKA], [server_name(EUREKA)], begin=-3, end=-1)).credentials()


TROUBLE: dict[str, Callable[[Pki], Credentials]] = {
    "client of another authority": lambda pki: (PeerCredentials(pki.of_another("intrepid")), good_server(pki)),
    "client has expired": lambda pki: (expired_client(pki), good_server(pki)),
    "server of another authority": lambda pki: (pki.peers("intrepid"), good_server(Pki(pki.folder / "other"))),
    "server has expired": lambda pki: (pki.peers("intrepid"), expired_server(pki)),
    "server is another domain": lambda pki: (pki.peers("intrepid"), ServerTls(pki.files("mira")).credentials()),
    "server has no TLS": lambda pki: (pki.peers("intrepid"), None),
    "client has no TLS": lambda pki: (None, good_server(pki)),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
async def test_trouble_with_certificates_is_a_refusal(trouble: Callable[[Pki], Credentials], pki: Pki) -> None:
    client, server = trouble(pki)
    async with a_world(client=client, server=server) as world:
        await world.peers.beat()
        assert world.view().state == states.PEER_STATE_REFUSED
        assert [await world.failure(request) for request in CALLS] == [REFUSED] * 4
        assert world.view().state == states.PEER_STATE_REFUSED
        assert world.eureka.seen == []


async def test_good_certificates_let_all_calls_through(world: World) -> None:
    for request in CALLS:
        await world.call(request)
    assert world.proxy.accepted == 1


async def test_a_peers_certificate_is_checked_anew_now_and_then(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.call(CALLS[0])
    monkeypatch.setattr(peer, "OLDEST_LINE", -1.0)
    await world.call(CALLS[0])
    await world.call(CALLS[0])
    assert world.proxy.accepted == 3


async def test_a_peer_that_is_down_is_not_blamed_on_its_certificates(world: World) -> None:
    world.proxy.set(REFUSE)
    assert [await world.failure(request) for request in CALLS] == [UNREACHABLE] * 4


async def test_a_silent_peer_is_not_blamed_on_its_certificates(world: World) -> None:
    world.proxy.set(BLACK_HOLE)
    with world.waiting(HASTY):
        assert [await world.failure(request) for request in CALLS] == [UNREACHABLE] * 4


async def test_a_refusal_ends_when_the_certificate_is_replaced(pki: Pki) -> None:
    async with a_world(client=expired_client(pki), server=good_server(pki)) as world:
        assert await world.failure(ORDERS[0]) is REFUSED
        pki.made("expired", [INTREPID], begin=-1, end=1)
        await world.peers.beat()
        assert world.view().state == states.PEER_STATE_REACHABLE
        await world.call(ORDERS[0])


async def test_a_certificate_that_is_replaced_while_its_refusal_is_looked_into_is_used_at_once(pki: Pki) -> None:
    class Late(PeerCredentials):
        async def probe(self, address: str, timeout: float, identity: str | None = None) -> str | None:
            pki.made("expired", [EUREKA], [server_name(EUREKA)], begin=-1, end=1)
            return await super().probe(address, timeout, identity)

    pki.files("intrepid")
    async with a_world(client=Late(pki.open("intrepid")), server=expired_server(pki)) as world:
        for request in CALLS:
            await world.call(request)


async def test_new_certificates_are_used_by_later_calls_and_open_ones_go_on(world: World, pki: Pki) -> None:
    finish = asyncio.Event()

    async def slowly(message: Message, context: grpc.aio.ServicerContext) -> Message:
        await finish.wait()
        return await answer(message, context)

    world.eureka.behaviour = slowly
    first = asyncio.ensure_future(world.call(ORDERS[0]))
    await world.eureka.asked.wait()
    pki.files("intrepid", force=True)
    world.eureka.behaviour = answer
    await world.call(ORDERS[1])
    assert (world.proxy.accepted, world.proxy.open) == (2, 4)
    assert not first.done()
    finish.set()
    await first
    await until(lambda: world.proxy.open <= 2)  # the old connection is closed
    await world.call(ORDERS[0])
    assert world.proxy.accepted == 2
