"""Messages that are none: they get an error as the protocol files promise it, and are no fault of the service.

gRPC for Python answers them with UNKNOWN, which a peer must take for "perhaps carried out", and logs a stack trace for
each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from cosched.service.errors import Refusal, abort

_UNREADABLE = object()
_REFUSAL = Refusal(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", "the message cannot be read", {"field": ""})


class ReadingServer:
    """What the generated `add_..._to_server` need of a server; their handlers refuse what they cannot read."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, _: Iterable[grpc.GenericRpcHandler]) -> None:
        """Nothing: the same handlers come registered by name."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Give them to the server."""
        reading = {name: _reading(handler) for name, handler in handlers.items()}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, reading),))


def _reading(handler: Any) -> grpc.RpcMethodHandler:
    """The handler of one method, with a request that is one message."""
    read = handler.request_deserializer

    def deserialize(raw: bytes) -> object:
        try:
            return read(raw)
        except DecodeError:
            return _UNREADABLE

    if handler.response_streaming:
        stream = _refusing_stream(handler.unary_stream)
        return grpc.unary_stream_rpc_method_handler(stream, deserialize, handler.response_serializer)
    return grpc.unary_unary_rpc_method_handler(_refusing(handler.unary_unary), deserialize, handler.response_serializer)


def _refusing(work: Any) -> Any:
    async def behaviour(request: Any, context: Any) -> Any:
        if request is _UNREADABLE:
            await abort(context, _REFUSAL)
        return await work(request, context)

    return behaviour


def _refusing_stream(work: Any) -> Any:
    async def behaviour(request: Any, context: Any) -> AsyncIterator[Any]:
        if request is _UNREADABLE:
            await abort(context, _REFUSAL)
        async for answer in work(request, context):
            yield answer

    return behaviour
