"""A server that listens before its domain serves: until then its calls are answered STARTING."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import grpc

from cosched.service.starting import Starting
from cosched.service.wire.errors import Refusal, abort


class Opening(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The services of one server. Those that are added before it opens answer at once, the others from then on."""

    def __init__(self, starting: Starting) -> None:
        self._starting = starting
        self._handlers: list[grpc.GenericRpcHandler] = []
        self._open = False

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Add services, as to a server."""
        self._handlers += handlers

    def add_registered_method_handlers(self, _: str, handlers: Mapping[str, Any]) -> None:
        """Do nothing: they are among those above."""

    def open(self) -> None:
        """From now on only methods that exist are answered."""
        self._open = True

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """Return what answers a call; see gRPC."""
        found = next(filter(None, (handler.service(details) for handler in self._handlers)), None)
        return found if found is not None or self._open else grpc.stream_stream_rpc_method_handler(self._refuse)

    async def _refuse(self, _: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await abort(context, Refusal(grpc.StatusCode.UNAVAILABLE, "STARTING", self._starting.text))
