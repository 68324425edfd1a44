"""Accepts connections while there are descriptors for them, and not more than the service can bear.

During a shortage connections wait in the kernel; asyncio's own way logs each failed attempt, and makes more attempts
the more have failed. Anybody can connect as often as the kernel lets them: so other work gets its turn between, and
connections of one origin that come too often, or of all origins together, are closed at once, which costs little.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from ipaddress import IPv6Address, ip_address, ip_network

from cosched.sockets.sparing_log import SparingLog
from cosched.validation.addresses import parse_address

AT_ONCE = 64  # connections that are accepted before other work gets its turn
REST = 2.0  # times as long as these took: what it gets then, so that a flood leaves the loop most of its time
BACKLOG = 128
PAUSE = 1.0  # seconds until the next attempt
OFTEN, OFTEN_OF_ALL = 100.0, 400.0  # connections a second of one origin, and of all that are not trusted
BURST = 2.56  # seconds: so many seconds' connections may come at once
_MOST = 1000  # remembered origins
_SAME_NETWORK = 64  # bits: one host may have many IPv6 addresses with this prefix
_CREDENTIALS = struct.Struct("iII")  # SO_PEERCRED: process, user, group
_NO_SUCH_ADDRESS = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
_NONE_HERE = (BlockingIOError, InterruptedError, ConnectionAbortedError)
_LOG = logging.getLogger(__name__)


def user_of(connection: socket.socket) -> int:
    """Return the id of the user whose process has connected to a Unix socket, as the kernel tells it; OSError."""
    return int(_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1])


def of_user(uid: int) -> str:
    """Return the origin of this user's connections to a Unix socket."""
    return f"uid {uid}"


def origin_of(connection: socket.socket) -> str:
    """Return the origin of an accepted connection: a user of this host, or a host; OSError if it is gone."""
    if connection.family == socket.AF_UNIX:
        return of_user(user_of(connection))
    address = ip_address(connection.getpeername()[0].partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address) if address.is_loopback else str(ip_network((address, _SAME_NETWORK), strict=False))


class Pace:
    """How often origins may come."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}  # when each would have come, had it kept to its pace
        self._due_of_all = 0.0

    def allows(self, origin: str, now: float) -> bool:
        """Return whether this origin may come now, `now` in seconds; if so, it has."""
        due = max(self._due.get(origin, now), now)
        due_of_all = max(self._due_of_all, now)
        if due + 0.5 / OFTEN > now + BURST or due_of_all + 0.5 / OFTEN_OF_ALL > now + BURST:
            return False
        if len(self._due) >= _MOST:
            self._due = {known: at for known, at in self._due.items() if at > now}
        self._due[origin], self._due_of_all = due + 1 / OFTEN, due_of_all + 1 / OFTEN_OF_ALL
        return True


class Acceptor:
    """Accepts the connections of a listening socket, which it owns; belongs to the running loop."""

    def __init__(
        self,
        listener: socket.socket,
        arrived: Callable[[socket.socket, str], None],
        trusted: Callable[[str], bool] = lambda origin: False,  # noqa: ARG005
        origin_of: Callable[[socket.socket], str] = origin_of,
    ) -> None:
        """`arrived` gets each connection, non-blocking, with its origin, and has to close it.

        Origins that are `trusted` may come as often as they like.
        """
        self._listener = listener
        self._arrived = arrived
        self._trusted = trusted
        self._origin_of = origin_of
        self._pace = Pace()
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
        began = time.monotonic()
        for _ in range(AT_ONCE):
            try:
                connection, _address = self._listener.accept()
            except _NONE_HERE:
                return
            except OSError as error:
                why = errno.errorcode.get(error.errno or 0, "")
                self._log.warning(why, "no connection can be accepted at present: %s", error.strerror)
                self._rest(PAUSE)
                return
            self._take(connection)
        self._rest(REST * (time.monotonic() - began))

    def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            origin = self._origin_of(connection)
        except OSError:  # it is gone
            connection.close()
            return
        if self._trusted(origin) or self._pace.allows(origin, time.monotonic()):
            self._arrived(connection, origin)
        else:
            self._log.warning(origin, "%s connects too often: a connection is closed", origin)
            connection.close()

    def _rest(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._pause = self._loop.call_later(seconds, self._go_on)


def listen(address: str) -> list[socket.socket]:
    """Return sockets that listen at HOST:PORT, on each of the host's addresses that is ours, at one port; OSError."""
    host, port = parse_address(address)
    listeners: list[socket.socket] = []
    problem = OSError(errno.EADDRNOTAVAIL, "no such address")
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    with ExitStack() as opened:
        for family, _, _, _, (numeric, *_) in dict.fromkeys(found):
            try:
                listeners.append(opened.enter_context(_listening(family, str(numeric), port)))
                port = listeners[-1].getsockname()[1]  # port 0: all use the first one's free port
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                problem = error
        opened.pop_all()
    if not listeners:
        raise problem
    return listeners


def _listening(family: int, host: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:  # only `::` stands for the addresses of IPv4, too
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "::")
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
