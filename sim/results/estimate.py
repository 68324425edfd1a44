"""A mean with its interval, and how numbers are written in reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


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
        return f"{self.mean:,.{digits}f} ± {self.half:,.{digits}f}"

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + (self.half or 0.0)


def estimate(values: Sequence[float], intervals: int = 1) -> Estimate:
    """Return a mean and, of two values or more, its interval by Student's t, as one of so many that hold together."""
    if len(values) < 2:
        return Estimate(values[0])
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # quantiles of Student's t

    quantile = float(stdtrit(len(values) - 1, 1 - (1 - CONFIDENCE) / (2 * intervals)))
    return Estimate(float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values)))


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


def signed(value: Estimate) -> str:
    """Format a difference: with a plus sign if it is positive."""
    return f"{'+' if value.mean > 0 else ''}{value}"


def shown(value: float) -> str:
    """Format a number with about three digits: 0.012, 1.23, 12.3, 1,234; whole numbers below 1,000 as they are."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.{_digits(abs(value))}f}"


def shown3(value: float) -> str:
    """Format a number rounded to three digits."""
    return shown(float(f"{value:.3g}"))


def _digits(size: float) -> int:
    """Return the number of digits after the point."""
    return next((digits for least, digits in ((99.95, 0), (9.995, 1), (0.0995, 2)) if size >= least), 3)
