"""Quantities as texts for people, with units."""

from __future__ import annotations

from collections.abc import Sequence

Interval = tuple[float | None, float | None]  # a mean and half its interval; (None, None): none

UNITS = ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min"), (0, 1, "s"))  # from, seconds, unit
SEEN = 0.1  # the least that is not shown as 0.0


def duration(seconds: float | None) -> str:
    """Format a duration with about three digits and a unit; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((size, unit) for least, size, unit in UNITS if abs(seconds) >= least)
    return f"{(whole if size == 1 else number)(seconds / size)} {unit}"


def number(value: float | None) -> str:
    """Format a number with one digit after the point, unless it is large; empty for None."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:,.1f}"


def durations(column: Sequence[Interval]) -> list[str]:
    """Format mean durations in seconds, ± half their intervals, all in one unit; empty for None.

    The unit is that of the greatest, or a smaller one in which all others are 0.1 or more, as far as they are in s.
    """
    sizes = [max(abs(mean), half or 0.0) for mean, half in column if mean is not None]
    greatest, least = max(sizes, default=0.0), min((size for size in sizes if size >= SEEN), default=0.0)
    units = ((size, unit) for first, size, unit in UNITS if greatest >= first)
    size, unit = next((size, unit) for size, unit in units if least >= SEEN * size or unit == "s")
    cells = [(mean, None if half is None else half / size) for mean, half in column]
    return ["" if mean is None else f"{number_with_interval(mean / size, half)} {unit}" for mean, half in cells]


def numbers(column: Sequence[Interval]) -> list[str]:
    """Format means, ± half their intervals; empty for None."""
    return ["" if mean is None else number_with_interval(mean, half) for mean, half in column]


def number_with_interval(mean: float, half: float | None, digits: int = 1) -> str:
    """Format a mean, ± half its interval if it has one, both with the same number of digits."""
    digits = 0 if abs(mean) >= 1000 else digits
    return f"{rounded(mean, digits):,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")


def rounded(value: float, digits: int) -> float:
    """Round a number, never to -0."""
    return round(value, digits) + 0.0


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
