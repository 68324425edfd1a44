"""Waiting for conditions, with an end to every wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
_INTERVAL = 0.02  # seconds between two looks that cost little
PATIENCE = 300.0  # seconds: far more than anything here takes, on a busy machine too


class LabError(Exception):
    """The laboratory, or a command in it, did not do what it should; says what the daemons' logs said last."""


def wait_for(
    condition: Callable[[], _T],
    what: str,
    seconds: float = PATIENCE,
    logs: Iterable[Path] = (),
    interval: float = _INTERVAL,
) -> _T:
    """The first value of `condition` that is true; LabError with the ends of the logs after so many seconds."""
    patience_over = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() >= patience_over:
            raise LabError(f"waited {seconds:g} s for {what}{tails(logs)}")
        time.sleep(interval)
    return value


def tails(logs: Iterable[Path], lines: int = 12) -> str:
    """The last lines of these files, each under its name; nothing for those that are missing or empty."""
    return "".join(_tail(log, lines) for log in logs)


def _tail(log: Path, lines: int) -> str:
    try:
        text = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        return ""
    return "".join(f"\n{line}" for line in [f"--- {log}", *text]) if text else ""
