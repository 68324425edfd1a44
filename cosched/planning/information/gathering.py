"""Asks all sources at once, each for its time-out at most, and sorts out what cannot be used."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from cosched.planning.facts import BANDWIDTH, CPU, LATENCY, LINK_KINDS, MEMORY, SPEED, Facts, Listed
from cosched.planning.information.patience import answers
from cosched.planning.information.source import InformationSource, Reading, SourceError
from cosched.words.quantities import count

_FITS: dict[str, Callable[[float], bool]] = {
    SPEED: lambda mhz: mhz > 0,
    CPU: lambda share: 0 <= share <= 1,
    MEMORY: lambda mb: mb >= 0,
    BANDWIDTH: lambda mbits: mbits > 0,
    LATENCY: lambda seconds: seconds >= 0,
}


@dataclass(slots=True)
class Asked:
    """A source that is asked, and what became of that."""

    name: str
    source: InformationSource
    timeout: float  # seconds
    max_age: float | None  # seconds
    facts: Facts = field(default_factory=Facts)
    problems: list[str] = field(default_factory=list)


def gather(asked: Sequence[Asked], machines: Sequence[Listed], now: Callable[[], float] = time.time) -> None:
    """Ask all sources at the same time, and note what they know, and what is wrong with them.

    A source that does not end within its time-out knows nothing.
    """
    calls = [(partial(_read, each.source, machines), each.timeout) for each in asked]
    for each, answer in zip(asked, answers(calls), strict=True):
        if (error := answer.error) is not None:
            failed = f"has failed: {type(error).__name__}: {error}"
            problems = [str(error) if isinstance(error, SourceError) else failed]
        elif answer.value is None:
            problems = [f"no answer within {each.timeout:g} s"]
        else:
            readings, problems = answer.value
            each.facts, unusable = _sorted(readings, each.max_age, now())
            problems = problems + unusable
        each.problems = [f"{each.name}: {problem}" for problem in problems]


def _read(source: InformationSource, machines: Sequence[Listed]) -> tuple[list[Reading], list[str]]:
    problems: list[str] = []
    found = source.read(machines, problems.append)
    return [Reading(kind, of, float(value), at) for kind, of, value, at in found], problems


def _sorted(readings: Iterable[Reading], max_age: float | None, now: float) -> tuple[Facts, list[str]]:
    """Return the values that can be used, by kind, and what is wrong with the others."""
    machines: dict[str, dict[str, float]] = {}
    links: dict[str, dict[tuple[str, str], float]] = {}
    old, problems = 0, []
    for kind, of, value, at in readings:
        if kind not in _FITS or (kind in LINK_KINDS) == isinstance(of, str):
            problems.append(f"{kind!r} of {of} is not a property of {'machines' if isinstance(of, str) else 'links'}")
        elif not (math.isfinite(value) and _FITS[kind](value)):
            problems.append(f"{value:g} is not a valid {kind} of {of if isinstance(of, str) else ' to '.join(of)}")
        elif max_age is not None and at is not None and now - at > max_age:
            old += 1
        elif isinstance(of, str):
            machines.setdefault(kind, {})[of] = value
        else:
            links.setdefault(kind, {})[of] = value
    if old:
        problems.append(f"{count(old, 'value')} older than {max_age:g} s")
    return Facts(machines, links), problems
