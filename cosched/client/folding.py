"""The story of a job for people: what happens again and again is one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import groupby

from cosched.client.events import Event

LEAST = 3  # times, from which on lines that say the same are one
_REPEATED = ("ready", "slot", "held", "yielded", "released", "peer")  # kinds; all others part a story
_NUMBER = re.compile(r" \(yield \d+\)|(?<![\w-])\d[\d:-]*")  # by which lines that say the same may differ
Line = tuple[Event, str]


def folded(story: Iterable[Event], clock_time: Callable[[datetime | None], str]) -> list[Line]:
    """Return the lines of one job's story: an event, and what is said of it and of those before that say the same.

    `clock_time` writes an instant.
    """
    lines: list[Line] = []
    for repeated, part in groupby(story, lambda event: event.kind in _REPEATED):
        events = list(part)
        lines += _folded(events, clock_time) if repeated else unfolded(events)
    return lines


def unfolded(story: Iterable[Event]) -> list[Line]:
    """Return the lines of a story as it is on record."""
    return [(event, event.text) for event in story]


def _folded(events: Sequence[Event], clock_time: Callable[[datetime | None], str]) -> list[Line]:
    alike: dict[tuple[str, ...], list[list[int]]] = {}
    for unit in _units(events):
        alike.setdefault(tuple(_NUMBER.sub("", events[place].text) for place in unit), []).append(unit)
    said: dict[int, str] = {}
    for units in alike.values():
        if len(units) < LEAST:
            said |= {place: events[place].text for unit in units for place in unit}
        else:
            first, last = units[0][0], units[-1]
            said[last[-1]] = _again([events[place] for place in last], len(units), clock_time(events[first].at))
    return [(events[place], said[place]) for place in sorted(said)]


def _units(events: Sequence[Event]) -> list[list[int]]:
    """Return the places of events that are counted as one: a hold with its release, and each other one."""
    units: list[list[int]] = []
    hold: list[int] = []
    for place, event in enumerate(events):
        if event.kind == "released" and hold:
            hold.append(place)
            hold = []
        else:
            units.append([place])
            hold = units[-1] if event.kind == "held" else hold
    return units


def _again(unit: Sequence[Event], times: int, since: str) -> str:
    last = unit[-1]
    if len(unit) > 1:
        return f"{times} holds since {since}, each released: {unit[0].text.partition(': ')[2]}"
    how_often = "so" if last.kind == "yielded" else f"{times} times"  # the record leaves most yields out
    return f"{last.text}; {how_often} since {since}"
