"""Forecasts of a measured series by the best of several predictors, as the Network Weather Service makes them. Pure.

Wolski, Spring, Hayes, "The Network Weather Service" (1999): all predictors forecast every measurement from those before
it; the one with the least mean square error forecasts the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from statistics import fmean, median

WINDOWS = (5, 10, 30)  # measurements
GAINS = (0.05, 0.1, 0.25, 0.5, 0.75)  # of exponential smoothing

Predictor = Callable[[Sequence[float]], list[float]]  # what it forecasts after the first, the second, ... measurement


def forecast(values: Sequence[float]) -> float:
    """Return the forecast of the next value of a series that is not empty."""
    made = [predictor(values) for predictor in PREDICTORS.values()]
    return min(made, key=partial(_error, values))[-1]


def _error(values: Sequence[float], forecasts: Sequence[float]) -> float:
    """Return the mean square error of forecasts; each is of the value that comes next."""
    return fmean([(after - before) ** 2 for before, after in zip(forecasts, values[1:], strict=False)] or [0.0])


def _mean(values: Sequence[float]) -> list[float]:
    return [total / number for number, total in enumerate(accumulate(values), 1)]


def _in_window(average: Callable[[Sequence[float]], float], length: int, values: Sequence[float]) -> list[float]:
    return [average(values[max(0, end - length) : end]) for end in range(1, len(values) + 1)]


def _smoothed(gain: float, values: Sequence[float]) -> list[float]:
    return list(accumulate(values, lambda before, value: before + gain * (value - before)))


PREDICTORS: dict[str, Predictor] = {
    "last": list,
    "mean": _mean,
    **{f"mean of {length}": partial(_in_window, fmean, length) for length in WINDOWS},
    **{f"median of {length}": partial(_in_window, median, length) for length in WINDOWS},
    **{f"smoothed by {gain}": partial(_smoothed, gain) for gain in GAINS},
}
