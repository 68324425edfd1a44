"""Names of pairs and groups that come near each other: somebody may have mistyped one of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERS = re.compile(r"\d+")
SHORT = 5  # characters; names up to this length come near by one edit only, a single letter by its case only


def nearest(name: str, others: Iterable[str]) -> str:
    """Return the one of the other names that comes nearest to a name; empty: none comes near, or several alike do.

    Names come near if they differ by case, or else by one or two edits: a character too many, missing, or another one,
    or two neighbours exchanged (Damerau 1964). By case counts as nearest. Names that differ in their numbers only are
    often meant so, and come near by one edit only.
    """
    found: dict[int, set[str]] = {}
    for other in others:
        if other != name and (edits := _edits(name, other)) is not None:
            found.setdefault(edits, set()).add(other)
    alike = found[min(found)] if found else set()
    return alike.pop() if len(alike) == 1 else ""


def did_you_mean(name: str, others: Iterable[str]) -> str:
    """Ask whether the one of the other names was meant that comes nearest; empty: none comes near."""
    near = nearest(name, others)
    return f"; did you mean {near}?" if near else ""


def _edits(name: str, other: str) -> int | None:
    """Return how many edits make one name of the other, if they are few, whatever their case."""
    shorter = min(len(name), len(other))
    most = 0 if shorter < 2 else 1 if shorter <= SHORT or _NUMBERS.sub("", name) == _NUMBERS.sub("", other) else 2
    name, other = name.casefold(), other.casefold()
    return next((edits for edits in range(most + 1) if _within(name, other, edits)), None)


def _within(a: str, b: str, edits: int) -> bool:
    if abs(len(a) - len(b)) > edits:
        return False
    alike = next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[alike:], b[alike:]
    if not a or not b or not edits:
        return len(a) + len(b) <= edits
    rests = [(a[1:], b), (a, b[1:]), (a[1:], b[1:])]
    if a[:2] == b[1::-1]:
        rests.append((a[2:], b[2:]))
    return any(_within(*rest, edits - 1) for rest in rests)
