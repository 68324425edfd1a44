"""Log entries about events that others can cause at will: the log has each at most once a minute, with its number."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable
from dataclasses import dataclass

PAUSE = 60.0  # seconds
_MOST = 1000  # remembered subjects


@dataclass(slots=True)
class _Said:
    at: float
    level: int
    message: str
    arguments: tuple[object, ...]
    since: int = 0  # how often it happened again


class SparingLog:
    """Logs a repeated event once a minute for each subject, and how often it happened in between."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._said: dict[Hashable, _Said] = {}

    def warning(self, subject: Hashable, message: str, *arguments: object) -> None:
        """Warn, unless there was an entry about this subject within the last minute."""
        self.log(logging.WARNING, subject, message, *arguments)

    def log(self, level: int, subject: Hashable, message: str, *arguments: object) -> None:
        """Log, unless there was an entry about this subject within the last minute."""
        now, known = time.monotonic(), self._said.get(subject)
        if known is not None and now - known.at < PAUSE:
            known.since += 1
            return
        if len(self._said) >= _MOST:
            self.tidy()
        if known is not None or len(self._said) < _MOST:
            self._said[subject] = _Said(now, level, message, arguments)
            before = f" (and {known.since} times before)" if known is not None and known.since else ""
            self._log.log(level, message + before, *arguments)

    def tidy(self) -> None:
        """Forget what was logged more than a minute ago, and log how often it has happened again."""
        self._forget(time.monotonic() - PAUSE)

    def close(self) -> None:
        """Log how often all that was logged has happened again."""
        self._forget(time.monotonic())

    def _forget(self, before: float) -> None:
        for subject in [subject for subject, said in self._said.items() if said.at <= before]:
            said = self._said.pop(subject)
            if said.since:
                self._log.log(said.level, said.message + " (and %d times since)", *said.arguments, said.since)
