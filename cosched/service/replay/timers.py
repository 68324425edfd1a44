"""Timers of a domain in lock-step: jobs' timers fire on request, by the conductor's time."""

from __future__ import annotations

import math

from cosched.core.protocol import FOREVER
from cosched.core.timers import VirtualTimers
from cosched.service.clock import Clock
from cosched.service.timers import Fire, Timers


class PacedTimers(Timers):
    """Single timers by the conductor's time; periodic work by this host's clock, as in `Timers`."""

    def __init__(self) -> None:
        super().__init__(Clock())
        self._virtual = VirtualTimers[str]()
        self._fires: dict[str, Fire] = {}

    def set(self, key: str, at: float, fire: Fire) -> None:
        """Keep `fire` for the whole second in which `at` is. Replaces an earlier timer `key`."""
        self._fires[key] = fire
        self._virtual.set(key, key.partition(" ")[0], math.floor(at))

    def clear(self, key: str) -> None:
        """Forget the timer `key`, if there is one."""
        self._virtual.clear(key)

    @property
    def next(self) -> int | None:
        """Return when the next timer is due; None if there is none."""
        at = self._virtual.next()
        return None if at == FOREVER else at

    def due(self, now: int, *, of_slots: bool) -> Fire | None:
        """Take the first timer that is due, if it is (or is not) one of a slot."""
        key = self._virtual.take(now, of_slots=of_slots)
        return None if key is None else self._fires.pop(key)
