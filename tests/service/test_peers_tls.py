"""Calls to a peer over mutual TLS: trouble with certificates is a refusal, never a peer that is down."""

import asyncio
from collections.abc import Callable

import grpc
import pytest
from google.protobuf.message import Message

from cosched.certificates.pem import server_name
from cosched.service.peers import peer
from cosched.service.wire.tls import PeerCredentials, ServerTls
from cosched.service.wire.tls_files import TlsFiles
from cosched.v1 import cluster_pb2 as states
from tests.service.faulty_proxy import BLACK_HOLE, REFUSE
from tests.service.peer_world import CALLS, HASTY, ORDERS, REFUSED, UNREACHABLE, a_world, answer
from tests.service.pki import EUREKA, INTREPID, Pki
from tests.waiting import until

Credentials = tuple[PeerCredentials | None, grpc.ServerCredentials | None]


def good_server(pki: Pki) -> grpc.ServerCredentials:
    return ServerTls(pki.files("eureka")).credentials()


def all_good(pki: Pki) -> Credentials:
    return pki.peers("intrepid"), good_server(pki)


# Trouble: the client's credentials, and the server's


def client_of_another_authority(pki: Pki) -> Credentials:
    other = pki.folder / "other"
    Pki(other).files("intrepid")
    stranger = TlsFiles(pki.folder / "ca.pem", other / "intrepid.pem", other / "intrepid.key")
    return PeerCredentials(stranger), good_server(pki)


def client_has_expired(pki: Pki) -> Credentials:
    return PeerCredentials(pki.made("expired", [INTREPID], begin=-3, end=-1)), good_server(pki)


def server_of_another_authority(pki: Pki) -> Credentials:
    return pki.peers("intrepid"), good_server(Pki(pki.folder / "other"))


def server_has_expired(pki: Pki) -> Credentials:
    expired = pki.made("expired", [EUREKA], [server_name(EUREKA)], begin=-3, end=-1)
    return pki.peers("intrepid"), ServerTls(expired).credentials()


def server_is_another_domain(pki: Pki) -> Credentials:
    return pki.peers("intrepid"), ServerTls(pki.files("mira")).credentials()


def server_has_no_tls(pki: Pki) -> Credentials:
    return pki.peers("intrepid"), None


def client_has_no_tls(pki: Pki) -> Credentials:
    return None, good_server(pki)


@pytest.mark.parametrize(
    "trouble",
    [
        client_of_another_authority, client_has_expired, server_of_another_authority, server_has_expired,
        server_is_another_domain, server_has_no_tls, client_has_no_tls,
    ],
)  # fmt: skip
async def test_trouble_with_certificates_is_a_refusal(trouble: Callable[[Pki], Credentials], pki: Pki) -> None:
    client, server = trouble(pki)
    async with a_world(client=client, server=server) as world:
        await world.peers.beat()
        assert world.view().state == states.PEER_STATE_REFUSED
        assert [await world.failure(request) for request in CALLS] == [REFUSED] * 4
        assert world.view().state == states.PEER_STATE_REFUSED
        assert world.eureka.seen == []


async def test_good_certificates_let_all_calls_through(pki: Pki) -> None:
    client, server = all_good(pki)
    async with a_world(client=client, server=server) as world:
        for request in CALLS:
            await world.call(request)
        assert world.proxy.accepted == 1


async def test_a_peers_certificate_is_checked_anew_now_and_then(pki: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
    client, server = all_good(pki)
    async with a_world(client=client, server=server) as world:
        await world.call(CALLS[0])
        monkeypatch.setattr(peer, "OLDEST_LINE", -1.0)
        await world.call(CALLS[0])
        await world.call(CALLS[0])
        assert world.proxy.accepted == 3


async def test_a_peer_that_is_down_is_not_blamed_on_its_certificates(pki: Pki) -> None:
    client, server = all_good(pki)
    async with a_world(client=client, server=server) as world:
        world.proxy.set(REFUSE)
        assert [await world.failure(request) for request in CALLS] == [UNREACHABLE] * 4


async def test_a_silent_peer_is_not_blamed_on_its_certificates(pki: Pki) -> None:
    client, server = all_good(pki)
    async with a_world(client=client, server=server) as world:
        world.proxy.set(BLACK_HOLE)
        with world.waiting(HASTY):
            assert [await world.failure(request) for request in CALLS] == [UNREACHABLE] * 4


async def test_a_refusal_ends_when_the_certificate_is_replaced(pki: Pki) -> None:
    client, server = client_has_expired(pki)
    async with a_world(client=client, server=server) as world:
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

    _, server = server_has_expired(pki)
    async with a_world(client=Late(pki.open("intrepid")), server=server) as world:
        for request in CALLS:
            await world.call(request)


async def test_new_certificates_are_used_by_later_calls_and_open_ones_go_on(pki: Pki) -> None:
    finish = asyncio.Event()

    async def slowly(message: Message, context: grpc.aio.ServicerContext) -> Message:
        await finish.wait()
        return await answer(message, context)

    client, server = all_good(pki)
    async with a_world(client=client, server=server) as world:
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
