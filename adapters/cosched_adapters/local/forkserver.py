"""The fork server forks a supervisor for each launch. Starting an interpreter would take several times longer.

The service sends the name of a job's folder over the socket on standard input, with a descriptor that becomes the
supervisor's standard output. Supervisors outlive the fork server, which ends with the service.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

from cosched_adapters.local.child import IGNORED
from cosched_adapters.local.supervise import LOG, SIGNALS, main

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_MAX_NAME = 4096  # bytes


def serve() -> None:
    """Fork supervisors in this folder, the spool, until the service closes its end of the socket or dies."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in IGNORED else signal.SIG_DFL)  # Python and nohup differ
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for supervisors: avoid zombies
    os.umask(0o077)
    with socket.socket(fileno=0) as service:
        while True:
            name, received, _, _ = socket.recv_fds(service, _MAX_NAME, 1)
            if not name:
                return
            if os.fork() == 0:
                _supervise(os.fsdecode(name), received[0])
            os.close(received[0])


def _supervise(folder: str, output: int) -> NoReturn:
    """Become the supervisor of this job; never returns."""
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # they stay pending until the supervisor takes them
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if ignored, the supervisor would not get it
        os.setsid()  # signals to the fork server's group must not reach jobs
        _connect(folder, output)
        os.chdir(folder)
        code = main(os.getcwd())
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        os._exit(code)


def _connect(folder: str, output: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    for fd, standard in ((nothing, 0), (output, 1), (log, 2)):
        os.dup2(fd, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
