"""How a service ends by a fault: in one line, which names the scheduler if that is to blame."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cosched.schedulers.faults import blamed, hanging
from cosched.schedulers.kind import SchedulerKind
from cosched.service.store import StoreError

LOOKS = 5  # seconds, one after the other
LOOK = 1.0  # seconds of each: so much counts at most, since a process that was suspended does not hang
OURS = "cosched."


def ended_by(failure: BaseException, kind: SchedulerKind) -> str:
    """Say why the service of a domain with such a scheduler has ended."""
    if isinstance(failure, StoreError) and failure.damaged:
        return f"ended, and nothing more is written: {failure}"
    if isinstance(failure, StoreError):
        return f"ended: the database cannot be flushed to disk; nothing was answered that is not on disk: {failure}"
    fault = blamed(failure, kind)
    return f"ended after a fault: {failure!r}" if fault is None else f"ended: {fault.line}"


def watch_scheduler(kind: SchedulerKind, serving: Callable[[], bool]) -> Callable[[], None]:
    """End this process once its scheduler keeps the running loop for LOOKS seconds; return what ends the watch.

    For how long the loop waits for a processor of a busy host does not count.
    Only schedulers of other packages are watched: ours are slow at worst. The thread that looks ends the process by
    itself, as it cannot end the call: with exit code 1 if the service was `serving`, else 2.
    """
    stop, loop, watched = threading.Event(), asyncio.get_running_loop(), threading.get_ident()
    thread = threading.get_native_id()

    def watch() -> None:
        while not stop.wait(LOOK):
            answered = threading.Event()
            with suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(answered.set)
            if answers(answered, thread) or stop.is_set():
                continue
            if (fault := hanging(sys._current_frames().get(watched), kind, LOOKS)) is not None:
                print(f"cosched: ended: {fault.line}", file=sys.stderr, flush=True)
                os._exit(1 if serving() else 2)

    if not type(kind).__module__.startswith(OURS):
        threading.Thread(target=watch, daemon=True, name="watch of the scheduler").start()
    return stop.set


def answers(answered: threading.Event, thread: int) -> bool:
    """Wait until it has answered. False: in LOOKS seconds that its thread had, it has not."""
    kept = 0.0
    while kept < LOOKS:
        before = own_seconds(thread)
        if answered.wait(LOOK):
            return True
        kept += min(LOOK, own_seconds(thread) - before)
    return False


def own_seconds(thread: int) -> float:
    """Return a clock that stands while this thread of ours (by its native id) waits for a processor; in seconds."""
    waited = 0
    with suppress(OSError, ValueError, IndexError):  # not every kernel counts that
        waited = int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[1])
    return time.monotonic() - waited / 1e9
