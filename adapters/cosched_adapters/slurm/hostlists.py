"""Slurm's short form for the names of many nodes: `intrepid[1-3,05-07],login1`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cosched_adapters.manager import ManagerError

_PART = re.compile(r"(?:[^][,]|\[[^][]*\])+")  # up to a comma that is not in brackets
_BRACKETS = re.compile(r"\[([^][]*)\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_NONE = ("", "(null)", "N/A")
_MOST = 1_000_000  # nodes in one list


def expand(text: str) -> list[str]:
    """Return the names that a list stands for, in its order. ManagerError if it has another form."""
    if text in _NONE:
        return []
    names: list[str] = []
    parts = _PART.findall(text)
    if ",".join(parts) != text:
        raise _unreadable(text)
    for part in parts:
        names += _names(part, _MOST - len(names))
    return names


def _names(part: str, most: int) -> list[str]:
    """Return the names of a part: each number in the place of its brackets, the last brackets first."""
    match = _BRACKETS.search(part)
    if match is None:
        return [part]
    rest = _names(part[match.end() :], most)
    numbers = list(_numbers(match[1], most))
    if len(numbers) * len(rest) > most:
        raise _unreadable(part)
    return [f"{part[: match.start()]}{number}{end}" for number in numbers for end in rest]


def _numbers(text: str, most: int) -> Iterator[str]:
    """Yield the numbers of `1-3,05`, with as many digits as the first of their range."""
    for word in text.split(","):
        match = _RANGE.fullmatch(word)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if match is None or not 0 <= last - first < most:
            raise _unreadable(text)
        for number in range(first, last + 1):
            yield f"{number:0{len(match[1])}d}"


def _unreadable(text: str) -> ManagerError:
    return ManagerError(f"Slurm names the nodes {text[:200]!a}, which is not a list of nodes")
