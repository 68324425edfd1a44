"""File locks, so that only one process at a time uses a folder."""

from __future__ import annotations

import fcntl
import time

# Seconds. A child that a dead service had just forked keeps the service's locks until it executes its own program.
PATIENCE = 1.0


def lock(descriptor: int, patience: float = PATIENCE) -> bool:
    """Lock an open file until this process closes it; False if another one still has the lock after so many seconds."""
    over = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > over:
                return False
        time.sleep(0.02)
