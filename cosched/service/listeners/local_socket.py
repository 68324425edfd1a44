"""The Unix socket for users of this host. The kernel tells the user of each connecting process."""

from __future__ import annotations

import asyncio
import os
import pwd
import socket
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from cosched.service.api.answering import Context
from cosched.service.api.receiving import Keep
from cosched.service.listeners.front import Front, Passed
from cosched.service.wire.callers import Caller, Identify, socket_caller
from cosched.service.wire.errors import Refusal
from cosched.sockets.accepting import of_user, user_of
from cosched.sockets.connections import Room
from cosched.sockets.domain_sockets import private_folder
from cosched.words.errors import InputError
from cosched.words.file_errors import reason_of

_LONGEST = 107  # bytes of the path
EVERYBODY = 0o666  # mode of the socket
_PATIENCE = 1.0  # seconds within which a live service accepts a connection
_GONE = Caller(None, None, False, "socket")


class LocalSocket(Front):
    """A gRPC server on a Unix socket, by default a public one."""

    def __init__(
        self,
        path: Path,
        make_server: Callable[[Identify, Keep], grpc.aio.Server],
        operators: Collection[str],
        room: Room,
        known: Callable[[int], Caller] | None = None,
        mode: int = EVERYBODY,
    ) -> None:
        """`make_server` returns a server with its servicers, without ports, not started.

        `known`: who calls as the user of a uid; None: this user of the host.
        """
        super().__init__(str(path), private_folder(path), room, _origins(operators))
        self._path = path
        self._of_user = room.of_user
        self._make_server = make_server
        self._known = known or partial(socket_caller, operators=operators)
        self._mode = mode

    async def open(self) -> None:
        """Start listening; InputError if the path cannot be used, or is in use."""
        public = listen_at(self._path, self._mode)
        server = self._make_server(self._identify, self.keep)
        try:
            await self.start([public], server, server.add_insecure_port)
        except BaseException:
            public.close()
            self._path.unlink(missing_ok=True)
            raise

    async def close(self, grace: float | None = None) -> None:
        """See Front; the socket is removed first."""
        self._path.unlink(missing_ok=True)
        await super().close(grace)

    def _identify(self, context: grpc.aio.ServicerContext[Any, Any]) -> Caller:
        passed = self.passed(context)
        return _GONE if passed is None or passed.caller is None else passed.caller

    async def _prepare(self, passed: Passed, accepted: socket.socket) -> None:
        passed.caller = await asyncio.to_thread(self._known, user_of(accepted))
        self._keep(passed, passed.caller)

    async def keep(self, context: Context, caller: Caller) -> None:
        """Keep the connection of this call; Refusal: its user has too many."""
        passed = self.passed(context)
        if passed is not None and not self._keep(passed, caller):
            most = f"{self._of_user} connections open, the most that it may have"
            problem = f"{caller.via} has {most}, or all users have too many: try again later"
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CONNECTIONS", problem)


def _origins(operators: Collection[str]) -> set[str]:
    """Return the origins of operators' connections, of root's and of our own."""
    uids = {0, os.geteuid()}
    for name in operators:
        with suppress(KeyError):
            uids.add(pwd.getpwnam(name).pw_uid)
    return {of_user(uid) for uid in uids}


def listen_at(path: Path, mode: int = EVERYBODY) -> socket.socket:
    """Return a listening socket at `path`, to which by default everybody can connect; InputError."""
    if len(os.fsencode(path)) > _LONGEST:
        raise InputError(str(path), None, f"is too long for a socket: at most {_LONGEST} bytes")
    public = socket.socket(socket.AF_UNIX)
    try:
        _make_way(path)
        public.bind(os.fspath(path))
        path.chmod(mode)
        public.listen()
        return public
    except BaseException as error:
        public.close()
        if isinstance(error, OSError):
            raise InputError(str(path), None, f"cannot be listened on: {reason_of(error, path)}") from None
        raise


def _make_way(path: Path) -> None:
    """Remove the socket of a dead service; InputError if there is anything else."""
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
        except (TimeoutError, BlockingIOError):  # somebody listens, but is slow to accept
            pass
    raise InputError(str(path), None, "is in use by another service")
