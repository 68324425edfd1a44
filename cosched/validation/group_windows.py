"""Windows of the jobs of a group, that start apart: the same rules in commands, scripts, the API and its clients.

A window is the seconds, from the first to the second, after the group's common instant in which a domain's job starts.
A domain that is not named has none: its job starts at that instant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from cosched.core.protocol import LONGEST_OFFSET
from cosched.validation.durations import clock, parse_offset, span

Windows = Mapping[str, tuple[int, int]]


def read_window(text: str) -> tuple[str, tuple[int, int]]:
    """Return domain and window of `mira:0..10m`, `mira:-90..90` or `mira:+10m`; ValueError."""
    domain, colon, window = text.rpartition(":")
    if not colon or not domain:
        raise ValueError(f"{text!r} is not DOMAIN:FROM..TO, such as mira:0..10m, or DOMAIN:+10m")
    first, dots, last = window.partition("..")
    return domain, (parse_offset(first), parse_offset(last if dots else first))


def wrong_windows(windows: Windows, domains: Collection[str]) -> tuple[str, str] | None:
    """Say which domain's window is wrong, and why; None if none is. `domains`: of all jobs of the group."""
    for domain, (first, last) in windows.items():
        if domain not in domains:
            return domain, "is not a domain of the group"
        if first > last:
            return domain, f"has a window that ends before it begins: {first}..{last} s"
        if max(-first, last) > LONGEST_OFFSET:
            return domain, f"has a window more than 7 days from the others: {first}..{last} s"
    if len(those_apart(windows)) == len(domains):
        return next(iter(windows)), "has a window, as all others have: they count from a job without one"
    return None


def wrong_instant(at: int, now: int) -> str | None:
    """Say why a group cannot be given this instant, both in seconds since 1970; None if it can."""
    said = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if at <= now:
        return f"{said} is {span(now - at)} ago: give an instant to come"
    return f"{said} is more than 7 days from now" if at > now + LONGEST_OFFSET else None


def those_apart(windows: Windows) -> dict[str, tuple[int, int]]:
    """Return the windows but those of jobs that start at the common instant all the same."""
    return {domain: window for domain, window in windows.items() if window != (0, 0)}


def windows_in_words(windows: Mapping[str, tuple[timedelta, timedelta]]) -> str:
    """Say which jobs do not start with the others, and how much later; empty if there are none."""
    apart = ", ".join(f"{domain} {_span(*window)}" for domain, window in windows.items())
    return apart and f"after the others start {apart}"


def _span(first: timedelta, last: timedelta) -> str:
    low, high = _signed(first), _signed(last)
    return low if low == high else f"{low} to {high}"


def _signed(offset: timedelta) -> str:
    return f"{'-' if offset < timedelta() else '+'}{clock(int(abs(offset).total_seconds()))}"
