"""Supervisors as the service sees them: processes that it has started or found again, and watches."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

from cosched.host.descriptors import limit_before
from cosched_adapters.local.processes import Identity
from cosched_adapters.local.supervise import LOG

PROGRAM = str(Path(__file__).with_name("supervisor.py"))
# -I -S -E: without site packages and users' settings, for a small process that starts fast. UTF-8 in any locale.
_COMMAND = (sys.executable, "-I", "-S", "-E", "-X", "utf8", PROGRAM)
_PATIENCE = 1.0  # seconds for the fork server to end, or to read when hundreds of launches have filled its socket


class SupervisorProcess:
    """Tells the running loop when the process has news or has exited. Close it; the process keeps running."""

    def __init__(self, fd: int, *, speaks: bool) -> None:
        """`fd` is a pipe from a process that `speaks`, else a descriptor of the process (pidfd)."""
        self.news = asyncio.Event()  # its record has changed, or it has exited
        self.exited = False
        self._fd, self._speaks = fd, speaks
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._on_news)

    def close(self) -> None:
        """Stop watching."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _on_news(self) -> None:
        self.exited = not self._speaks or not os.read(self._fd, 64)
        if self.exited:
            self.close()
        self.news.set()


def find_supervisor(identity: Identity) -> SupervisorProcess | None:
    """Return a supervisor that an earlier service has started; None if it has ended."""
    fd = identity.open() if identity.alive() else None
    return None if fd is None else SupervisorProcess(fd, speaks=False)


class ForkServer:
    """The process that forks the supervisors of a spool. It is restarted when it has died."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, log: str = os.devnull) -> None:
        """Start it, so that it is ready for the first launch; `log` is for its error messages. OSError."""
        self._leave()
        if self._process is not None:
            self._process.wait()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_PATIENCE)
        self._socket = ours
        with theirs, open(log, "ab") as complaints:
            self._process = subprocess.Popen(
                [*_COMMAND, str(self._spool)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env={},
                start_new_session=True,
            )
        resource.prlimit(self._process.pid, resource.RLIMIT_NOFILE, limit_before())  # for jobs; the service's is higher

    def start(self, job_id: str) -> SupervisorProcess:
        """Start a supervisor for this job, whose folder is in the spool; OSError.

        The fork server may die at any instant, even before it reads the job's name. The supervisor then has exited.
        """
        hear, tell = os.pipe()
        try:
            self._hand_over(job_id, tell)
        except BaseException:
            os.close(hear)
            raise
        finally:
            os.close(tell)
        return SupervisorProcess(hear, speaks=True)

    def _hand_over(self, job_id: str, tell: int) -> None:
        if not self._send(job_id, tell):
            self.begin(f"{self._spool}/{job_id}/{LOG}")
            if not self._send(job_id, tell):
                raise ConnectionError(errno.EPIPE, "the fork server ended at once")

    def _send(self, job_id: str, tell: int) -> bool:
        """Send the job's name; return whether a fork server reads it. OSError, for example if it is stuck."""
        try:
            return self._socket is not None and socket.send_fds(self._socket, [os.fsencode(job_id)], [tell]) > 0
        except ConnectionError:  # it died
            return False

    async def close(self) -> None:
        """Let it end after it has forked all requested supervisors."""
        self._leave()
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.to_thread(self._process.wait), _PATIENCE)
            self._process.kill()
            self._process.wait()

    def _leave(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
