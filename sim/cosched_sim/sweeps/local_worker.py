"""The process of a local worker: it gets chunks of cases and returns their rows, through a socket of its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from multiprocessing.connection import Connection

from cosched.host.garbage import look_from_now_on, look_later
from cosched_sim.sweeps.case import run_chunk

READY = "ready"
PR_SET_PDEATHSIG = 1  # prctl(2)


def main() -> None:
    """Serve the process `sys.argv[2]` through the socket `sys.argv[1]` until it closes the socket or ends."""
    descriptor, parent = map(int, sys.argv[1:])
    if sys.platform == "linux":  # killed when the parent ends, for whatever reason, even in the middle of a case
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has ended already
        sys.exit()
    look_later()
    from cosched.installation.compilation import prepare_kernels
    from cosched_sim.warm_up import SIMULATED, run_all_kernels

    prepare_kernels(run_all_kernels, lambda _: None, SIMULATED)
    look_from_now_on()
    with contextlib.suppress(EOFError, OSError), Connection(descriptor) as connection:
        connection.send(READY)
        while True:
            connection.send(run_chunk(connection.recv()))
