"""How a service ends by a fault: in one line, which names the scheduler if that is to blame."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from cosched.schedulers.faults import blamed, hanging
from cosched.schedulers.kind import SchedulerKind
from cosched.service.store import StoreError

LOOKS = 5  # seconds: one after the other, since a process that was suspended does not hang
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

    Only schedulers of other packages are watched: ours are slow at worst. The thread that looks ends the process by
    itself, as it cannot end the call: with exit code 1 if the service was `serving`, else 2.
    """
    stop, loop, watched = threading.Event(), asyncio.get_running_loop(), threading.get_ident()

    def watch() -> None:
        while not stop.wait(1.0):
            answered = threading.Event()
            with suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(answered.set)
            if any(answered.wait(1.0) or stop.is_set() for _ in range(LOOKS)):
                continue
            if (fault := hanging(sys._current_frames().get(watched), kind, LOOKS)) is not None:
                print(f"cosched: ended: {fault.line}", file=sys.stderr, flush=True)
                os._exit(1 if serving() else 2)

    if not type(kind).__module__.startswith(OURS):
        threading.Thread(target=watch, daemon=True, name="watch of the scheduler").start()
    return stop.set
