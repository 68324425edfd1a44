"""The Unix socket on which a service hears a batch system's hooks, and who calls."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import struct
from contextlib import suppress
from errno import EADDRINUSE, EEXIST
from pathlib import Path

BACKLOG = 1024  # connections that wait to be accepted


def caller(transport: asyncio.BaseTransport) -> int:
    """Return the user id of the connection's other end."""
    ucred = struct.Struct("iII")  # process, user, group
    credentials = transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, ucred.size)
    return int(ucred.unpack(credentials)[1])


def listen(path: Path) -> socket.socket:
    """Return a listening socket. It appears under its name when it is usable, and replaces one that nobody serves."""
    _check_free(path)
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        listening.bind(os.fspath(aside))
        aside.chmod(0o666)  # the folder and the credentials decide who may do what
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
