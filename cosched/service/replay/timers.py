"""Timers of a domain in lock-step: jobs' timers fire on request, by the conductor's time."""

from __future__ import annotations

import heapq
import math

from cosched.service.clock import Clock
from cosched.service.timers import Fire, Timers


class PacedTimers(Timers):
    """Single timers by the conductor's time; periodic work by this host's clock, as in `Timers`."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self._set: dict[str, tuple[int, Fire]] = {}  # by key: a number in the order of setting, and what to do
        self._heap: list[tuple[int, int, str]] = []  # instant, order, key; includes cleared and replaced timers
        self._order = 0

    def set(self, key: str, at: float, fire: Fire) -> None:
        """Keep `fire` for the whole second in which `at` is. Replaces an earlier timer `key`."""
        self._order += 1
        self._set[key] = self._order, fire
        heapq.heappush(self._heap, (math.floor(at), self._order, key))

    def clear(self, key: str) -> None:
        """Forget the timer `key`, if there is one."""
        self._set.pop(key, None)

    @property
    def next(self) -> int | None:
        """Return when the next timer is due; None if there is none."""
        while self._heap and not self._is_set(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Fire | None:
        """Take the first timer that is due; timers of one instant come in the order in which they were set."""
        at = self.next
        if at is None or at > now:
            return None
        _, _, key = heapq.heappop(self._heap)
        return self._set.pop(key)[1]

    def _is_set(self, entry: tuple[int, int, str]) -> bool:
        _, order, key = entry
        return key in self._set and self._set[key][0] == order
