"""Who may connect when there is little room, and that a service without descriptors waits for some."""

import asyncio
import logging
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from cosched.service.listeners.remote_socket import RemoteSocket
from cosched.service.wire.callers import Caller, plaintext_callers
from cosched.sockets import accepting
from cosched.sockets.accepting import AT_ONCE, BURST, OFTEN, OFTEN_OF_ALL, Acceptor, Pace
from cosched.sockets.connections import Connection, Connections, Room
from tests.logged import logged
from tests.service.pki import Answering, ask
from tests.waiting import until

PATIENCE = 300  # seconds; only a safety net
PEER, ROOT = Caller("b", None, False, "certificate b"), Caller(None, "root", True, "socket uid 0")


def user(number: int) -> Caller:
    return Caller(None, f"u{number}", False, f"certificate u{number}")


class Place:
    """Connections with names, some of which have been ended for others."""

    def __init__(self, most: int, of_origin: int, of_user: int) -> None:
        self.connections = Connections(Room(most, of_origin, of_user))
        self.named: dict[str, Connection] = {}
        self.cut: list[str] = []

    def admit(self, name: str, origin: str = "here") -> bool:
        self.named[name] = Connection(origin, lambda: self.cut.append(name))
        return self.connections.admit(self.named[name])

    def keep(self, name: str, caller: Caller) -> bool:
        is_user = caller.peer is None and not caller.operator
        return self.connections.keep(self.named[name], caller.via, is_user)


def test_of_an_origin_that_has_too_many_the_oldest_that_nobody_uses_goes():
    place = Place(most=10, of_origin=3, of_user=5)
    for name in "abc":
        assert place.admit(name)
    assert place.keep("a", PEER)
    assert place.admit("d")
    assert place.cut == ["b"]
    assert place.admit("e", "there")
    assert place.keep("c", PEER)
    assert place.keep("d", PEER)
    assert not place.admit("f")
    assert place.cut == ["b"]
    assert place.connections.ended(place.named["a"])
    assert place.admit("g")


def test_silent_connections_of_many_origins_lock_nobody_out():
    place = Place(most=8, of_origin=4, of_user=2)
    assert place.admit("peer", "eureka")
    assert place.keep("peer", PEER)
    for number in range(100):
        assert place.admit(f"silent {number}", f"host {number // 4}")
    assert len(place.connections) == 8
    assert place.admit("root")
    assert "peer" not in place.cut


def test_users_keep_no_more_than_leaves_room_for_others():
    place = Place(most=8, of_origin=8, of_user=2)
    for number in range(8):
        assert place.admit(f"{number}", f"host {number}")
    kept = [place.keep(f"{number}", user(number // 3)) for number in range(8)]
    assert kept == [True, True, False, True, True, False, True, True]  # of one user two
    assert not place.keep("2", user(9))  # six of all users
    assert place.keep("2", PEER)
    assert place.admit("another", "far")
    assert place.cut == ["5"]


def test_an_origin_may_come_so_often_and_all_together_so_often():
    pace = Pace()
    burst, of_all = int(BURST * OFTEN), int(BURST * OFTEN_OF_ALL)
    assert [pace.allows("a", 0.0) for _ in range(burst + 2)] == [True] * burst + [False] * 2
    assert sum(pace.allows(f"{number}", 0.0) for number in range(of_all)) == of_all - burst
    assert not pace.allows("new", 0.0)
    assert [pace.allows("a", 1.2 / OFTEN) for _ in range(2)] == [True, False]
    for number in range(5000):
        assert pace.allows(f"{number}", 60.0 + number)
    assert len(pace._due) <= 1001  # those that have kept to their pace are forgotten


# On real sockets


async def test_a_flood_leaves_other_work_its_turns_and_whoever_is_trusted_a_way_in(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(accepting, "REST", 1e9)
    monkeypatch.setattr(accepting, "OFTEN", 0.001)
    monkeypatch.setattr(accepting, "BURST", 10 / 0.001)
    arrived: list[socket.socket] = []

    def serve(trusted: bool) -> Acceptor:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / f"{trusted}"))
        listener.listen(3 * AT_ONCE)
        return Acceptor(listener, lambda connection, _: arrived.append(connection), lambda _: trusted)

    for trusted, number in ((False, 10), (True, AT_ONCE)):
        acceptor = serve(trusted)
        clients = [socket.socket(socket.AF_UNIX) for _ in range(3 * AT_ONCE)]
        for client in clients:
            client.connect(str(tmp_path / f"{trusted}"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(arrived) == number
        acceptor.close()
        while arrived:
            arrived.pop().close()
        for client in clients:
            client.close()
    (said,) = logged(caplog, logging.WARNING)
    assert said == f"uid {os.geteuid()} connects too often: a connection is closed"


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


async def test_a_caller_is_served_beside_connections_that_say_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    front = RemoteSocket("127.0.0.1:0", tmp_path / ("private" * 20), Room(12, of_origin=8, of_user=4))
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Answering(plaintext_callers(front.origin))])
    await front.open(server, server.add_insecure_port)
    silent = [connect(front.port) for _ in range(6)]
    await until(lambda: len(front._passed) == 6)
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{front.port}", options) as channel:
        assert "plaintext from 127.0.0.1" in await ask(channel)
        for passed in front._passed.values():
            if passed.connection not in list(front._connections._standing)[:6]:
                front._connections.keep(passed.connection, PEER, False)
        for _ in range(50):
            silent.append(connect(front.port))
        await until(lambda: len(front._connections) == 8)
        assert "plaintext from 127.0.0.1" in await ask(channel)
    for connection in silent:
        connection.close()
    for _ in range(100):  # gone before they are passed on
        connect(front.port).close()
    await until(lambda: not front._passed)
    await front.close(0)
    assert os.listdir(tmp_path) == []
    assert logged(caplog, logging.ERROR) == []
    assert not front._by_name


@contextmanager
def few_descriptors(left: int) -> Iterator[None]:
    """This process may open no more than so many; ended by raising the limit again."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)  # of those that are free
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + left, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


async def test_without_descriptors_connections_wait_and_the_log_says_so_once(caplog, monkeypatch):
    monkeypatch.setattr(accepting, "PAUSE", 0.01)
    accepted: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=50)
    port = listener.getsockname()[1]
    acceptor = Acceptor(listener, lambda connection, _: accepted.append(connection))
    with caplog.at_level(logging.WARNING):
        clients = [socket.socket() for _ in range(20)]
        with few_descriptors(4):
            for client in clients:
                client.connect(("127.0.0.1", port))
            await until(lambda: sum(said.since for said in acceptor._log._said.values()) > 5)  # tried again, in vain
            assert len(accepted) < 20
        await until(lambda: len(accepted) == 20)
    (said,) = logged(caplog)
    assert "no connection can be accepted at present: Too many open files" in said
    acceptor.close()
    for connection in (*accepted, *clients):
        connection.close()
