"""Accepts connections and passes them on to a gRPC server, so that the origin of each call is known.

gRPC for Python does not limit connections, in all or by origin, and does not tell the credentials of a Unix socket's
caller. So the server listens in a private folder, which only this service's user can enter. Each accepted connection
is passed on to it from a file name that is used only once. The server reports this name as its caller, and so it leads
back to the connection. Nobody else can connect in the folder, so nobody else can use such a name.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import os
import shutil
import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
from cryptography import x509

from cosched.service.api.answering import Context
from cosched.service.listeners.relay import Relay
from cosched.service.wire.callers import Caller
from cosched.sockets.accepting import Acceptor
from cosched.sockets.connections import Connection, Connections, Room
from cosched.sockets.sparing_log import SparingLog
from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of

_NOBODY_ELSE = 0o700  # mode of the private folder
_LOG = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Passed:
    """A connection that has been passed on."""

    name: str  # of the file that its connection to the server is bound to
    connection: Connection
    generation: int = 0  # of the certificates that were in use when it came
    certificate: x509.Certificate | None = None  # the caller's; None: not known yet
    caller: Caller | None = None  # the caller, if the origin identifies it, or the last whose account was found
    until: float = math.inf  # seconds since 1970: when the first token that was shown on it expires
    connecting: asyncio.Task[object] | None = None


class Front:
    """The front of one gRPC server."""

    def __init__(self, where: str, private: Path, room: Room, trusted: Collection[str] = ()) -> None:
        """`where`: for the log; `private`: a folder to make, in one of this service alone; `trusted`: of operators."""
        self._where = where
        self._private = private
        self._connections = Connections(room)
        self._trusted = trusted
        self._names = (f"{number:x}" for number in itertools.count())
        self._passed: dict[Relay, Passed] = {}
        self._by_name: dict[str, Passed] = {}
        self._log = SparingLog(_LOG)
        self._empty = asyncio.Event()
        self._acceptors: list[Acceptor] = []

    async def start(
        self, listeners: Sequence[socket.socket], server: grpc.aio.Server, add_port: Callable[[str], object]
    ) -> None:
        """Serve these listening sockets by a server that is not started yet; `add_port` gives it its address."""
        self._server = server
        self._folder = _make_private(self._private)
        try:
            add_port(f"unix:{self._way('server')}")
            await server.start()
        except RuntimeError as error:
            self._remove()
            raise InputError(self._where, None, f"cannot be used: {error}") from None
        self._acceptors = [Acceptor(listener, self._accepted, self._trusted.__contains__) for listener in listeners]

    async def close(self, grace: float | None = None) -> None:
        """Stop accepting, give open calls `grace` seconds, end all connections, and remove all files."""
        for acceptor in self._acceptors:
            acceptor.close()
        await self._server.stop(grace)
        for relay, passed in list(self._passed.items()):
            if passed.connecting is not None:
                passed.connecting.cancel()
            relay.abort()
        if self._passed:
            await self._empty.wait()
        self._remove()

    def _remove(self) -> None:
        os.close(self._folder)
        shutil.rmtree(self._private, ignore_errors=True)

    def _way(self, name: str) -> str:
        """Return the path of a file in the private folder, short enough for a socket even if the folder's is long."""
        return f"/proc/self/fd/{self._folder}/{name}"

    def passed(self, context: Context) -> Passed | None:
        """Return the connection of a call; None if it has just ended."""
        return self._by_name.get(context.peer().rpartition("/")[2])

    def origin(self, context: Context) -> str:
        """Return the origin of a call."""
        passed = self.passed(context)
        return passed.connection.origin if passed is not None else "nowhere"

    async def keep(self, context: Context, caller: Caller) -> None:
        """Keep the connection of this call from being ended for others, since a known caller uses it."""
        if (passed := self.passed(context)) is not None:
            self._keep(passed, caller)

    def _keep(self, passed: Passed, caller: Caller) -> bool:
        is_user = caller.peer is None and not caller.operator
        return self._connections.keep(passed.connection, (caller.via, caller.peer), is_user)

    def _generation(self) -> int:
        """Return the generation of the certificates in use."""
        return 0

    async def _prepare(self, passed: Passed, accepted: socket.socket) -> None:
        """Find out what has to be known before the first call; ConnectionError: do not pass the connection on."""

    def _accepted(self, accepted: socket.socket, origin: str) -> None:
        relay = Relay(self._arrived, self._ended)
        connection = Connection(origin, relay.abort, trusted=origin in self._trusted)
        if not self._connections.admit(connection):
            accepted.close()
            said = "%s is refused at %s: too many connections, %d in all"
            self._log.warning(origin, said, origin, self._where, len(self._connections))
            return
        passed = Passed(next(self._names), connection, self._generation())
        self._passed[relay] = self._by_name[passed.name] = passed
        self._empty.clear()
        loop = asyncio.get_running_loop()
        passed.connecting = loop.create_task(loop.connect_accepted_socket(lambda: relay.near, accepted))

    def _arrived(self, relay: Relay, transport: asyncio.Transport) -> None:
        passed = self._passed[relay]
        if self._connections.stands(passed.connection):
            passed.connecting = asyncio.create_task(self._pass_on(relay, transport, passed))
        else:
            transport.abort()

    async def _pass_on(self, relay: Relay, transport: asyncio.Transport, passed: Passed) -> None:
        try:
            await self._prepare(passed, transport.get_extra_info("socket"))
            connected = _connected(self._way(passed.name), self._way("server"))
            await asyncio.get_running_loop().create_unix_connection(lambda: relay.far, sock=connected)
        except ConnectionError:
            relay.abort()
        except OSError as error:
            origin = passed.connection.origin
            self._log.warning(error.errno, "a connection of %s cannot be served: %s", origin, error.strerror)
            relay.abort()
        else:
            transport.resume_reading()

    def _ended(self, relay: Relay) -> None:
        passed = self._passed.pop(relay, None)
        if passed is None:  # it ended while it was being connected to the server
            return
        if passed.connecting is not None:
            passed.connecting.cancel()
        del self._by_name[passed.name]
        self._connections.ended(passed.connection)
        if not self._passed:
            self._empty.set()


def _connected(here: str, there: str) -> socket.socket:
    """Return a connection to `there` that is bound to `here`, and remove the file `here`; OSError."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.setblocking(False)
        connection.bind(here)
        try:
            connection.connect(there)
        finally:
            os.unlink(here)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(folder: Path) -> int:
    """Make a folder that nobody else can enter; return its descriptor. InputError."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a dead service
    try:
        folder.mkdir(_NOBODY_ELSE)
        return os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(str(folder), None, f"cannot be made: {reason_of(error, folder)}") from None
