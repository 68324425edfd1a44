"""The Unix socket on which a service hears a batch system's hooks."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from errno import EADDRINUSE, EEXIST
from functools import partial
from pathlib import Path

from cosched.sockets.accepting import BACKLOG, Acceptor, of_user, user_of
from cosched.sockets.connections import Connection, Connections, Room
from cosched.sockets.sparing_log import SparingLog

MOST, MOST_OF_A_USER = 4096, 64  # connections
Over = Callable[[], None]  # to be called when a connection is over
_LOG = logging.getLogger(__name__)


class HookSocket:
    """Listens for hooks. The users as whom they come always find room; anybody else's connections are few."""

    def __init__(
        self, path: Path, hooks: Collection[int], mode: int, protocol: Callable[[Over], asyncio.Protocol]
    ) -> None:
        """`path` in an existing folder; `hooks`: user ids; `mode` of the socket, which says who can connect at all.

        `protocol` makes the protocol of a connection.
        """
        self._path = path
        self._hooks = {of_user(uid) for uid in hooks}
        self._mode, self._protocol = mode, protocol
        self._connections = Connections(Room(MOST, MOST_OF_A_USER, MOST))
        self._serving: set[asyncio.Task[None]] = set()
        self._log = SparingLog(_LOG)
        self._acceptor: Acceptor | None = None

    async def open(self) -> None:
        """Start listening. OSError: the folder cannot be used, or another process serves this socket."""
        listening = _listen(self._path, self._mode)
        self._inode = self._path.stat().st_ino
        self._acceptor = Acceptor(listening, self._accepted, self._hooks.__contains__)

    async def close(self) -> None:
        """Stop listening, and end all connections: hooks connect to the next server of this socket."""
        if self._acceptor is None:
            return
        self._acceptor.close()
        self._acceptor = None
        for serving in self._serving:
            serving.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()

    def complain(self, uid: int, reason: str) -> None:
        """Log why a user's connection is closed."""
        self._log.warning((uid, reason), "%s: a connection of user %d is refused: %s", self._path, uid, reason)

    def _accepted(self, accepted: socket.socket, origin: str) -> None:
        connection = Connection(origin, accepted.close, trusted=origin in self._hooks)
        if not self._connections.admit(connection):
            self.complain(user_of(accepted), "too many connections")
            accepted.close()
            return
        serving = asyncio.create_task(self._serve(accepted))
        connection.end = partial(_end, serving)
        self._serving.add(serving)
        serving.add_done_callback(lambda _: self._ended(serving, accepted, connection))

    async def _serve(self, accepted: socket.socket) -> None:
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(lambda: self._protocol(over.set), accepted)
        try:
            await over.wait()
        finally:
            transport.abort()

    def _ended(self, serving: asyncio.Task[None], accepted: socket.socket, connection: Connection) -> None:
        accepted.close()  # in case the task was cancelled before it began
        self._serving.discard(serving)
        self._connections.ended(connection)


def _end(serving: asyncio.Task[None]) -> None:
    serving.cancel()


def _listen(path: Path, mode: int) -> socket.socket:
    """Return a listening socket. It appears under its name when it is usable, and replaces one that nobody serves."""
    _check_free(path)
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        listening.bind(os.fspath(aside))
        aside.chmod(mode)
        listening.listen(BACKLOG)
        aside.rename(path)
    except BaseException:
        listening.close()
        raise
    return listening


def _check_free(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(EEXIST, "not a socket", str(path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.setblocking(False)
        with suppress(FileNotFoundError, ConnectionRefusedError):
            with suppress(BlockingIOError):  # another process serves it, and its queue is full
                trial.connect(os.fspath(path))
            raise OSError(EADDRINUSE, "another process serves this socket", str(path))
