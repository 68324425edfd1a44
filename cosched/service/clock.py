"""The service's own time: whole seconds since 1970 that never step, and what the wall clock shows of them.

It is taken from the wall clock once, at the start, and driven by CLOCK_BOOTTIME from then on. When the wall clock is
set meanwhile, the difference is noted as a shift: added to what is shown or sent, subtracted from what is received.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from cosched.core.protocol import FOREVER

READING_TIME = 0.1  # seconds; a pair of readings that took longer says nothing about the difference of two clocks


def boottime() -> float:
    """Seconds since this host started, those in which it slept included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Clock:
    """Service time; `shift` is what the last run of this domain left in its store."""

    def __init__(
        self, shift: int = 0, *, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boottime
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._shift = shift
        self._start = self._wall_ahead() - shift

    def now(self) -> int:
        """Service time, whole seconds; never goes back."""
        return math.floor(self.exact())

    def exact(self) -> float:
        """Service time with its fraction."""
        return self._start + self._steady()

    @property
    def shift(self) -> int:
        """Seconds to add to service time to get wall time, as of the last `look`."""
        return self._shift

    def look(self) -> int:
        """Compare with the wall clock: the seconds by which it was set since the last look, which `shift` follows."""
        apart = self._wall_ahead() - self._start - self._shift
        step = round(apart) if abs(apart) >= 1 else 0
        self._shift += step
        return step

    def to_wall(self, instant: int) -> int:
        """Service time as wall time; 0 (no instant) and FOREVER stay what they are."""
        return _shifted(instant, self._shift)

    def from_wall(self, instant: int) -> int:
        """Wall time as service time; 0 (no instant) and FOREVER stay what they are."""
        return _shifted(instant, -self._shift)

    def _wall_ahead(self) -> float:
        """Seconds by which the wall clock is ahead of the steady one; both are read without a pause between."""
        while True:
            before = self._steady()
            wall = self._wall()
            if self._steady() - before < READING_TIME:
                return wall - before


def _shifted(instant: int, seconds: int) -> int:
    if instant in (0, FOREVER):
        return instant
    return max(1, instant + seconds)
