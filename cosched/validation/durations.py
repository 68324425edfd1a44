"""Times and durations as users write them."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from itertools import pairwise

LONGEST = 365_250 * 86_400  # seconds
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SHOWN = ((86400, "d"), (3600, "h"), (60, "min"), (1, ""))  # no seconds beside minutes
_PATTERN = re.compile(r"(\d{1,12})([smhdw]?)")


def span(seconds: float) -> str:
    """Say a time, rounded: 40 s, 12 min, 3 h 20 min, 2 d 4 h."""
    rest = round(seconds)
    for (unit, name), (smaller, its_name) in pairwise(_SHOWN):
        if rest >= unit:
            more = rest % unit // smaller
            return f"{rest // unit} {name}" + (f" {more} {its_name}" if more and its_name else "")
    return f"{rest} s"


def clock(seconds: int) -> str:
    """Format seconds as `M:SS`, `H:MM:SS` or `D-HH:MM:SS`."""
    minutes, second = divmod(max(seconds, 0), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}-{hour:02}:{minute:02}:{second:02}"
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"


def parse_seconds(text: str) -> int:
    """Parse `90`, `90s`, `20m`, `12h`, `3d` or `2w` to whole seconds; ValueError for anything else.

    The longest is a thousand years: so much before or after now there still are dates.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 90, 20m, 12h or 3d")
    seconds = int(match[1]) * _UNITS[match[2]]
    if seconds > LONGEST:
        raise ValueError(f"{text!r} is longer than a thousand years")
    return seconds


def parse_offset(text: str) -> int:
    """Parse a duration with a sign or without, as `-90` or `+3d`, to whole seconds; ValueError for anything else."""
    text = text.strip()
    seconds = parse_seconds(text[1:] if text[:1] in ("+", "-") else text)
    return -seconds if text[:1] == "-" else seconds


def parse_instant(text: str, now: datetime) -> int:
    """Parse `2026-11-23T18:00` (of `now`'s time zone, or its own), `18:00` (the next) or `+2h` to seconds since 1970.

    ValueError for anything else.
    """
    text = text.strip()
    try:
        if text[:1] == "+":
            return int(now.timestamp()) + parse_seconds(text[1:])
        if len(text) <= len("18:00:00"):
            moment = datetime.combine(now.date(), time.fromisoformat(text), now.tzinfo)
            moment += timedelta(days=moment <= now)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
    except ValueError:
        raise ValueError(f"{text!r} is not an instant such as 2026-11-23T18:00, 18:00 or +2h") from None
    if moment.microsecond:
        raise ValueError(f"{text!r} is not of whole seconds")
    return int(moment.timestamp())


def parse_window(text: str) -> tuple[int | None, int | None]:
    """Parse a time window `START..END` (`0..20d`; `2w..` has no end); ValueError for anything else."""
    start, dots, end = text.partition("..")
    if not dots:
        raise ValueError(f"{text!r} is not a time window START..END such as 0..20d")
    return (parse_seconds(start) if start else None, parse_seconds(end) if end else None)
