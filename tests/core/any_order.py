"""Timers of a `PolicyDomain` that are due whenever a test says so."""

from __future__ import annotations

from typing import Any


class AnyOrder:
    """Notes in `at` when timers are due, by job and kind."""

    def __init__(self, at: dict[Any, int]) -> None:
        self.at = at

    def set(self, _: str, timer: Any) -> None:
        self.at[timer.job, timer.timer] = timer.at

    def clear(self, _: str, timer: Any) -> None:
        self.at.pop((timer.job, timer.timer), None)
