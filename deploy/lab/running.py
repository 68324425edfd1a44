"""Runs commands, always with a time limit where they might not end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deploy.lab.waiting import LabError, tails

Done = subprocess.CompletedProcess[str]


def run(argv: Sequence[str], what: str, seconds: float, logs: Iterable[Path], **options: Any) -> Done:
    """Run a command that may fail; LabError with the ends of the logs if it does not end."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False, **options)
    except subprocess.TimeoutExpired:
        raise LabError(f"{what}: no end after {seconds:g} s{tails(logs)}") from None


def output(done: Done, what: str) -> str:
    """Return what a command has printed. LabError with its message if it has failed."""
    if done.returncode != 0:
        raise LabError(f"{what}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
