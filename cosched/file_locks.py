"""Locks of files, by which one process at a time uses what is beside them."""

from __future__ import annotations

import fcntl
import time

# Seconds. A process that a dead service was just starting has its locks too, until it is another program.
PATIENCE = 1.0


def lock(descriptor: int) -> bool:
    """Lock an open file until it is closed here; False if somebody else has it, still after `PATIENCE`."""
    over = time.monotonic() + PATIENCE
    while not _locked(descriptor):
        if time.monotonic() > over:
            return False
        time.sleep(0.02)
    return True


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
