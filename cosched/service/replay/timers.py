"""Timers of a domain in lock-step: jobs' timers fire on request, by the conductor's time."""

from __future__ import annotations

import heapq
import math

from cosched.core.effects import OF_SLOTS
from cosched.service.clock import Clock
from cosched.service.timers import Fire, Timers


class PacedTimers(Timers):
    """Single timers by the conductor's time; periodic work by this host's clock, as in `Timers`."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self._set: dict[str, tuple[int, Fire]] = {}  # by key: a number in the order of setting, and what to do
        self._heap: list[tuple[int, bool, int, str]] = []  # instant, of a slot, order, key; includes unset ones
        self._order = 0

    def set(self, key: str, at: float, fire: Fire) -> None:
        """Keep `fire` for the whole second in which `at` is. Replaces an earlier timer `key`."""
        self._order += 1
        self._set[key] = self._order, fire
        heapq.heappush(self._heap, (math.floor(at), key.partition(" ")[0] in OF_SLOTS, self._order, key))

    def clear(self, key: str) -> None:
        """Forget the timer `key`, if there is one."""
        self._set.pop(key, None)

    @property
    def next(self) -> int | None:
        """Return when the next timer is due; None if there is none."""
        while self._heap and not self._is_set(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: int, *, of_slots: bool) -> Fire | None:
        """Take the first timer that is due, if it is (or is not) one of a slot.

        Timers of one instant come in the order in which they were set, those of slots last.
        """
        at = self.next
        if at is None or at > now or self._heap[0][1] != of_slots:
            return None
        _, _, _, key = heapq.heappop(self._heap)
        return self._set.pop(key)[1]

    def _is_set(self, entry: tuple[int, bool, int, str]) -> bool:
        _, _, order, key = entry
        return key in self._set and self._set[key][0] == order
