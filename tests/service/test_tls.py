"""Mutual TLS between domains, with real servers and certificates: who is let in, and whom a client believes."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import grpc
import pytest

from cosched.certificates.pem import server_name
from cosched.service.wire.tls import PeerCredentials, ServerTls, identity
from cosched.service.wire.tls_files import TlsFiles
from tests.service.pki import ALICE, EUREKA, INTREPID, TIMEOUT, Answering, Pki, ask, ask_once, serving
from tests.waiting import until


async def refused(address: str, peers: PeerCredentials, expected: str = INTREPID) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask_once(address, peers, expected)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_each_side_knows_the_other_by_its_uri(intrepid: str, pki: Pki) -> None:
    assert await ask_once(intrepid, pki.peers("eureka"), INTREPID) == repr([EUREKA])


async def test_long_and_odd_identities_are_told_apart(pki: Pki) -> None:
    odd = ["urn:cosched:A_B.c-%20d", "spiffe://site/" + "x" * 300, "spiffe://site/" + "x" * 299 + "X"]
    for number, uri in enumerate(odd):
        files = pki.made(f"odd{number}", [uri], [server_name(uri)])
        async with serving(Answering(), ServerTls(files).credentials()) as address:
            assert await ask_once(address, PeerCredentials(files), uri) == repr([uri])
            await refused(address, PeerCredentials(files), odd[number - 1])


def bad_clients(pki: Pki) -> dict[str, TlsFiles]:
    return {
        "perhaps not of the certificate authority": pki.of_another("eureka"),
        "has expired on 20": pki.made("expired", [EUREKA], begin=-3, end=-1),
        "is not valid before 20": pki.made("early", [EUREKA], begin=1, end=3),
    }


async def test_certificate_of_another_authority_or_time_is_refused_and_the_probe_says_why(pki: Pki):
    server = Answering()
    async with serving(server, ServerTls(pki.files("intrepid")).credentials()) as address:
        for reason, files in bad_clients(pki).items():
            await refused(address, PeerCredentials(files))
            problem = await PeerCredentials(files).probe(address, TIMEOUT, INTREPID)
            assert f"refuses this domain's certificate ({EUREKA})" in problem
            assert reason in problem
    assert server.calls == 0


async def test_client_without_certificate_and_client_without_tls_are_refused(pki: Pki) -> None:
    server = Answering()
    async with serving(server, ServerTls(pki.files("intrepid")).credentials()) as address:
        nobody = grpc.ssl_channel_credentials((pki.folder / "ca.pem").read_bytes())
        options = PeerCredentials.options(INTREPID)
        for channel in (grpc.aio.secure_channel(address, nobody, options), grpc.aio.insecure_channel(address)):
            async with channel:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await ask(channel)
                assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert server.calls == 0


async def test_server_with_a_wrong_certificate_is_refused_and_the_probe_says_why(pki: Pki, tmp_path: Path) -> None:
    wrong = {
        f"is that of {EUREKA}, not of {INTREPID}": pki.files("eureka"),
        "is not for servers": pki.files("alice", user=True),
        "lacks the DNS name": pki.made("bare", [INTREPID], ["localhost"]),
        "has expired": pki.made("expired", [INTREPID], [server_name(INTREPID)], begin=-3, end=-1),
        "is not valid yet": pki.made("early", [INTREPID], [server_name(INTREPID)], begin=1, end=3),
        "is not of this domain's certificate authority": Pki(tmp_path / "other").files("intrepid"),
    }
    client = pki.peers("client")
    for reason, files in wrong.items():
        server = Answering()
        async with serving(server, ServerTls(files).credentials()) as address:
            await refused(address, client)
            assert reason in (await client.probe(address, TIMEOUT, INTREPID) or "")
        assert server.calls == 0


async def test_nothing_is_sent_to_a_server_with_another_domains_certificate(pki: Pki) -> None:
    received: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read())
        writer.close()

    client = pki.peers("client")
    async with await asyncio.start_server(listen, "127.0.0.1", 0, ssl=_server_context(pki, "eureka")) as server:
        await refused(_address(server.sockets[0]), client, INTREPID)
        await until(lambda: received)
    assert not any(received)


async def test_alerts_of_other_implementations_are_told(pki: Pki) -> None:
    context = _server_context(pki, "intrepid")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(pki.folder / "ca.pem")
    reasons = ["it is not of the peer's certificate authority", "it has expired", "bad certificate"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = asyncio.create_task(asyncio.to_thread(_shake_hands, listener, context))
        try:
            for reason, files in zip(reasons, bad_clients(pki).values(), strict=True):
                problem = await PeerCredentials(files).probe(_address(listener), TIMEOUT)
                assert problem == f"the peer refuses this domain's certificate ({EUREKA}): {reason}"
        finally:
            listener.shutdown(socket.SHUT_RD)
            await refusing


async def test_probe_tells_a_server_without_tls(pki: Pki) -> None:
    async with serving(Answering(), None) as address:
        assert await pki.peers("eureka").probe(address, TIMEOUT) == "the peer does not speak TLS"


async def test_probe_finds_nothing_wrong_with_a_good_peer(intrepid: str, pki: Pki) -> None:
    assert await pki.peers("eureka").probe(intrepid, TIMEOUT, INTREPID) == ""


async def test_probe_blames_no_certificate_where_nobody_is_reached(pki: Pki) -> None:
    client = pki.peers("eureka")
    async with await asyncio.start_server(
        lambda _, writer: writer.transport.abort(), "127.0.0.1", 0
    ) as relay_of_a_dead_service:
        address = _address(relay_of_a_dead_service.sockets[0])
        assert await client.probe(address, TIMEOUT) is None
    assert await client.probe(address, TIMEOUT) is None
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        assert await client.probe(_address(black_hole), 0.2) is None


def test_identity_of_a_caller_without_certificate() -> None:
    assert identity({"transport_security_type": [b"insecure"]}) == []


async def test_users_certificate_is_told_as_such_and_a_user_checks_a_domain_by_its_host_name(intrepid: str, pki: Pki):
    alice = PeerCredentials(pki.files("alice", user=True))
    assert await ask_once(intrepid, alice, INTREPID) == repr([ALICE])
    for host in ("127.0.0.1", "localhost"):
        target = f"{host}:{intrepid.rpartition(':')[2]}"
        async with grpc.aio.secure_channel(target, alice.current()[1]) as channel:
            assert await ask(channel) == repr([ALICE])


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    """With all who come, in vain; ends when the listener is shut down."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, pytest.raises(ssl.SSLError), context.wrap_socket(connection, server_side=True):
            pass


def _server_context(pki: Pki, name: str) -> ssl.SSLContext:
    pki.files(name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.folder / f"{name}.pem", pki.folder / f"{name}.key")
    context.set_alpn_protocols(["h2"])
    return context


def _address(listener: Any) -> str:
    host, port = listener.getsockname()[:2]
    return f"{host}:{port}"
