"""Accepts connections while there are descriptors for them. During a shortage connections wait in the kernel.

asyncio's own way logs each failed attempt, and makes more attempts the more have failed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from cosched.service.logs.sparing_log import SparingLog
from cosched.validation.addresses import parse_address

AT_ONCE = 64  # connections that are accepted before other work gets its turn
BACKLOG = 128
PAUSE = 1.0  # seconds until the next attempt
_NO_SUCH_ADDRESS = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
_NONE_HERE = (BlockingIOError, InterruptedError, ConnectionAbortedError)
_LOG = logging.getLogger(__name__)


class Acceptor:
    """Accepts the connections of a listening socket, which it owns; belongs to the running loop."""

    def __init__(self, listener: socket.socket, arrived: Callable[[socket.socket], None]) -> None:
        """`arrived` gets each connection, non-blocking, and has to close it."""
        self._listener = listener
        self._arrived = arrived
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._log = SparingLog(_LOG)
        listener.setblocking(False)
        self._go_on()

    def close(self) -> None:
        """Stop accepting."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)
        self._listener.close()

    def _go_on(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _address = self._listener.accept()
            except _NONE_HERE:
                return
            except OSError as error:
                self._rest(error)
                return
            connection.setblocking(False)
            self._arrived(connection)

    def _rest(self, error: OSError) -> None:
        why = errno.errorcode.get(error.errno or 0, "")
        self._log.warning(why, "no connection can be accepted at present: %s", error.strerror)
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(PAUSE, self._go_on)


def listen(address: str) -> list[socket.socket]:
    """Return sockets that listen at HOST:PORT, on each of the host's addresses that is ours, at one port; OSError."""
    host, port = parse_address(address)
    listeners: list[socket.socket] = []
    problem = OSError(errno.EADDRNOTAVAIL, "no such address")
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, _, _, _, (numeric, *_) in dict.fromkeys(found):
            try:
                listeners.append(_listening(family, str(numeric), port))
                port = listeners[-1].getsockname()[1]  # port 0: all use the first one's free port
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                problem = error
    except BaseException:
        for listener in listeners:
            listener.close()
        raise
    if not listeners:
        raise problem
    return listeners


def _listening(family: int, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # `::` must not claim the IPv4 addresses too
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "::")
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
