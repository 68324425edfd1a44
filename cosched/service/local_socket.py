"""The Unix socket for users of this host, who are known by what the kernel says of the process that connected.

gRPC for Python does not tell these credentials (SO_PEERCRED). So connections are accepted here, and each is passed on
to a gRPC server that listens in a private folder, which only this service's user can enter. The connection to the
server is bound to a file name that is never used again, and that name is what the server tells of its caller: it leads
back to the credentials. Nobody else can connect there, so nobody else can come under such a name.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import shutil
import socket
import stat
import struct
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc

from cosched.errors import InputError
from cosched.service.callers import Caller, Identify, socket_caller
from cosched.service.relay import Relay

MAX_CONNECTIONS, MAX_CONNECTIONS_OF_USER = 256, 32
_LONGEST = 95  # bytes of the path: 107 are allowed, and names in the private folder are up to 12 longer
_EVERYBODY, _NOBODY_ELSE = 0o666, 0o700  # modes of the socket, of the private folder
_CREDENTIALS = struct.Struct("iII")  # SO_PEERCRED: process, user, group
_PATIENCE = 1.0  # seconds in which a live service can be connected to
_GONE = Caller(None, None, False, "socket")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Connection:
    name: str  # of the file that its way to the server is bound to
    uid: int
    connecting: asyncio.Task[None]


class LocalSocket:
    """A gRPC server on a public Unix socket."""

    def __init__(
        self,
        path: Path,
        make_server: Callable[[Identify], grpc.aio.Server],
        operators: Collection[str] = (),
        *,
        most: int = MAX_CONNECTIONS,
        most_of_user: int = MAX_CONNECTIONS_OF_USER,
    ) -> None:
        """`make_server`: a server with its servicers, without ports, not started; `most`: connections at a time."""
        self._path = path
        self._private = path.with_name(f".{path.name}.d")
        self._make_server = make_server
        self._operators = operators
        self._most, self._most_of_user = most, most_of_user
        self._names = (f"{number:x}" for number in itertools.count())
        self._connections: dict[Relay, _Connection] = {}
        self._callers: dict[str, Caller] = {}
        self._open_of: Counter[int] = Counter()  # connections of each user
        self._refused: set[int] = set()  # users who have more than they may, which the log tells once
        self._empty = asyncio.Event()

    async def open(self) -> None:
        """Listen; InputError if the path cannot be used, or is in use."""
        public = _listen(self._path)
        try:
            self._server = await self._start_server()
            self._listener = await asyncio.get_running_loop().create_unix_server(self._relay, sock=public)
        except BaseException:
            public.close()
            self._remove_files()
            raise

    async def _start_server(self) -> grpc.aio.Server:
        _make_private(self._private)
        server = self._make_server(self._identify)
        try:
            server.add_insecure_port(f"unix:{quote(os.fspath(self._private / 'server'))}")
        except RuntimeError as error:
            raise InputError(str(self._path), None, f"cannot be used: {error}") from None
        await server.start()
        return server

    async def close(self, grace: float | None = None) -> None:
        """Accept no more, give open calls `grace` seconds, end all connections, leave no file behind."""
        self._listener.close()
        self._path.unlink(missing_ok=True)
        await self._server.stop(grace)
        for relay, connection in list(self._connections.items()):
            connection.connecting.cancel()
            relay.abort()
        if self._connections:
            await self._empty.wait()
        await self._listener.wait_closed()
        self._remove_files()

    def _remove_files(self) -> None:
        self._path.unlink(missing_ok=True)
        shutil.rmtree(self._private, ignore_errors=True)

    def _identify(self, context: grpc.aio.ServicerContext[Any, Any]) -> Caller:
        return self._callers.get(context.peer().rpartition("/")[2], _GONE)

    # Connections

    def _relay(self) -> asyncio.Protocol:
        return Relay(self._arrived, self._ended).near

    def _arrived(self, relay: Relay, transport: asyncio.Transport) -> None:
        uid = _uid(transport.get_extra_info("socket"))
        if not self._admits(uid):
            transport.abort()
            return
        name = next(self._names)
        self._open_of[uid] += 1
        connecting = asyncio.create_task(self._connect(relay, transport, name, uid))
        self._connections[relay] = _Connection(name, uid, connecting)
        self._empty.clear()

    def _admits(self, uid: int) -> bool:
        if len(self._connections) < self._most and self._open_of[uid] < self._most_of_user:
            return True
        if uid not in self._refused:
            self._refused.add(uid)
            _LOG.warning(
                "uid %d is refused at %s: too many connections, %d, of them %d its own",
                uid,
                self._path,
                len(self._connections),
                self._open_of[uid],
            )
        return False

    async def _connect(self, relay: Relay, transport: asyncio.Transport, name: str, uid: int) -> None:
        try:
            self._callers[name] = await asyncio.to_thread(socket_caller, uid, self._operators)
            await asyncio.get_running_loop().create_unix_connection(
                lambda: relay.far, sock=_connected(self._private / name, self._private / "server")
            )
        except OSError as error:
            _LOG.error("a connection of uid %d cannot be served: %s", uid, error.strerror)
            relay.abort()
        else:
            transport.resume_reading()

    def _ended(self, relay: Relay) -> None:
        connection = self._connections.pop(relay, None)
        if connection is None:  # it was not admitted
            return
        self._callers.pop(connection.name, None)
        self._refused.discard(connection.uid)
        self._open_of[connection.uid] -= 1
        if not self._open_of[connection.uid]:
            del self._open_of[connection.uid]
        if not self._connections:
            self._empty.set()


def _uid(connection: socket.socket) -> int:
    """Whose process connected; the kernel says so."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])


def _connected(here: Path, there: Path) -> socket.socket:
    """A connection to `there` that is bound to `here`, a file name that is free again afterwards; OSError."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.setblocking(False)
        connection.bind(os.fspath(here))
        try:
            connection.connect(os.fspath(there))
        finally:
            here.unlink()
    except BaseException:
        connection.close()
        raise
    return connection


def _listen(path: Path) -> socket.socket:
    """A socket at `path` to which everybody can connect; InputError."""
    if len(os.fsencode(path)) > _LONGEST:
        raise InputError(str(path), None, f"is too long for a socket: at most {_LONGEST} bytes")
    public = socket.socket(socket.AF_UNIX)
    try:
        _make_way(path)
        public.bind(os.fspath(path))
        path.chmod(_EVERYBODY)
        public.listen()
    except BaseException as error:
        public.close()
        if isinstance(error, OSError):
            raise InputError(str(path), None, f"cannot be listened on: {error.strerror}") from None
        raise
    return public


def _make_way(path: Path) -> None:
    """Remove the socket that a dead service has left; InputError if there is anything else."""
    try:
        about = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(about.st_mode):
        raise InputError(str(path), None, "exists, and is not a socket")
    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.settimeout(_PATIENCE)
        try:
            knocking.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except (TimeoutError, BlockingIOError):  # it listens, but is slow to accept
            pass
    raise InputError(str(path), None, "is in use by another service")


def _make_private(folder: Path) -> None:
    """A new folder that nobody else can enter; InputError."""
    shutil.rmtree(folder, ignore_errors=True)  # a dead service has left it
    try:
        folder.mkdir(_NOBODY_ELSE)
    except OSError as error:
        raise InputError(str(folder), None, f"cannot be made: {error.strerror}") from None
