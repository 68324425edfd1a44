"""A connection to a peer, and the calls on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import grpc
from grpc import ChannelConnectivity
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub

from cosched.service.wire.translation import CALLS
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from cosched.v1.explain_pb2 import ExplainMatesRequest
from cosched.v1.explain_pb2_grpc import ExplainServiceStub
from cosched.v1.page_pb2 import DescribeJobsRequest
from cosched.v1.page_pb2_grpc import PageServiceStub
from cosched.v1.rendezvous_pb2 import GetPlaceRequest
from cosched.v1.rendezvous_pb2_grpc import RendezvousServiceStub
from cosched.validation.addresses import UNIX, socket_path

MAX_MESSAGE = 64 * 1024  # bytes, each way
Options = Sequence[tuple[str, str | int]]


class Line:
    """One channel to a peer. A retired line takes no new calls, and closes when its last call has ended."""

    def __init__(
        self, address: str, credentials: grpc.ChannelCredentials | None, options: Options, timeout: float
    ) -> None:
        """`address`: HOST:PORT or unix:PATH; no credentials: plaintext; `timeout`: seconds that a call may take."""
        path = socket_path(address)  # else dns, so that no host's name is taken for another scheme
        target = f"dns:///{address}" if path is None else UNIX + quote(path)
        settings = [*_settings(timeout), *options]
        self._channel = (
            grpc.aio.insecure_channel(target, settings)
            if credentials is None
            else grpc.aio.secure_channel(target, credentials, settings)
        )
        self._methods = _methods(self._channel)
        self._open = 0
        self._retired = False

    @property
    def stands(self) -> bool:
        """Whether there is a connection on which the peer has sent something."""
        return self._channel.get_state() is ChannelConnectivity.READY

    @property
    def failed(self) -> bool:
        """Whether the last attempt to connect failed and the next is not due yet."""
        return self._channel.get_state() is ChannelConnectivity.TRANSIENT_FAILURE

    async def ask(self, message: Any, timeout: float) -> Any:
        """Return the peer's answer, None if it cannot be read; AioRpcError."""
        self._open += 1
        try:
            return await self._methods[type(message)](message, timeout=timeout)
        finally:
            self._open -= 1
            if self._retired and not self._open:
                await self._channel.close()

    async def retire(self) -> None:
        """Close the line as soon as no call is open."""
        self._retired = True
        if not self._open:
            await self._channel.close()

    async def close(self) -> None:
        """Close the line now."""
        await self._channel.close()


def _methods(channel: grpc.aio.Channel) -> dict[type, Any]:
    calls = CoschedulingServiceStub(channel)
    return {
        **{call.message: getattr(calls, call.name) for call in CALLS},
        wire.CompareClocksRequest: calls.CompareClocks,
        wire.TellPresenceRequest: calls.TellPresence,
        wire.TellMembersRequest: calls.TellMembers,
        GetPlaceRequest: RendezvousServiceStub(channel).GetPlace,
        DescribeJobsRequest: PageServiceStub(channel).DescribeJobs,
        ExplainMatesRequest: ExplainServiceStub(channel).ExplainMates,
        HealthCheckRequest: HealthStub(channel).Check,
    }


def _settings(timeout: float) -> Options:
    return [
        ("grpc.use_local_subchannel_pool", 1),  # a new channel connects at once, independent of the old one
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.min_reconnect_backoff_ms", int(timeout * 1000)),  # in fact, how long an attempt to connect may take
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_timeout_ms", 5_000),
        ("grpc.max_send_message_length", MAX_MESSAGE),
        ("grpc.max_receive_message_length", MAX_MESSAGE),
        ("grpc.enable_http_proxy", 0),
    ]
