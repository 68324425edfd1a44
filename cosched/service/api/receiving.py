"""Receives calls: the message must arrive in time, be readable, and fit the caller's quota.

gRPC for Python waits for a call's message without end, and limits the number of calls only for all callers together,
including half-open calls. So each method is registered as one that takes a stream of messages: gRPC then hands the call
over as soon as it begins. On the wire this is the same. A call without its message yet takes nothing that others need:
there may be MOST_HALF_OPEN of them, and one more ends the oldest.

An unreadable message gets the error that the protocol files promise. gRPC for Python would answer UNKNOWN, which a peer
must take for "perhaps carried out", and log a stack trace each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol

import grpc
from google.protobuf.message import DecodeError

from cosched.service.api.answering import Context
from cosched.service.api.quotas import CALLS, STREAMS, Limits, Quotas
from cosched.service.metrics import Metrics
from cosched.service.wire.callers import Caller, Identify
from cosched.service.wire.errors import Refusal, abort

PATIENCE = 20.0  # seconds for a message to arrive
MOST_HALF_OPEN = 2048  # calls, which take 24 KB each
Keep = Callable[[Context, Caller], Awaitable[None]]
_OF_PEERS = frozenset({"cosched.v1.CoschedulingService", "grpc.health.v1.Health"})
_UNREADABLE = object()
_NOT_READABLE = Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "the message cannot be read", {"field": ""})
_NO_MESSAGE = Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "NO_MESSAGE", "the call's message did not arrive in time")


class Reception:
    """Receives the calls of all listeners of one service."""

    def __init__(self, metrics: Metrics, *, patience: float = PATIENCE, most_half_open: int = MOST_HALF_OPEN) -> None:
        self._metrics = metrics
        self._quotas = Quotas()
        self._patience, self._most_half_open = patience, most_half_open
        self._half_open: dict[asyncio.Timeout, None] = {}  # the oldest first

    @asynccontextmanager
    async def call(self, method: _Method, context: Context) -> AsyncIterator[Any]:
        """Yield the message of a call to a method that takes one; the quota counts the call meanwhile."""
        try:
            message = await self._message(context)
        except Refusal as refusal:
            await self._refuse(method, context, refusal)
        if message is _UNREADABLE or message is grpc.aio.EOF:
            await self._refuse(method, context, _NOT_READABLE)
        async with self._place(method, context):
            yield message

    @asynccontextmanager
    async def stream(self, method: _Method, context: Context) -> AsyncIterator[AsyncIterator[Any]]:
        """Yield the messages of a call to a method that takes many; the quota counts the call meanwhile."""
        async with self._place(method, context):
            try:
                yield self._messages(context)
            except Refusal as refusal:
                await self._refuse(method, context, refusal)

    async def _messages(self, context: Context) -> AsyncIterator[Any]:
        while (message := await self._message(context)) is not grpc.aio.EOF:
            if message is _UNREADABLE:
                raise _NOT_READABLE
            yield message

    async def _message(self, context: Context) -> Any:
        """Return the next message, EOF or _UNREADABLE; Refusal."""
        try:
            async with asyncio.timeout(self._patience) as time:
                if len(self._half_open) >= self._most_half_open:
                    oldest = next(iter(self._half_open))
                    del self._half_open[oldest]
                    oldest.reschedule(0)
                self._half_open[time] = None
                try:
                    return await context.read()
                finally:
                    self._half_open.pop(time, None)
        except TimeoutError:
            raise _NO_MESSAGE from None

    @asynccontextmanager
    async def _place(self, method: _Method, context: Context) -> AsyncIterator[None]:
        with ExitStack() as when_over:
            try:
                caller = method.identify(context)
                if caller.plaintext and method.of_peers and method.limits is CALLS:
                    caller = replace(caller, peer="")  # one quota for all peers: whoever can connect may speak for any
                when_over.callback(self._quotas.enter(method.limits, caller))
                await method.keep(context, caller)
            except Refusal as refusal:
                await self._refuse(method, context, refusal)
            yield

    async def _refuse(self, method: _Method, context: Context, refusal: Refusal) -> NoReturn:
        self._metrics.request(method.name, refusal.code.name, 0.0)
        if refusal.code is grpc.StatusCode.PERMISSION_DENIED:
            self._metrics.denied(refusal.reason).inc()
        await abort(context, refusal)


@dataclass(frozen=True, slots=True)
class _Method:
    """One method at one listener."""

    name: str
    of_peers: bool
    limits: Limits
    identify: Identify
    keep: Keep


class Handled(Protocol):
    """A server, or what of one takes handlers."""

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler], /) -> None:
        """Add what answers calls."""


class ReceivingServer:
    """A server for the generated functions `add_..._to_server`; its calls go through the reception."""

    def __init__(self, server: Handled, reception: Reception, identify: Identify, keep: Keep) -> None:
        """`identify` returns who calls; `keep` is told who uses the call's connection. Both may raise Refusal."""
        self._server, self._reception = server, reception
        self._identify, self._keep = identify, keep

    def add_generic_rpc_handlers(self, _: Iterable[grpc.GenericRpcHandler]) -> None:
        """Do nothing: the same handlers are also registered by name."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Register the handlers at the server, behind the reception."""
        receiving = {name: self._receiving(service, name, handler) for name, handler in handlers.items()}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, receiving),))

    def _receiving(self, service: str, name: str, handler: Any) -> grpc.RpcMethodHandler:
        limits = STREAMS if handler.response_streaming else CALLS
        method = _Method(name, service in _OF_PEERS, limits, self._identify, self._keep)
        read, write = _reading(handler.request_deserializer), handler.response_serializer
        if handler.request_streaming:
            many = _to_many(handler.stream_stream, self._reception.stream, method)
            return grpc.stream_stream_rpc_method_handler(many, read, write)
        if handler.response_streaming:
            stream = _to_many(handler.unary_stream, self._reception.call, method)
            return grpc.stream_stream_rpc_method_handler(stream, read, write)
        one = _one_to_one(handler.unary_unary, self._reception, method)
        return grpc.stream_unary_rpc_method_handler(one, read, write)


def _reading(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def deserialize(raw: bytes) -> Any:
        try:
            return read(raw)
        except DecodeError:
            return _UNREADABLE

    return deserialize


def _one_to_one(work: Any, reception: Reception, method: _Method) -> Any:
    async def behaviour(_: Any, context: Any) -> Any:
        async with reception.call(method, context) as message:
            return await work(message, context)

    return behaviour


def _to_many(work: Any, received: Callable[[_Method, Any], Any], method: _Method) -> Any:
    """`received`: Reception.call or Reception.stream."""

    async def behaviour(_: Any, context: Any) -> AsyncIterator[Any]:
        async with received(method, context) as message:
            async for answer in work(message, context):
                yield answer

    return behaviour
