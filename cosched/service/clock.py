"""The service's own time: whole seconds since 1970 that never step, and their relation to the wall clock.

Service time is read from the wall clock once, at the start, and follows CLOCK_BOOTTIME from then on. If the wall clock
is set later, the difference is noted as a shift: added to times that are shown or sent, subtracted from received ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from cosched.core.protocol import FOREVER

READING_TIME = 0.1  # seconds; if a pair of readings takes longer, the difference of the two clocks is unreliable


def boottime() -> float:
    """Return seconds since this host started, including those in which it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Clock:
    """Service time; `shift` is from this domain's store, where the last run left it."""

    def __init__(
        self, shift: int = 0, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boottime
    ) -> None:
        self._wall, self._steady = wall, steady
        self.shift = shift  # wall time minus service time in seconds, as of the last `look`
        self._start = self._wall_ahead() - shift

    def now(self) -> int:
        """Return service time in whole seconds; it never goes back."""
        return math.floor(self.exact())

    def exact(self) -> float:
        """Return service time with its fraction."""
        return self._start + self._steady()

    def look(self) -> int:
        """Compare with the wall clock and adjust `shift`; return how many seconds it was set by since the last look."""
        apart = self._wall_ahead() - self._start - self.shift
        step = round(apart) if abs(apart) >= 1 else 0
        self.shift += step
        return step

    def to_wall(self, instant: int) -> int:
        """Convert service time to wall time; 0 (no instant) and FOREVER stay."""
        return instant if instant in (0, FOREVER) else max(1, instant + self.shift)

    def from_wall(self, instant: int) -> int:
        """Convert wall time to service time; 0 (no instant) and FOREVER stay."""
        return instant if instant in (0, FOREVER) else max(1, instant - self.shift)

    def _wall_ahead(self) -> float:
        """Return how many seconds the wall clock is ahead of the steady one, from readings without a pause between."""
        while True:
            before = self._steady()
            wall = self._wall()
            if self._steady() - before < READING_TIME:
                return wall - before
