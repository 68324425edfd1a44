"""The timers of a virtual clock, of one domain or of many: at most one for each key."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

from cosched.core.effects import OF_SLOTS
from cosched.core.protocol import FOREVER

Key = TypeVar("Key", bound=Hashable)


class VirtualTimers(Generic[Key]):
    """Timers by due instant; timers of one instant in the order in which they were set, those of slots last."""

    def __init__(self) -> None:
        self._at: dict[Key, int] = {}
        self._heap: list[tuple[int, bool, int, Key]] = []  # may still contain timers that were cleared or replaced
        self._sequence = 0

    def set(self, key: Key, timer: str, at: int) -> None:
        """Set a timer of this kind; it replaces the one with this key."""
        self._sequence += 1
        self._at[key] = at
        heapq.heappush(self._heap, (at, timer in OF_SLOTS, self._sequence, key))

    def clear(self, key: Key) -> None:
        """Forget a timer, if there is one."""
        self._at.pop(key, None)

    def next(self) -> int:
        """Return the next instant at which a timer is due, or FOREVER."""
        while self._heap and self._at.get(self._heap[0][3]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else FOREVER

    def take(self, now: int, *, of_slots: bool) -> Key | None:
        """Remove and return the next timer that is due now, if there is one, and it is (or is not) one of a slot."""
        if self.next() > now or self._heap[0][1] != of_slots:
            return None
        _, _, _, key = heapq.heappop(self._heap)
        del self._at[key]
        return key
