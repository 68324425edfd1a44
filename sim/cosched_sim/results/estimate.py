"""A mean with its interval, and how numbers are written in reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cosched.words.quantities import rounded

CONFIDENCE = 0.95

T = TypeVar("T")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean; `half` is the half-width of its 95 % interval, None if there is none."""

    mean: float
    half: float | None = None

    def __str__(self) -> str:
        """Format both with the same number of digits."""
        if self.half is None:
            return shown(self.mean)
        digits = _digits(max(abs(self.mean), self.half))
        return f"{rounded(self.mean, digits):,.{digits}f} ± {self.half:,.{digits}f}"

    @property
    def low(self) -> float:
        """The lower end of the interval; without one nothing is known."""
        return -math.inf if self.half is None else self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval; without one nothing is known."""
        return math.inf if self.half is None else self.mean + self.half

    def times(self, factor: float) -> Estimate:
        """Return a multiple."""
        return Estimate(factor * self.mean + 0.0, None if self.half is None else abs(factor) * self.half)

    def plus(self, other: Estimate | float) -> Estimate:
        """Return the sum; its interval is at most as wide as both together, whatever they have in common."""
        if not isinstance(other, Estimate):
            return Estimate(self.mean + other, self.half)
        halves = None if self.half is None or other.half is None else self.half + other.half
        return Estimate(self.mean + other.mean, halves)

    def minus(self, other: Estimate | float) -> Estimate:
        """Return the difference; see plus()."""
        return self.plus(other.times(-1) if isinstance(other, Estimate) else -other)


class Exact(Estimate):
    """A number without an error, such as one that was set."""

    def __init__(self, value: float) -> None:
        super().__init__(value, 0.0)

    def __str__(self) -> str:
        """Format it as a number."""
        return shown(self.mean)


def estimate(values: Sequence[float], intervals: int = 1) -> Estimate:
    """Return a mean and, of two values or more, its interval by Student's t, as one of so many simultaneous ones."""
    if len(values) < 2:
        return Estimate(values[0])
    return Estimate(float(np.mean(values)), float(half_width(float(np.std(values, ddof=1)), len(values), intervals)))


def half_width(deviation: Floats | float, count: Floats | float, intervals: int = 1) -> Floats:
    """Return half-widths of the intervals of means, from the deviations and counts (2 or more) of their values."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # quantiles of Student's t

    quantile: Floats = stdtrit(np.subtract(count, 1), 1 - (1 - CONFIDENCE) / (2 * intervals))
    return quantile * deviation / np.sqrt(count)


def jackknifed(groups: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> Estimate:
    """Return a statistic of some groups, with the interval that comes from leaving out each in turn.

    The interval is Tukey's: Student's interval of the pseudo-values. A single group has none.
    """
    count, value = len(groups), statistic(groups)
    if count < 2:
        return Estimate(value)
    without = [statistic([*groups[:at], *groups[at + 1 :]]) for at in range(count)]
    return Estimate(value, estimate([count * value - (count - 1) * each for each in without]).half)


def ratio_of_means(pairs: Sequence[tuple[float, float]]) -> Estimate | None:
    """Return the mean of the first over that of the second of each pair; None if there are none, or it is not above 0.

    The interval is that of the residuals first - ratio x second.
    """
    below = math.fsum(other for _, other in pairs)
    if not pairs or below <= 0:
        return None
    ratio = math.fsum(one for one, _ in pairs) / below
    half = estimate([one - ratio * other for one, other in pairs]).half
    return Estimate(ratio, None if half is None else half * len(pairs) / below)


def signed(value: Estimate | None) -> str:
    """Format a difference, if there is one: with a plus sign if it is positive."""
    return "–" if value is None else f"{'+' if value.mean > 0 else ''}{value}"


def shown(value: float) -> str:
    """Format a number with about three digits: 0.012, 1.23, 12.3, 1,234; whole numbers below 1,000 as they are."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.{_digits(abs(value))}f}"


def shown3(value: float) -> str:
    """Format a number rounded to three digits."""
    return shown(float(f"{value:.3g}"))


def _digits(size: float) -> int:
    """Return the number of digits after the point."""
    return next((digits for least, digits in ((99.95, 0), (9.995, 1), (0.0995, 2)) if size >= least), 3)
