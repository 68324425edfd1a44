"""Times as users of batch systems write and read them (minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S), and with units."""

from __future__ import annotations

import re

from cosched.cli.parameters import Parsed
from cosched.validation.durations import parse_seconds

MINUTE, HOUR, DAY = 60, 3600, 86400
LONGEST = 10_000 * 365 * DAY  # seconds; about the longest duration of the protocol
_PATTERN = re.compile(r"(?:(?P<days>\d{1,9})-)?(?P<parts>\d{1,9}(?::\d{1,2}){0,2})", re.ASCII)
UNITS = tuple("smhdw")
_UNITS = {1: (MINUTE,), 2: (MINUTE, 1), 3: (HOUR, MINUTE, 1)}
_UNITS_AFTER_DAYS = {1: (HOUR,), 2: (HOUR, MINUTE), 3: (HOUR, MINUTE, 1)}


def parse_time_limit(text: str) -> int:
    """Return the seconds, at least 1; a number alone is minutes. ValueError."""
    seconds = parse_seconds(text) if text.strip()[-1:] in UNITS else _parse_clock(text)
    if not 1 <= seconds <= LONGEST:
        raise ValueError(f"{text!r} is not between a second and ten thousand years")
    return seconds


def has_parts(text: str) -> bool:
    """Return whether a time has colons or days, as in batch systems: it means the same everywhere."""
    return _PATTERN.fullmatch(text.strip()) is not None and not text.strip().isdecimal()


def _parse_clock(text: str) -> int:
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time such as 90 (minutes), 90s, 12h, 5:30, 1:00:00 or 2-12")
    parts = [int(part) for part in match["parts"].split(":")]
    units = (_UNITS_AFTER_DAYS if match["days"] else _UNITS)[len(parts)]
    if any(part >= 60 for part in parts[1:]) or (match["days"] and parts[0] >= 24):
        raise ValueError(f"{text!r} has a part that is too large")
    return int(match["days"] or 0) * DAY + sum(part * unit for part, unit in zip(parts, units, strict=True))


TIME_LIMIT = Parsed("time", parse_time_limit)
