"""How calls come in: their message in time, within the quota of the caller, and whatever others do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import grpc
import pytest

from cosched.service.api.quotas import CALLS, STREAMS
from cosched.service.api.receiving import ReceivingServer, Reception
from cosched.service.metrics import Metrics
from cosched.service.wire.callers import Caller
from cosched.words.error_details import error_info
from tests.live.raw_http2 import RawConnection, dial
from tests.logged import logged
from tests.service.pki import running
from tests.waiting import until

SERVICE = "test.Test"
PATIENCE = 300  # seconds; only a safety net
ANN, BOB = Caller(None, "ann", False, "socket uid 1"), Caller(None, "bob", False, "socket uid 2")
ROOT, PEER = Caller(None, "root", True, "socket uid 0"), Caller("b", None, False, "certificate b")


class World:
    """A server whose calls end when the test says so; each call says who makes it."""

    def __init__(self, *callers: Caller, **options: Any) -> None:
        self.callers = {caller.via: caller for caller in (ANN, BOB, ROOT, PEER, *callers)}
        self.reception = Reception(Metrics("test"), **options)
        self.under_way = 0
        self.go = asyncio.Event()
        self.kept: set[str] = set()

    def identify(self, context: Any) -> Caller:
        return self.callers[dict(context.invocation_metadata()).get("via", ANN.via)]

    async def keep(self, _: Any, caller: Caller) -> None:
        self.kept.add(caller.via)

    async def one(self, request: bytes, context: Any) -> bytes:  # noqa: ARG002
        self.under_way += 1
        try:
            if request == b"wait":
                await self.go.wait()
        finally:
            self.under_way -= 1
        return request

    async def many(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield await self.one(request, context)

    async def both(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            yield await self.one(request, context)

    def add_to(self, server: grpc.aio.Server) -> None:
        receiving = ReceivingServer(server, self.reception, self.identify, self.keep)
        handlers = {
            "One": grpc.unary_unary_rpc_method_handler(self.one, bytes, bytes),
            "Many": grpc.unary_stream_rpc_method_handler(self.many, bytes, bytes),
            "Both": grpc.stream_stream_rpc_method_handler(self.both, bytes, bytes),
        }
        receiving.add_registered_method_handlers(SERVICE, handlers)


@asynccontextmanager
async def served(world: World) -> AsyncIterator[tuple[str, grpc.aio.Channel]]:
    server = grpc.aio.server()
    world.add_to(server)
    own_connection = [("grpc.use_local_subchannel_pool", 1)]
    async with running(server) as address, grpc.aio.insecure_channel(address, own_connection) as channel:
        yield address, channel
        world.go.set()


def ask(channel: grpc.aio.Channel, content: bytes = b"", caller: Caller = ANN, method: str = "One") -> Any:
    call = channel.unary_unary if method == "One" else channel.unary_stream
    return call(f"/{SERVICE}/{method}")(content, metadata=[("via", caller.via)], timeout=PATIENCE)


async def refused(call: Any) -> tuple[str, str]:
    """Code and reason of the error by which a call ends."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read() if isinstance(call, grpc.aio.UnaryStreamCall) else await call
    info = error_info(caught.value)
    return caught.value.code().name, info[0] if info else ""


def raw(address: str) -> closing[RawConnection]:
    return closing(RawConnection(dial(address)))


async def test_a_call_is_answered_and_its_connection_kept() -> None:
    world = World()
    async with served(world) as (_, channel):
        assert await ask(channel, b"x", PEER) == b"x"
        assert [answer async for answer in ask(channel, b"y", BOB, "Many")] == [b"y"]
        both = channel.stream_stream(f"/{SERVICE}/Both")(iter([b"1", b"2"]), timeout=PATIENCE)
        assert [answer async for answer in both] == [b"1", b"2"]
        assert world.kept == {PEER.via, BOB.via, ANN.via}


@pytest.mark.parametrize("method", ["One", "Many", "Both"])
async def test_a_call_whose_message_does_not_come_ends(method: str) -> None:
    world = World(patience=0.2)
    async with served(world) as (address, _):
        with raw(address) as connection:
            connection.begin(f"/{SERVICE}/{method}")
            assert await asyncio.to_thread(connection.ended, PATIENCE) is not None
        await until(lambda: not world.reception._half_open and not world.reception._quotas._of_caller)


async def test_a_call_that_ends_without_a_message_is_refused() -> None:
    world = World()
    async with served(world) as (address, _):
        with raw(address) as connection:
            connection.end(connection.begin(f"/{SERVICE}/One"))
            assert await asyncio.to_thread(connection.ended, PATIENCE) is not None
        assert not world.reception._half_open


async def test_half_open_calls_keep_nobody_out() -> None:
    world = World(most_half_open=50)
    async with served(world) as (address, channel):
        with raw(address) as first, raw(address) as second:
            for connection in (first, second):
                for _ in range(90):
                    connection.begin(f"/{SERVICE}/One")
            assert await asyncio.to_thread(first.ended, PATIENCE) is not None  # the oldest go
            assert [await ask(channel, b"%d" % number) for number in range(20)] == [b"%d" % n for n in range(20)]
            assert len(world.reception._half_open) <= 50
        await until(lambda: not world.reception._half_open)


@pytest.mark.parametrize(("method", "limits"), [("One", CALLS), ("Many", STREAMS)])
async def test_a_caller_has_so_many_calls_and_others_have_theirs(method: str, limits: Any) -> None:
    world = World()
    async with served(world) as (_, channel):
        waiting = [ask(channel, b"wait", ANN, method) for _ in range(limits.user)]
        await until(lambda: world.under_way == limits.user)
        assert await refused(ask(channel, b"", ANN, method)) == ("RESOURCE_EXHAUSTED", limits.reason)
        for caller in (BOB, ROOT, PEER):
            call = ask(channel, b"x", caller, method)
            assert await (call.read() if method == "Many" else call) == b"x"
        waiting.pop().cancel()
        await until(lambda: world.under_way == limits.user - 1)
        assert await ask(channel, b"x") == b"x"


async def test_users_together_leave_room_for_peers_and_operators(caplog: pytest.LogCaptureFixture) -> None:
    many = [Caller(None, f"u{n}", False, f"socket uid {n}") for n in range(10, 10 + CALLS.users // CALLS.user)]
    world = World(*many)
    async with served(world) as (_, channel):
        waiting = [ask(channel, b"wait", caller) for caller in many for _ in range(CALLS.user)]
        await until(lambda: world.under_way == CALLS.users)
        for _ in range(5):
            assert await refused(ask(channel, b"", BOB)) == ("RESOURCE_EXHAUSTED", "TOO_MANY_CALLS")
        assert (await ask(channel, b"x", ROOT), await ask(channel, b"x", PEER)) == (b"x", b"x")
        world.go.set()
        await asyncio.gather(*waiting)
        assert await ask(channel, b"x", BOB) == b"x"
    assert logged(caplog) == [f"refused: users have {CALLS.users} calls open, the most of all together"]
