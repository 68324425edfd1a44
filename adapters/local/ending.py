"""Ending all processes of a job, wherever they went: other process groups and sessions included. Imports little."""

from __future__ import annotations

import signal
import time

from adapters.local.processes import Identity, members

PAUSE = 0.02  # seconds between two looks
PATIENCE = 10.0  # seconds that processes may take to vanish after SIGKILL, before they are reported as they are


def send_all(leader: Identity | None, mark: bytes, number: int) -> int:
    """Send the signal to every process of the job; how many there were."""
    found = members(leader, mark)
    for process in found:
        process.send(number)
    return len(found)


def terminate(leader: Identity | None, mark: bytes) -> None:
    """Ask all processes of the job to end; stopped ones wake up to hear it."""
    send_all(leader, mark, signal.SIGTERM)
    send_all(leader, mark, signal.SIGCONT)


def kill_rest(leader: Identity | None, mark: bytes, grace: float = 0.0) -> tuple[int, int]:
    """Kill what there is of the job after `grace` seconds, until nothing is left: how many there were, and are."""
    patience_over = time.monotonic() + grace
    while grace and time.monotonic() < patience_over and members(leader, mark):
        time.sleep(PAUSE)
    before = left = send_all(leader, mark, signal.SIGKILL)
    patience_over = time.monotonic() + PATIENCE
    while left and time.monotonic() < patience_over:
        time.sleep(PAUSE)
        left = send_all(leader, mark, signal.SIGKILL)  # again: a process may have forked since the last look
    return before, left
