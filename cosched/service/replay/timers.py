"""Timers of a domain in lock-step: those of jobs fire when they are asked to, by the time that is told."""

from __future__ import annotations

import heapq
import math

from cosched.service.clock import Clock
from cosched.service.timers import Fire, Timers


class PacedTimers(Timers):
    """Single timers by instants that are told; periodic work by this host's clock, as ever."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self._set: dict[str, tuple[int, Fire]] = {}  # by key: its place in the order of setting, and what to do
        self._heap: list[tuple[int, int, str]] = []  # instant, order, key; also of those cleared or replaced since
        self._order = 0

    def set(self, key: str, at: float, fire: Fire) -> None:
        """Keep `fire` for the instant in which `at` is; in place of the timer `key` there was."""
        self._order += 1
        self._set[key] = self._order, fire
        heapq.heappush(self._heap, (math.floor(at), self._order, key))

    def clear(self, key: str) -> None:
        """Forget the timer `key`, if there is one."""
        self._set.pop(key, None)

    @property
    def next(self) -> int | None:
        """When the next timer is due."""
        while self._heap and not self._is_set(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Fire | None:
        """Take the first of the timers that are due, those of one instant in the order in which they were set."""
        at = self.next
        if at is None or at > now:
            return None
        _, _, key = heapq.heappop(self._heap)
        return self._set.pop(key)[1]

    def _is_set(self, entry: tuple[int, int, str]) -> bool:
        _, order, key = entry
        return key in self._set and self._set[key][0] == order
