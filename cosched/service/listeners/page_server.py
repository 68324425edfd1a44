"""The page over HTTP/1.1, by uvicorn's protocol on our own sockets, so that connections are limited.

A connection on which nothing was asked for a while ends. When there are too many, of one origin or in all, the one that
was idle for longest ends for the new one; if all are in use, the new one is refused. A page that is live uses its
connection.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from cosched.service.page.viewers import SOCKET, Viewers
from cosched.service.wire.tls_files import TlsFiles
from cosched.sockets.accepting import Acceptor
from cosched.sockets.sparing_log import SparingLog

PATIENCE = 15.0  # seconds until a request has arrived, and between two
HANDSHAKE = 10.0
MAX_HEAD = 16 << 10  # bytes of a request's line and headers
OF_ORIGIN = 4  # one origin, unless a proxy, has at most this part of all connections
_LOG = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Connection:
    """One connection, from its acceptance on."""

    origin: str
    protocol: Any  # H11Protocol
    tls: TlsFiles | None
    generation: int  # of the certificates that were in use when it came
    seen: Any = None  # what it did when it was looked at last

    @property
    def _certificate(self) -> dict[str, Any]:
        return self.protocol.transport.get_extra_info("peercert") or {}

    def uris(self) -> list[str]:
        if self._is_revoked():
            return []
        return [value for kind, value in self._certificate.get("subjectAltName", ()) if kind == "URI"]

    def is_void(self) -> bool:
        """Return whether the viewer's certificate has expired or is revoked."""
        until = self._certificate.get("notAfter")
        return (until is not None and ssl.cert_time_to_seconds(until) < time.time()) or self._is_revoked()

    def _is_revoked(self) -> bool:
        secured = self.protocol.transport.get_extra_info("ssl_object")
        if secured is None or self.tls is None or not (shown := secured.getpeercert(binary_form=True)):
            return False
        return self.tls.current()[1].revokes(x509.load_der_x509_certificate(shown))

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        cycle = self.protocol.cycle
        return cycle is None or cycle.response_complete

    def end(self) -> None:
        """Close it at once."""
        if self.protocol.transport is not None:
            self.protocol.transport.abort()


class PageServer:
    """Serves an ASGI application on listening sockets."""

    def __init__(self, app: Any, viewers: Viewers, most: int, tls: TlsFiles | None) -> None:
        """`most` connections in all; with `tls` those that come by an address speak TLS."""
        logging.getLogger("uvicorn").setLevel(logging.ERROR)  # it warns of every broken request
        self._settings = Config(
            app, interface="asgi3", ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False,
            server_header=False, timeout_keep_alive=int(PATIENCE), h11_max_incomplete_event_size=MAX_HEAD,
        )  # fmt: skip
        self._settings.load()
        self._state = ServerState()
        self._viewers = viewers
        self._most = most
        self._tls = tls
        self._context: tuple[int, ssl.SSLContext] | None = None
        self._connections: dict[_Connection, None] = {}  # the oldest first
        self._tasks: set[asyncio.Task[None]] = set()
        self._acceptors: list[Acceptor] = []
        self._log = SparingLog(_LOG)
        self._sweep: asyncio.TimerHandle | None = None

    def start(self, listeners: Sequence[socket.socket]) -> None:
        """Serve these sockets, which it owns from now on."""
        believed = self._viewers.believed
        self._acceptors = [Acceptor(listener, self._accepted, believed, _origin) for listener in listeners]
        self._look_later()

    async def stop(self) -> None:
        """Stop listening, and end all connections."""
        if self._sweep is not None:
            self._sweep.cancel()
        while self._acceptors:
            self._acceptors.pop().close()
        for connection in list(self._connections):
            connection.end()
        tasks = [*self._tasks, *self._state.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accepted(self, accepted: socket.socket, origin: str) -> None:
        if not self._make_room(origin):
            self._log.warning(origin, "%s is refused at the page: %d connections", origin, len(self._connections))
            accepted.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(origin, accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, origin: str, accepted: socket.socket) -> None:
        state: dict[str, Any] = {}
        generation = self._tls.current()[0] if self._tls is not None else 0
        protocol = H11Protocol(self._settings, self._state, state)
        connection = state["connection"] = _Connection(origin, protocol, self._tls, generation)
        self._connections[connection] = None
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: protocol, accepted, **self._secured(origin))
        except (OSError, asyncio.CancelledError):
            accepted.close()
            self._connections.pop(connection, None)

    def _secured(self, origin: str) -> dict[str, Any]:
        if self._tls is None or origin == SOCKET:
            return {}
        generation, material = self._tls.current()
        if self._context is None or self._context[0] != generation:
            self._context = generation, material.page_context()
        return {"ssl": self._context[1], "ssl_handshake_timeout": HANDSHAKE}

    def _make_room(self, origin: str) -> bool:
        """Return whether there is room for one more, perhaps since an idle one ends for it."""
        self._forget_ended()
        of_origin = [one for one in self._connections if one.origin == origin]
        if not self._viewers.believed(origin) and len(of_origin) >= max(4, self._most // OF_ORIGIN):
            return _end_one(of_origin)
        return len(self._connections) < self._most or _end_one(list(self._connections))

    def _forget_ended(self) -> None:
        transports = [(one, one.protocol.transport) for one in self._connections]
        for connection in [one for one, transport in transports if transport is not None and transport.is_closing()]:
            del self._connections[connection]

    def _look(self) -> None:
        """End connections on which nothing has been asked since the last look, or whose certificates are void."""
        self._forget_ended()
        self._end_void()
        for connection in self._connections:
            now = connection.protocol.cycle
            if connection.idle and connection.seen is not None and connection.seen[0] is now:
                connection.end()
            connection.seen = (now,) if connection.idle else None
        self._look_later()

    def _end_void(self) -> None:
        if self._tls is None:
            return
        generation, material = self._tls.current()
        is_void = material.problem() is not None
        for connection in self._connections:
            secured = connection.origin != SOCKET and connection.protocol.transport is not None
            if secured and (is_void or connection.generation != generation or connection.is_void()):
                connection.end()

    def _look_later(self) -> None:
        self._sweep = asyncio.get_running_loop().call_later(PATIENCE, self._look)


def _end_one(connections: Sequence[_Connection]) -> bool:
    """End the oldest idle one of these; whether there was one."""
    idle = next((connection for connection in connections if connection.idle), None)
    if idle is not None:
        idle.end()
    return idle is not None


def _origin(accepted: socket.socket) -> str:
    if accepted.family == socket.AF_UNIX:
        return SOCKET
    return str(accepted.getpeername()[0]).removeprefix("::ffff:")  # IPv4 through a socket for IPv6
