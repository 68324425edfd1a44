"""Measurements in a file, as a monitor writes them: what they forecast, and their long-term means."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median

from cosched.planning.facts import LINK_KINDS, Listed
from cosched.planning.grid import Pair
from cosched.planning.information.source import Reading, SourceError, SourceKind, SourceSettings
from cosched.words.file_errors import reason_of

WINDOWS = (5, 10, 30)  # measurements
GAINS = (0.05, 0.1, 0.25, 0.5, 0.75)  # of exponential smoothing
Predictor = Callable[[Sequence[float]], list[float]]  # what it forecasts after the first, the second, ... measurement
COLUMNS = ("time", "kind", "of", "to", "value")


class SeriesSettings(SourceSettings):
    """The CSV file has a first line with COLUMNS; `time` is in seconds since 1970, `to` is empty of machines."""

    file: Path


class Series:
    """Forecasts the next value of the series of each kind and machine or link."""

    def __init__(self, settings: SeriesSettings, folder: Path) -> None:
        self._path = folder / settings.file

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> Iterator[Reading]:  # noqa: ARG002
        """See InformationSource. A forecast is as old as the last measurement."""
        for (kind, start, to), measured in self.series().items():
            of: str | Pair = (start, to) if kind in LINK_KINDS else start
            yield Reading(kind, of, forecast([value for _, value in measured]), measured[-1][0])

    def series(self) -> dict[tuple[str, str, str], list[tuple[float, float]]]:
        """Return the times and values of each kind and machine or link; SourceError."""
        found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
        for at, kind, of, to, value in self._rows():
            found.setdefault((kind, of, to), []).append((at, value))
        return {key: sorted(measured) for key, measured in found.items()}

    def _rows(self) -> Iterator[tuple[float, str, str, str, float]]:
        try:
            with self._path.open(encoding="utf-8", newline="") as file:
                rows = csv.DictReader(file)
                if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
                    raise SourceError(f"{self._path} has no column {' nor '.join(missing)}")
                for row in rows:
                    try:
                        yield float(row["time"]), row["kind"], row["of"], row["to"], float(row["value"])
                    except (TypeError, ValueError):
                        raise SourceError(f"{self._path}:{rows.line_num}: time and value are not numbers") from None
        except (OSError, UnicodeDecodeError) as error:
            reason = reason_of(error, self._path) if isinstance(error, OSError) else "not a text file"
            raise SourceError(f"{self._path} cannot be read: {reason}") from None


class Means(Series):
    """The long-term means of links, which hold at any time."""

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> Iterator[Reading]:  # noqa: ARG002
        for (kind, start, to), measured in self.series().items():
            if kind in LINK_KINDS:
                yield Reading(kind, (start, to), fmean(value for _, value in measured))


SERIES = SourceKind("series", "measured series in a file, forecast as by NWS", SeriesSettings, Series, Means)


def forecast(values: Sequence[float]) -> float:
    """Return the forecast of the next value of a series that is not empty, as the Network Weather Service makes it.

    Wolski, Spring, Hayes, "The Network Weather Service" (1999): all predictors forecast every measurement from those
    before it; the one with the least mean square error forecasts the next one.
    """
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
