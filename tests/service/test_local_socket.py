"""The Unix socket for users of this host: who they are, what they may take, what is left behind."""

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from cosched.service.api.receiving import Keep, ReceivingServer, Reception
from cosched.service.listeners.local_socket import LocalSocket
from cosched.service.metrics import Metrics
from cosched.service.wire.callers import Identify, socket_caller
from cosched.sockets.connections import Room
from cosched.v1.domain_pb2 import GetDomainResponse
from cosched.v1.domain_pb2_grpc import DomainServiceServicer, add_DomainServiceServicer_to_server
from cosched.words.errors import InputError
from tests.logged import logged
from tests.service.pki import WHO, Answering, Handler, ask
from tests.waiting import until

ME = os.geteuid()
NOBODY = 65534
ROOM = Room(256, of_origin=32, of_user=32)
PATIENCE = 300  # seconds; only a safety net


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody can enter, with a short path, whose name needs quoting."""
    folder = Path(tempfile.mkdtemp(prefix="a %41-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def make_server(identify: Identify, keep: Keep) -> grpc.aio.Server:  # noqa: ARG001
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([Answering(identify)])
    return server


@contextlib.asynccontextmanager
async def listening(path: Path, **options: Any) -> AsyncIterator[LocalSocket]:
    room = Room(options.pop("most", 256), options.get("most_of_user", 32), options.pop("most_of_user", 32))
    here = LocalSocket(path, options.pop("make_server", make_server), options.pop("operators", ()), room)
    await here.open()
    try:
        yield here
    finally:
        await here.close(0)


def channel_to(path: Path) -> grpc.aio.Channel:
    # Without this, all channels to one address share a connection.
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
    return grpc.aio.insecure_channel(f"unix:{str(path).replace('%', '%25')}", options)


def connect(path: Path, user: int = ME) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    os.seteuid(user)
    try:
        connection.connect(os.fspath(path))
    finally:
        os.seteuid(ME)
    connection.setblocking(False)
    return connection


async def refused(connection: socket.socket) -> bool:
    """Whether the service closes the connection; else it speaks."""
    with contextlib.suppress(ConnectionResetError):
        # A server of HTTP/2 sends its settings at once.
        return not await asyncio.wait_for(asyncio.get_running_loop().sock_recv(connection, 1), PATIENCE)
    return True


async def test_caller_is_who_connects(place: Path) -> None:
    async with listening(place / "s") as here, channel_to(place / "s") as channel:
        assert await ask(channel) == repr(socket_caller(ME))
        assert await ask(channel) == repr(socket_caller(ME))
        assert len(here._connections) == 1
        assert stat.S_IMODE((place / "s").stat().st_mode) == 0o666
        assert stat.S_IMODE((place / ".s.d").stat().st_mode) == 0o700
        assert os.listdir(place / ".s.d") == ["server"]
    assert os.listdir(place) == []


AS_NOBODY = f"""
import os, socket, sys
import grpc, grpc._channel  # while its files can be read
path, private = sys.argv[1:]
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
try:
    socket.socket(socket.AF_UNIX).connect(private)
except PermissionError:
    pass
else:
    sys.exit("the private folder is open to others")
with grpc.insecure_channel("unix:" + path.replace("%", "%25")) as channel:
    print(channel.unary_unary({WHO!r})(b"", timeout={PATIENCE}).decode())
"""


@pytest.mark.skipif(ME != 0, reason="only root can become another user")
async def test_users_are_told_apart(place: Path) -> None:
    async with listening(place / "s", operators=["somebody"]), channel_to(place / "s") as channel:
        mine = await ask(channel)
        command = [sys.executable, "-c", AS_NOBODY, str(place / "s"), str(place / ".s.d" / "server")]
        other = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=PATIENCE)
        assert other.stdout.strip() == repr(socket_caller(NOBODY)), other.stderr
        assert "operator=False" in other.stdout
        assert mine == await ask(channel) == repr(socket_caller(0))


async def test_who_connects_past_the_public_socket_is_nobody(place: Path) -> None:
    async with listening(place / "s"), channel_to(place / ".s.d" / "server") as channel:
        assert await ask(channel) == "Caller(peer=None, user=None, operator=False, via='socket')"


# Paths


async def test_what_a_dead_service_has_left_is_replaced(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(os.fspath(place / "s"))
    (place / ".s.d").mkdir()
    (place / ".s.d" / "server").touch()
    async with listening(place / "s"), channel_to(place / "s") as channel:
        assert await ask(channel) == repr(socket_caller(ME))


async def test_socket_of_a_live_service_is_not_replaced(place: Path) -> None:
    async with listening(place / "s"), channel_to(place / "s") as channel:
        with pytest.raises(InputError, match="s: is in use by another service"):
            await LocalSocket(place / "s", make_server, (), ROOM).open()
        assert await ask(channel) == repr(socket_caller(ME))


async def test_path_that_cannot_be_used_is_refused_in_one_line(place: Path) -> None:
    (place / "file").write_text("mine")
    (place / ".taken.d").write_text("mine")
    reasons = {
        "file": "exists, and is not a socket",
        "none/s": "cannot be listened on: No such file or directory",
        "x" * 110: "is too long for a socket: at most 107 bytes",
        "taken": "cannot be made: File exists",
    }
    for name, reason in reasons.items():
        with pytest.raises(InputError) as caught:
            await LocalSocket(place / name, make_server, (), ROOM).open()
        assert str(caught.value).endswith(reason)
    assert sorted(os.listdir(place)) == [".taken.d", "file"]


# Limits


@pytest.mark.skipif(ME != 0, reason="only root can become another user")
async def test_user_has_a_limited_number_of_connections(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with listening(place / "s", most_of_user=2) as here:
        with connect(place / "s", NOBODY) as first, connect(place / "s", NOBODY) as second:
            assert not await refused(first)
            assert not await refused(second)
            for _ in range(3):
                with connect(place / "s", NOBODY) as third:
                    assert await refused(third)
        (said,) = logged(caplog, logging.WARNING)
        assert f"uid {NOBODY} is refused" in said
        await until(lambda: not here._connections)
        with connect(place / "s", NOBODY) as again:
            assert not await refused(again)


MANY = f"""
import os, sys
import grpc, grpc._channel
from cosched.client.errors import client_error
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
options = [("grpc.use_local_subchannel_pool", 1)]
channels = [grpc.insecure_channel("unix:" + sys.argv[1].replace("%", "%25"), options) for _ in range(3)]
for channel in channels:
    try:
        channel.unary_unary("/cosched.v1.DomainService/GetDomain")(b"", timeout={PATIENCE})
        print("answered")
    except grpc.RpcError as error:
        print(repr(client_error(error, "")), client_error(error, "").reason)
"""


@pytest.mark.skipif(ME != 0, reason="only root can become another user")
async def test_a_user_with_too_many_connections_is_told_so(place: Path) -> None:
    class Domain(DomainServiceServicer):
        async def GetDomain(self, *_: Any) -> GetDomainResponse:  # noqa: N802
            return GetDomainResponse()

    def make(identify: Identify, keep: Keep) -> grpc.aio.Server:
        server = grpc.aio.server()
        receiving = ReceivingServer(server, Reception(Metrics("here")), identify, keep)
        add_DomainServiceServicer_to_server(Domain(), receiving)
        return server

    here = LocalSocket(place / "s", make, (), Room(256, of_origin=4, of_user=2))
    await here.open()
    command = [sys.executable, "-c", MANY, str(place / "s")]
    said = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=PATIENCE)
    await here.close(0)
    first, second, third = said.stdout.splitlines()
    assert (first, second) == ("answered", "answered")
    assert f"socket uid {NOBODY} has 2 connections open, the most that it may have" in third
    assert third.endswith("try again later') TOO_MANY_CONNECTIONS")


@pytest.mark.skipif(ME != 0, reason="only root can become another user")
async def test_users_leave_room_for_operators(place: Path) -> None:
    async with listening(place / "s", most=8, most_of_user=4) as here:
        with contextlib.ExitStack() as stack:
            for user in (1, 2):
                users = [stack.enter_context(connect(place / "s", user)) for _ in range(4)]
                assert [await refused(each) for each in users] == [False] * 4
            assert here._connections._of_users == 6
            operators = [stack.enter_context(connect(place / "s")) for _ in range(3)]
            assert [await refused(each) for each in operators] == [False, False, True]


async def test_number_of_all_connections_is_limited(place: Path) -> None:
    async with listening(place / "s", most=1):
        with connect(place / "s") as first, connect(place / "s") as second:
            assert not await refused(first)
            assert await refused(second)


# Ends


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_connections_that_come_and_go_leave_nothing(place: Path) -> None:
    async with listening(place / "s") as here:
        async with channel_to(place / "s") as channel:
            await ask(channel)
        await until(lambda: not here._connections)
        before = descriptors()
        for _ in range(20):
            with connect(place / "s"), connect(place / "s") as spoken:
                spoken.send(b"nonsense")
            async with channel_to(place / "s") as channel:
                await ask(channel)
        await until(lambda: not here._connections and descriptors() <= before)
        assert not here._passed
        assert not here._by_name
        assert not here._connections._of_keeper


class Waiting:
    """A call that is answered when the test says so."""

    def __init__(self) -> None:
        self.asked, self.answer = asyncio.Event(), asyncio.Event()

    async def wait(self, _: bytes, __: Any) -> bytes:
        self.asked.set()
        await self.answer.wait()
        return b"done"


def answering(answer: Callable[[bytes, Any], Awaitable[bytes]]) -> Callable[[Identify, Keep], grpc.aio.Server]:
    """Make servers that answer every call so."""

    def make(identify: Identify, keep: Keep) -> grpc.aio.Server:  # noqa: ARG001
        server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
        server.add_generic_rpc_handlers([Handler(answer)])
        return server

    return make


async def test_open_call_is_answered_before_the_service_ends(place: Path) -> None:
    waiting = Waiting()
    here = LocalSocket(place / "s", answering(waiting.wait), (), ROOM)
    await here.open()
    async with channel_to(place / "s") as channel:
        call = asyncio.create_task(ask(channel))
        await waiting.asked.wait()
        closing = asyncio.create_task(here.close(PATIENCE))
        await until(lambda: not (place / "s").exists())
        waiting.answer.set()
        assert await call == "done"
        await closing
    assert os.listdir(place) == []


async def test_call_that_takes_too_long_and_idle_connections_end_with_the_service(place: Path) -> None:
    waiting = Waiting()
    here = LocalSocket(place / "s", answering(waiting.wait), (), ROOM)
    await here.open()
    with connect(place / "s") as idle:
        async with channel_to(place / "s") as channel:
            call = asyncio.create_task(ask(channel))
            await waiting.asked.wait()
            await here.close(0)
            with pytest.raises(grpc.aio.AioRpcError):
                await call
        assert not here._connections
        with contextlib.suppress(BlockingIOError):
            while idle.recv(1000):
                pass


async def test_big_messages_pass(place: Path) -> None:
    async def echo(request: bytes, _: Any) -> bytes:
        return request

    big = os.urandom(20 << 20)
    async with listening(place / "s", make_server=answering(echo)), channel_to(place / "s") as channel:
        assert await channel.unary_unary(WHO)(big, timeout=PATIENCE) == big
