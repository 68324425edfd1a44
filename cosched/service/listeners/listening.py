"""All listeners of a service: for peers and users of other hosts, for users of this host, and for monitoring."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2_grpc import add_ServerReflectionServicer_to_server

from cosched.service.api.adaptive_api import Adaptive, AdaptiveApi
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.api.domain_api import DomainApi, Serving
from cosched.service.api.explain_api import ExplainApi, Explained
from cosched.service.api.receiving import Keep, ReceivingServer, Reception
from cosched.service.api.rendezvous_api import Rendezvous, RendezvousApi
from cosched.service.api.usage_api import UsageApi
from cosched.service.configuration import Configuration
from cosched.service.listeners.http import HttpServer
from cosched.service.listeners.local_socket import LocalSocket
from cosched.service.listeners.remote_socket import RemoteSocket
from cosched.service.page.page_api import Described, PageApi
from cosched.service.peers.peers import PeerClients
from cosched.service.preparing import not_bound
from cosched.service.replay.api import ReplayApi
from cosched.service.replay.pace import Lockstep
from cosched.service.wire.callers import Identify, certificate_callers, plaintext_callers
from cosched.service.wire.tls import ServerTls
from cosched.service.wire.tls_files import TlsFiles
from cosched.sockets.connections import Room
from cosched.v1 import coscheduling_pb2, domain_pb2, explain_pb2, page_pb2, rendezvous_pb2, usage_pb2
from cosched.v1.adaptive_pb2_grpc import add_AdaptiveServiceServicer_to_server
from cosched.v1.coscheduling_pb2_grpc import add_CoschedulingServiceServicer_to_server
from cosched.v1.domain_pb2_grpc import add_DomainServiceServicer_to_server
from cosched.v1.explain_pb2_grpc import add_ExplainServiceServicer_to_server
from cosched.v1.page_pb2_grpc import add_PageServiceServicer_to_server
from cosched.v1.rendezvous_pb2_grpc import add_RendezvousServiceServicer_to_server
from cosched.v1.replay_pb2_grpc import add_ReplayServiceServicer_to_server
from cosched.v1.usage_pb2_grpc import add_UsageServiceServicer_to_server

GRACE = 2.0  # seconds that open calls get at a stop
MAX_MESSAGE = 2 << 20  # bytes: a script of 1 MiB, its arguments and environment
SILENCE = 10_000  # milliseconds that a new connection may take until it speaks HTTP/2 with us
IDLENESS = 600_000  # milliseconds after which a connection without a call is closed
LOCAL_CONNECTIONS, REMOTE_CONNECTIONS = 256, 512  # if there are as many descriptors as with the unit file
DESCRIPTORS_OF_A_CONNECTION = 3
SERVER_OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", 16 << 20),
    ("grpc.max_concurrent_streams", 256),
    ("grpc.max_metadata_size", 16 << 10),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5000),
    ("grpc.server_handshake_timeout_ms", SILENCE),
    ("grpc.max_connection_idle_ms", IDLENESS),
)


@dataclass(frozen=True, slots=True)
class Served:
    """The parts of a service that its listeners serve."""

    configuration: Configuration
    users: Serving
    peers: Callable[[Identify], CoschedulingApi]
    rendezvous: Rendezvous
    adaptive: Adaptive | None  # of a domain whose running jobs change their size
    explained: Explained
    described: Described
    calls: PeerClients
    tls: TlsFiles | None
    lockstep: Lockstep | None  # of a replay that a conductor paces
    problem: Callable[[], str | None]  # why the service is not healthy


class Listeners:
    """All listeners of one service; they close with the stack given to `open`."""

    address: str

    def __init__(self, served: Served) -> None:
        self._served = served
        self._section = served.configuration.domain
        self._reception = Reception(served.users.domain.metrics)
        self._health = health.aio.HealthServicer()
        self._told = health_pb2.HealthCheckResponse.UNKNOWN

    async def open(self, stack: AsyncExitStack) -> None:
        """Start listening, and report health. InputError names an address that cannot be used."""
        await self._open_local_socket(stack)
        await self._open_listener(stack)
        await self.tell_health(health_pb2.HealthCheckResponse.SERVING)

    async def open_http(self, stack: AsyncExitStack, metrics: Callable[[], bytes]) -> None:
        """Serve metrics and health, and the page, over HTTP, if this is configured. InputError."""
        if self._served.configuration.page is not None:
            self._open_page(stack, metrics)
            return
        if self._section.http is None:
            return
        http = HttpServer(self._section.http, metrics, self._served.problem)
        try:
            await http.start()
        except OSError:
            raise not_bound("http", self._section.http) from None
        stack.push_async_callback(http.stop)

    def _open_page(self, stack: AsyncExitStack, metrics: Callable[[], bytes]) -> None:
        from cosched.service.listeners.page_opening import open_page  # its packages are of an extra

        served = self._served
        page = open_page(
            served.configuration, served.described, served.explained, served.calls, served.users.watchers, served.tls,
            metrics, served.problem,
        )  # fmt: skip
        stack.push_async_callback(page.stop)

    async def tell_health(self, status: int) -> None:
        """Update the health that gRPC clients see, if it has changed."""
        if status != self._told:
            self._told = status
            await self._health.set("", status)

    async def _open_listener(self, stack: AsyncExitStack) -> None:
        section, tls, files = self._section, self._served.configuration.tls, self._served.tls
        private = section.state.with_name(f".{section.state.name}.listen")
        front = RemoteSocket(section.listen, private, _room(REMOTE_CONNECTIONS))
        if section.plaintext or tls is None or files is None:
            server = self._make_server(plaintext_callers(front.origin), front.keep)
            add_port: Callable[[str], object] = server.add_insecure_port
        else:
            peers = {peer.identity: peer.name for peer in self._served.configuration.peers if peer.identity}
            server = self._make_server(certificate_callers(peers, tls.user_identity, section.operators), front.keep)
            add_port = partial(server.add_secure_port, server_credentials=ServerTls(files).credentials())
        try:
            await front.open(server, add_port)
        except OSError:
            raise not_bound("listen", section.listen) from None
        self.address = f"{section.listen.rpartition(':')[0]}:{front.port}"
        stack.push_async_callback(front.close, GRACE)
        stack.push_async_callback(self._health.enter_graceful_shutdown)

    async def _open_local_socket(self, stack: AsyncExitStack) -> None:
        if self._section.socket is None:
            return
        local = LocalSocket(
            self._section.socket, self._make_local_server, self._section.operators, _room(LOCAL_CONNECTIONS)
        )
        await local.open()
        stack.push_async_callback(local.close, GRACE)

    def _make_local_server(self, identify: Identify) -> grpc.aio.Server:
        """Make the server for the conductor of a replay and for users of this host, whose connections always stay."""
        keep: Keep = lambda context, caller: None  # noqa: ARG005, E731
        server = self._make_server(identify, keep, self._served.adaptive)
        if self._served.lockstep is not None:
            replay = ReplayApi(self._served.lockstep, identify)
            add_ReplayServiceServicer_to_server(replay, server)
        return server

    def _make_server(self, identify: Identify, keep: Keep, adaptive: Adaptive | None = None) -> grpc.aio.Server:
        """Return a server with all services, whose callers `identify` tells apart; without ports yet."""
        server = grpc.aio.server(options=SERVER_OPTIONS)
        receiving = ReceivingServer(server, self._reception, identify, keep)
        peers = self._served.peers(identify)
        page = PageApi(self._served.described, identify, peers.check_peer)
        rendezvous = RendezvousApi(self._served.rendezvous, identify, peers.check_peer)
        add_CoschedulingServiceServicer_to_server(peers, receiving)
        add_RendezvousServiceServicer_to_server(rendezvous, receiving)
        add_PageServiceServicer_to_server(page, receiving)
        explain = ExplainApi(self._served.explained, identify, peers.check_peer)
        add_ExplainServiceServicer_to_server(explain, receiving)
        add_UsageServiceServicer_to_server(UsageApi(self._served.explained, identify), receiving)
        add_DomainServiceServicer_to_server(DomainApi(self._served.users, identify), receiving)
        if adaptive is not None:
            add_AdaptiveServiceServicer_to_server(AdaptiveApi(adaptive, identify), receiving)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, receiving)
        services = (
            coscheduling_pb2.DESCRIPTOR.services_by_name["CoschedulingService"].full_name,
            domain_pb2.DESCRIPTOR.services_by_name["DomainService"].full_name,
            rendezvous_pb2.DESCRIPTOR.services_by_name["RendezvousService"].full_name,
            explain_pb2.DESCRIPTOR.services_by_name["ExplainService"].full_name,
            page_pb2.DESCRIPTOR.services_by_name["PageService"].full_name,
            usage_pb2.DESCRIPTOR.services_by_name["UsageService"].full_name,
            health.SERVICE_NAME,
            reflection.SERVICE_NAME,
        )
        add_ServerReflectionServicer_to_server(reflection.aio.ReflectionServicer(services), receiving)
        return server


def _room(most: int) -> Room:
    """Return limits for `most` connections, or fewer if descriptors are few: half of those are for other uses."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    share = most / (LOCAL_CONNECTIONS + REMOTE_CONNECTIONS)
    most = max(8, min(most, int(limit / 2 * share / DESCRIPTORS_OF_A_CONNECTION)))
    return Room(most, of_origin=max(4, most // 4), of_user=max(4, most // 8))
