"""Ending all processes of a job, in other process groups and sessions too. Imports little."""

from __future__ import annotations

import signal
import time

from cosched_adapters.local.processes import Identity, members

PAUSE = 0.02  # seconds between two looks
PATIENCE = 10.0  # seconds that processes may take to vanish after SIGKILL; what is left then is reported


def send_all(leader: Identity | None, mark: bytes, number: int, ancestor: int = 0) -> int:
    """Send the signal to every process of the job (see `members`); return their number."""
    found = members(leader, mark, ancestor)
    for process in found:
        process.send(number)
    return len(found)


def terminate(leader: Identity | None, mark: bytes, ancestor: int) -> None:
    """Ask all processes of the job to end; continue stopped ones, so that they notice."""
    send_all(leader, mark, signal.SIGTERM, ancestor)
    send_all(leader, mark, signal.SIGCONT, ancestor)


def kill_rest(leader: Identity | None, mark: bytes, ancestor: int = 0, grace: float = 0.0) -> tuple[int, int]:
    """Kill the job's processes after `grace` seconds, until none is left; return how many there were and are left."""
    patience_over = time.monotonic() + grace
    while grace and time.monotonic() < patience_over and members(leader, mark, ancestor):
        time.sleep(PAUSE)
    before = left = send_all(leader, mark, signal.SIGKILL, ancestor)
    patience_over = time.monotonic() + PATIENCE
    while left and time.monotonic() < patience_over:
        time.sleep(PAUSE)
        left = send_all(leader, mark, signal.SIGKILL, ancestor)  # again: a process may have forked since the last look
    return before, left
