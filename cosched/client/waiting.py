"""How long to wait between two looks at a job, and for which states."""

from __future__ import annotations

import time
from collections.abc import Iterator

ENDED = ("completed", "failed", "cancelled")
STARTED = ("running", *ENDED)
FIRST, LAST = 0.2, 5.0  # seconds between two looks: twice as long each time


def pauses(timeout: float | None = None) -> Iterator[float]:
    """Yield how many seconds to sleep before each look, first none; end after `timeout` seconds."""
    until = None if timeout is None else time.monotonic() + timeout
    yield 0.0
    pause = FIRST
    while until is None or time.monotonic() + pause <= until:
        yield pause
        pause = min(2 * pause, LAST)
