"""Warnings about what others do, as often as they like: the log says each at most once a minute."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable

PAUSE = 60.0  # seconds
_MOST = 1000  # subjects that are remembered


class SparingLog:
    """Says what happens again and again once a minute for each subject, and how often it happened meanwhile."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._said: dict[Hashable, tuple[float, int]] = {}  # when, and how often since

    def warning(self, subject: Hashable, message: str, *arguments: object) -> None:
        """Warn, unless this subject was warned of within the last minute."""
        now = time.monotonic()
        at, since = self._said.get(subject, (-PAUSE, 0))
        if now - at < PAUSE:
            self._said[subject] = at, since + 1
            return
        if len(self._said) >= _MOST:
            self._said = {known: (at, times) for known, (at, times) in self._said.items() if now - at < PAUSE}
        if len(self._said) < _MOST:
            self._said[subject] = now, 0
            self._log.warning(message + (f" (and {since} times before)" if since else ""), *arguments)
