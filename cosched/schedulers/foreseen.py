"""Reads the jobs that a molding scheduler expects (molding.md, Prediction)."""

from __future__ import annotations

import csv
from pathlib import Path

from cosched.core.scheduling.molding.future import SLOTS, Expected, Future
from cosched.validation.text import shown

HEADER = ["half_hour", "short", "medium", "long"]
MEANS = ("nodes", "run", "moldable")  # in this order in Expected
ROWS = (*map(str, range(SLOTS)), *MEANS)


def read_future(path: str) -> Future:
    """Return what a file says of each class; ValueError names what is wrong in it."""
    try:
        rows = list(csv.reader(Path(path).read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise _wrong(path, f"cannot be read: {reason}") from None
    if not rows or [cell.strip() for cell in rows[0]] != HEADER:
        raise _wrong(path, f"its first line must be {','.join(HEADER)}")
    found: dict[str, list[float]] = {}
    for line, (name, *cells) in enumerate((row or [""] for row in rows[1:]), 2):
        if name not in ROWS or name in found or len(cells) != 3:
            raise _wrong(path, f"line {line}: three numbers for each of 0 to {SLOTS - 1}, nodes, run, moldable, once")
        found[name] = [_number(path, line, name, cell) for cell in cells]
    for name in ROWS:
        if name not in found:
            raise _wrong(path, f"has no line for {name}")
    classes = zip(*(found[name] for name in ROWS), strict=True)
    return Future([Expected(tuple(values[:SLOTS]), *values[SLOTS:]) for values in classes])


def _number(path: str, line: int, name: str, text: str) -> float:
    least, most = {"nodes": (1, 1e9), "run": (1, 1e12), "moldable": (0, 1)}.get(name, (0, 1e9))
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise _wrong(path, f"line {line}: {shown(text)} is not a number from {least:,.0f} to {most:,.0f}")
    return value


def _wrong(path: str, reason: str) -> ValueError:
    return ValueError(f"{path}: {reason}")
