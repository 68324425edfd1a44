"""Warnings about events that others can cause at will: the log has each at most once a minute."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable

PAUSE = 60.0  # seconds
_MOST = 1000  # remembered subjects


class SparingLog:
    """Logs a repeated event once a minute for each subject, and how often it happened in between."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._said: dict[Hashable, tuple[float, int]] = {}  # when, and how often since

    def warning(self, subject: Hashable, message: str, *arguments: object) -> None:
        """Warn, unless there was a warning about this subject within the last minute."""
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
