"""Quantities as texts for people, with units."""

from __future__ import annotations

UNITS = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (0, 1, "s"))  # from, seconds, unit


def duration(seconds: float | None) -> str:
    """Format a duration with about three digits and a unit; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((size, unit) for least, size, unit in UNITS if abs(seconds) >= least)
    return f"{(whole if size == 1 else number)(seconds / size)} {unit}"


def number(value: float | None) -> str:
    """Format a number with one digit after the point, unless it is large; empty for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def duration_with_interval(mean: float, half: float | None) -> str:
    """Format a mean duration in seconds, ± half its interval if it has one, in the unit of the larger of both."""
    size, unit = next((size, unit) for least, size, unit in UNITS if max(abs(mean), half or 0.0) >= least)
    return f"{number_with_interval(mean / size, None if half is None else half / size)} {unit}"


def number_with_interval(mean: float, half: float | None, digits: int = 1) -> str:
    """Format a mean, ± half its interval if it has one, both with the same number of digits."""
    digits = 0 if abs(mean) >= 1000 else digits
    return f"{mean:,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")


def plus(text: str) -> str:
    """Return a formatted difference, with a plus sign if it is above zero."""
    above = bool(text) and float(text.split()[0].replace(",", "")) > 0
    return f"+{text}" if above else text


def whole(value: float | None) -> str:
    """Format a number as `number` does, but without a digit after the point if that is 0."""
    return number(value).removesuffix(".0")


def percent(share: float | None, digits: int = 1) -> str:
    """Format a share of 1 as per cent; empty for None."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def count(number: int, thing: str) -> str:
    """Format a count with its noun: `1 hold`, `2 holds`."""
    return f"{number:,} {thing}{'s' * (number != 1)}"
