"""Parsers for numbers, durations and points in time in job logs; a ValueError says what is wrong with one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from cosched.validation.text import shown
from cosched.workload.jobs import UNKNOWN

T = TypeVar("T")

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
    """Whether `text` is a value: not empty, Unknown, None, UNLIMITED, Partition_Limit or the like."""
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


def instant(text: str) -> int:
    """Parse an ISO time (UTC if it names no zone) or seconds since 1970 to whole seconds since 1970 UTC."""
    if _NUMBER.fullmatch(text):
        return seconds(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{shown(text)} is not a time") from None
    return math.floor((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def optional(parse: Callable[[str], T], text: str) -> T | int:
    """Return `parse(text)`, or UNKNOWN if the log does not know the value."""
    return parse(text) if known(text) else UNKNOWN


def _within(text: str, value: int, limit: int) -> int:
    if abs(value) > limit:
        raise ValueError(f"{shown(text)} is too large")
    return value
