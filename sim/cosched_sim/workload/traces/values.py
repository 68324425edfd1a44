"""Parsers for numbers, durations and points in time in job logs; a ValueError says what is wrong with one."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timezone, tzinfo

from cosched.validation.text import shown

# 31,700 years in seconds. The product of such a time and a node count of up to a few million fits in 64 bits, and
# a time in milliseconds or microseconds since 1970 is above it, so that mistake is noticed.
LIMIT = 10**12

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DURATION = re.compile(r"(?:(\d+)[-:](?=\d+:\d+:))?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?", re.ASCII)
_UNKNOWN_WORDS = frozenset({"", "unknown", "none", "n/a", "invalid", "unlimited", "partition_limit"})


def number(text: str) -> int | float:
    """Parse a decimal number (no NaN, no infinity, no hexadecimal, no underscores)."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a number")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shown(text)} is too large")
    # Beyond 2**53 a float would lose digits, and job ids can be that long.
    return int(text) if abs(value) < 2**64 and _WHOLE.fullmatch(text) else value


def is_number(text: str) -> bool:
    """Return whether `number` can parse the text."""
    return bool(_NUMBER.fullmatch(text)) and math.isfinite(float(text))


def whole(text: str, limit: int = LIMIT) -> int:
    """Parse a whole number from -`limit` to `limit`; '12.0' is one."""
    value = number(text)
    if value != math.floor(value):
        raise ValueError(f"{shown(text)} is not a whole number")
    return _within(text, int(value), limit)


def seconds(text: str) -> int:
    """Parse a number of seconds and round it down."""
    return _within(text, math.floor(number(text)), LIMIT)


def known(text: str) -> bool:
    """Return whether `text` is a value: not empty, Unknown, None, UNLIMITED, Partition_Limit or the like."""
    return text.strip().lower() not in _UNKNOWN_WORDS


def duration(text: str) -> int:
    """Parse [[D-]HH:]MM:SS, D:HH:MM:SS or plain seconds to whole seconds, rounded down."""
    if ":" not in text:
        return seconds(text)
    match = _DURATION.fullmatch(text)
    if not match or len(text) > 40:
        raise ValueError(f"{shown(text)} is not a duration")
    days, hours, minutes, secs = (int(part or 0) for part in match.groups())
    return _within(text, ((days * 24 + hours) * 60 + minutes) * 60 + secs, LIMIT)


def instants(text: str, zone: tzinfo = UTC) -> tuple[int, ...]:
    """Parse an ISO time, of `zone` if it names none, or seconds since 1970 to whole seconds since 1970 UTC.

    These are two in the hour that a clock repeats when it is set back, the earlier one first.
    """
    if _NUMBER.fullmatch(text):
        return (seconds(text),)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{shown(text)} is not a time") from None
    if not moment.tzinfo:
        moment = moment.replace(tzinfo=zone)
    first = math.floor(moment.timestamp())
    if isinstance(moment.tzinfo, timezone):  # of a fixed offset
        return (first,)
    again = math.floor(moment.replace(fold=1).timestamp())
    return (first, again) if again > first else (first,)


def is_local(text: str) -> bool:
    """Return whether `text` is a time that `instants` takes as one of its `zone`."""
    try:
        return not _NUMBER.fullmatch(text) and datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def _within(text: str, value: int, limit: int) -> int:
    if abs(value) > limit:
        raise ValueError(f"{shown(text)} is too large")
    return value
