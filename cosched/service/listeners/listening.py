"""All listeners of a service: for peers and users of other hosts, for users of this host, and for monitoring."""

from __future__ import annotations

import os
import pwd
import resource
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_reflection.v1alpha.reflection_pb2_grpc import add_ServerReflectionServicer_to_server

from cosched.service.api.adaptive_api import Adaptive, AdaptiveApi
from cosched.service.api.coscheduling_api import CoschedulingApi
from cosched.service.api.domain_api import DomainApi, Serving
from cosched.service.api.explain_api import ExplainApi
from cosched.service.api.machines_api import MachinesApi
from cosched.service.api.receiving import Keep, ReceivingServer, Reception
from cosched.service.api.rendezvous_api import Rendezvous, RendezvousApi
from cosched.service.api.run_times_api import RunTimesApi
from cosched.service.api.usage_api import UsageApi
from cosched.service.configuration import Configuration
from cosched.service.listeners.http import HttpServer
from cosched.service.listeners.local_socket import EVERYBODY, LocalSocket
from cosched.service.listeners.remote_socket import RemoteSocket
from cosched.service.metrics import Metrics
from cosched.service.page.page_api import Described, PageApi
from cosched.service.peers.peers import PeerClients
from cosched.service.preparing import Prepared, not_bound
from cosched.service.replay.api import ReplayApi
from cosched.service.replay.pace import Lockstep
from cosched.service.starting import Starting
from cosched.service.wire.callers import Identify, certificate_callers, plaintext_callers, socket_peer
from cosched.service.wire.errors import Refusal, abort
from cosched.service.wire.tls import ServerTls
from cosched.sockets.connections import Room
from cosched.v1.adaptive_pb2_grpc import add_AdaptiveServiceServicer_to_server
from cosched.v1.coscheduling_pb2_grpc import add_CoschedulingServiceServicer_to_server
from cosched.v1.domain_pb2_grpc import add_DomainServiceServicer_to_server
from cosched.v1.explain_pb2_grpc import add_ExplainServiceServicer_to_server
from cosched.v1.machines_pb2_grpc import add_MachinesServiceServicer_to_server
from cosched.v1.page_pb2_grpc import add_PageServiceServicer_to_server
from cosched.v1.rendezvous_pb2_grpc import add_RendezvousServiceServicer_to_server
from cosched.v1.replay_pb2_grpc import add_ReplayServiceServicer_to_server
from cosched.v1.run_times_pb2_grpc import add_RunTimesServiceServicer_to_server
from cosched.v1.usage_pb2_grpc import add_UsageServiceServicer_to_server

SHOWN = ("Coscheduling", "Domain", "Rendezvous", "Explain", "Machines", "Page", "Usage", "RunTimes")  # by reflection
OF_PEERS = ("Coscheduling", "Page")  # of these services, those that only other domains call
GRACE = 2.0  # seconds that open calls get at a stop
MAX_MESSAGE = 2 << 20  # bytes: a script of 1 MiB, its arguments and environment
SILENCE = 10_000  # milliseconds that a new connection may take until it speaks HTTP/2 with us
IDLENESS = 600_000  # milliseconds after which a connection without a call is closed
LOCAL_CONNECTIONS, REMOTE_CONNECTIONS = 768, 512  # if there are as many descriptors as with the unit file
ONLY_OURS = 0o600  # mode of a socket
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

    users: Serving
    peers: Callable[[Identify], CoschedulingApi]
    rendezvous: Rendezvous
    adaptive: Adaptive | None  # of a domain whose running jobs change their size
    described: Described
    calls: PeerClients
    lockstep: Lockstep | None  # of a replay that a conductor paces


class _Server(NamedTuple):
    opening: Opening
    receiving: ReceivingServer
    identify: Identify
    local: bool  # for users of this host, and the conductor of a replay
    peers: bool  # for other domains, too


class Listeners:
    """All listeners of one service; they close with the stacks that they are opened with."""

    address: str

    def __init__(
        self,
        configuration: Configuration,
        prepared: Prepared,
        metrics: Metrics,
        starting: Starting,
        problem: Callable[[], str | None],
    ) -> None:
        """`starting`: what is told until `serve` is called; `problem`: why it is not healthy."""
        self._configuration = configuration
        self._section = configuration.domain
        self._tls = prepared.tls
        self._tokens = prepared.tokens
        self._metrics = metrics
        self._starting = starting
        self._problem = problem
        self._reception = Reception(metrics)
        self._servers: list[_Server] = []
        self._health = health.aio.HealthServicer()
        self._told = health_pb2.HealthCheckResponse.UNKNOWN

    async def serve(self, served: Served) -> None:
        """Serve this at the listeners that are open, instead of the answer STARTING, and report health."""
        for server in self._servers:
            _add_services(served, server)
            server.opening.is_open = True
        await self.tell_health(health_pb2.HealthCheckResponse.SERVING)

    async def open_http(self, stack: AsyncExitStack, served: Served) -> None:
        """Serve metrics and health, and the page, over HTTP, if this is configured. InputError."""
        if self._configuration.page is not None:
            from cosched.service.listeners.page_opening import open_page  # its packages are of an extra

            page = open_page(
                self._configuration, served.described, served.calls, served.users.watchers, self._tls,
                self._metrics.text, self._problem,
            )  # fmt: skip
            stack.push_async_callback(page.stop)
        elif self._section.http is not None:
            http = HttpServer(self._section.http, self._metrics.text, self._problem)
            try:
                await http.start()
            except OSError:
                raise not_bound("domain", "http", self._section.http) from None
            stack.push_async_callback(http.stop)

    async def tell_health(self, status: int) -> None:
        """Update the health that gRPC clients see, if it has changed."""
        if status != self._told:
            self._told = status
            await self._health.set("", status)

    async def open_listener(self, stack: AsyncExitStack) -> None:
        """Start listening for other hosts. InputError names an address that cannot be used."""
        section, tls, files = self._section, self._configuration.tls, self._tls
        stack.push_async_callback(self._health.enter_graceful_shutdown)
        if section.listen is None:
            self.address = f"unix:{section.socket}"
            return
        private = section.state.with_name(f".{section.state.name}.listen")
        front = RemoteSocket(section.listen, private, _remote_room(), None if section.plaintext else files)
        if section.plaintext or tls is None or files is None:
            server = self._make_server(plaintext_callers(front.origin), front.keep)
            add_port: Callable[[str], object] = server.add_insecure_port
        else:
            peers = {peer.identity: peer.name for peer in self._configuration.peers if peer.identity}
            server = self._make_server(certificate_callers(peers, tls.user_identity, section.operators), front.keep)
            add_port = partial(server.add_secure_port, server_credentials=ServerTls(files).credentials())
        try:
            await front.open(server, add_port)
        except OSError:
            raise not_bound("domain", "listen", section.listen) from None
        self.address = f"{section.listen.rpartition(':')[0]}:{front.port}"
        stack.push_async_callback(front.close, GRACE)

    async def open_token_listener(self, stack: AsyncExitStack) -> None:
        """Start listening for users with tokens, if this is configured. InputError: the address cannot be used."""
        section, state, files = self._configuration.tokens, self._section.state, self._tls
        if section is None or files is None or self._tokens is None:
            return
        from cosched.service.listeners.token_socket import TokenSocket  # its package is of an extra

        private = state.with_name(f".{state.name}.tokens")
        front = TokenSocket(section.listen, private, _remote_room(), files, self._tokens)
        server = self._make_server(front.identify, front.keep, peers=False)
        credentials = ServerTls(files, mutual=False).credentials()
        try:
            await front.open(server, partial(server.add_secure_port, server_credentials=credentials))
        except OSError:
            raise not_bound("tokens", "listen", section.listen) from None
        stack.push_async_callback(front.close, GRACE)

    async def open_peer_sockets(self, stack: AsyncExitStack) -> None:
        """Start listening for peers that call by Unix sockets of their own. InputError names what cannot be used."""
        for peer in self._configuration.peers:
            if peer.socket is None:
                continue
            uid = os.geteuid() if peer.user is None else pwd.getpwnam(peer.user).pw_uid
            mode = ONLY_OURS if uid == os.geteuid() else EVERYBODY
            known = socket_peer(peer.name, uid)
            front = LocalSocket(peer.socket, self._make_server, (), _local_room(), known, mode)
            await front.open()
            stack.push_async_callback(front.close, GRACE)

    async def open_local_socket(self, stack: AsyncExitStack) -> None:
        """Start listening for users of this host, if this is configured. InputError names what cannot be used."""
        await self.tell_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        if self._section.socket is None:
            return
        make_server = partial(self._make_server, local=True)
        local = LocalSocket(self._section.socket, make_server, self._section.operators, _local_room())
        await local.open()
        stack.push_async_callback(local.close, GRACE)

    def _make_server(
        self, identify: Identify, keep: Keep, *, local: bool = False, peers: bool = True
    ) -> grpc.aio.Server:
        """Return a server whose callers `identify` tells apart; without ports yet."""
        opening = Opening(self._starting)
        receiving = ReceivingServer(opening, self._reception, identify, keep)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, receiving)
        self._servers.append(_Server(opening, receiving, identify, local, peers))
        return grpc.aio.server(handlers=[opening], options=SERVER_OPTIONS)


def _add_services(served: Served, server: _Server) -> None:
    """Add all services but health."""
    receiving, identify = server.receiving, server.identify
    peers = served.peers(identify)
    if server.peers:
        add_CoschedulingServiceServicer_to_server(peers, receiving)
        add_PageServiceServicer_to_server(PageApi(served.described, identify, peers.check_peer), receiving)
    add_RendezvousServiceServicer_to_server(RendezvousApi(served.rendezvous, identify, peers.check_peer), receiving)
    add_ExplainServiceServicer_to_server(ExplainApi(served.users, identify, peers.check_peer), receiving)
    add_UsageServiceServicer_to_server(UsageApi(served.users, identify), receiving)
    add_RunTimesServiceServicer_to_server(RunTimesApi(served.users, identify), receiving)
    add_MachinesServiceServicer_to_server(MachinesApi(served.users, identify), receiving)
    add_DomainServiceServicer_to_server(DomainApi(served.users, identify), receiving)
    if server.local and served.adaptive is not None:
        add_AdaptiveServiceServicer_to_server(AdaptiveApi(served.adaptive, identify), receiving)
    if server.local and served.lockstep is not None:
        add_ReplayServiceServicer_to_server(ReplayApi(served.lockstep, identify), server.opening)
    shown = SHOWN if server.peers else [name for name in SHOWN if name not in OF_PEERS]
    services = (*(f"cosched.v1.{name}Service" for name in shown), health.SERVICE_NAME, reflection.SERVICE_NAME)
    add_ServerReflectionServicer_to_server(reflection.aio.ReflectionServicer(services), receiving)


def _local_room() -> Room:
    """Return the limits of the Unix socket, where a user's connections above the user's limit are told so."""
    most = _most(LOCAL_CONNECTIONS)
    return Room(most, of_origin=max(6, most * 5 // 12), of_user=max(4, most // 3))


def _remote_room() -> Room:
    """Return the limits of a listener for other hosts."""
    most = _most(REMOTE_CONNECTIONS)
    return Room(most, of_origin=max(4, most // 4), of_user=max(4, most // 8))


def _most(most: int) -> int:
    """Return how many connections, or fewer if descriptors are few: half of those are for other uses."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    share = most / (LOCAL_CONNECTIONS + REMOTE_CONNECTIONS)
    return max(8, min(most, int(limit / 2 * share / DESCRIPTORS_OF_A_CONNECTION)))


class Opening(grpc.GenericRpcHandler):  # type: ignore[misc]
    """The services of one server. Those that are added before it opens answer at once, the others from then on."""

    def __init__(self, starting: Starting) -> None:
        self._starting = starting
        self._handlers: list[grpc.GenericRpcHandler] = []
        self.is_open = False  # if so, only methods that exist are answered

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Add services, as to a server."""
        self._handlers += handlers

    def add_registered_method_handlers(self, _: str, handlers: Mapping[str, Any]) -> None:
        """Do nothing: they are among those above."""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """Return what answers a call; see gRPC."""
        found = next(filter(None, (handler.service(details) for handler in self._handlers)), None)
        return found if found is not None or self.is_open else grpc.stream_stream_rpc_method_handler(self._refuse)

    async def _refuse(self, _: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        await abort(context, Refusal(grpc.StatusCode.UNAVAILABLE, "STARTING", self._starting.text))
