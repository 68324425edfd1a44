"""Waits for conditions, always with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
_PAUSE = 0.02  # seconds between two cheap checks
PATIENCE = 300.0  # seconds: far more than anything here takes, even on a busy machine


class LabError(Exception):
    """The laboratory, or a command in it, has failed; the text ends with the last lines of the daemons' logs."""


def wait_for(
    check: Callable[[], _T], what: str, seconds: float = PATIENCE, logs: Iterable[Path] = (), interval: float = _PAUSE
) -> _T:
    """Return the first true value of `check`; LabError with the ends of the logs after `seconds`."""
    patience_over = time.monotonic() + seconds
    while not (value := check()):
        if time.monotonic() >= patience_over:
            raise LabError(f"waited {seconds:g} s for {what}{tails(logs)}")
        time.sleep(interval)
    return value


def tails(logs: Iterable[Path], lines: int = 12) -> str:
    """Return the last lines of these files, each under its name; skip missing and empty files."""
    return "".join(_tail(log, lines) for log in logs)


def _tail(log: Path, lines: int) -> str:
    try:
        text = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        return ""
    return "".join(f"\n{line}" for line in [f"--- {log}", *text]) if text else ""
