"""A supervisor as the service sees it: a process that it has started or found again, and waits for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from adapters.local.processes import Identity
from adapters.local.spool import LOG
from adapters.local.supervise import SIGNALS

PROGRAM = str(Path(__file__).with_name("supervisor.py"))
# -I -S -E: no site packages, no user's settings: a small process that starts fast. UTF-8 whatever the locale.
_COMMAND = (sys.executable, "-I", "-S", "-E", "-X", "utf8", PROGRAM)


class SupervisorProcess:
    """Tells the running loop when the process has news or has exited. To be closed."""

    def __init__(self, pid: int, pidfd: int, pipe: int | None) -> None:
        self.pid = pid
        self.news = asyncio.Event()  # its record has changed, or it has exited
        self.exited = False
        self._pidfd = pidfd
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(pidfd, self._on_exit)
        if pipe is not None:
            self._loop.add_reader(pipe, self._on_pipe)

    def cancel(self) -> None:
        """Make it look at the mark `cancel`."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGTERM)

    def close(self) -> None:
        """Stop watching; the process runs on."""
        self._close_pipe()
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        with contextlib.suppress(ChildProcessError):  # not started by this service
            os.waitpid(self.pid, os.WNOHANG)
        self.exited = True
        self.news.set()

    def _on_pipe(self) -> None:
        if self._pipe is not None and not os.read(self._pipe, 64):
            self._close_pipe()
        self.news.set()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = None


def find_supervisor(identity: Identity) -> SupervisorProcess | None:
    """A supervisor that an earlier service has started; None if it has ended."""
    fd = identity.open() if identity.alive() else None
    return None if fd is None else SupervisorProcess(identity.pid, fd, None)


def start_supervisor(folder: str) -> SupervisorProcess:
    """Start a supervisor for this folder; OSError."""
    pipe, tell = os.pipe()
    try:
        pid = os.posix_spawn(
            _COMMAND[0],
            [*_COMMAND, folder],
            {},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, tell, 1),
                (os.POSIX_SPAWN_OPEN, 2, f"{folder}/{LOG}", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, 0),
            ],
            setsid=True,  # what a terminal sends to the service is not for jobs
            setsigmask=SIGNALS,  # kept waiting until it can take them
            setsigdef=SIGNALS,
        )
    except BaseException:
        os.close(pipe)
        raise
    finally:
        os.close(tell)
    try:
        os.set_blocking(pipe, False)
        return SupervisorProcess(pid, os.pidfd_open(pid), pipe)
    except OSError:  # no descriptor left: it does its work unwatched, and the next one waits behind it
        os.close(pipe)
        raise
