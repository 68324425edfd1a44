"""Means over replications, with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cosched_sim.results.estimate import half_width
from cosched_sim.sweeps.case import ERROR

if TYPE_CHECKING:
    import polars

MEASURES_AT_ONCE = 16
INTERVAL = " ci95"  # suffix of the column with a mean's interval


def averages(results: polars.DataFrame, by: Sequence[str], of: Sequence[str]) -> polars.DataFrame:
    """Return a row for each combination of `by`, in order of first appearance: `by`, "n", and means of `of`.

    "n" counts the cases without an error. The column M + " ci95" has the half-width of the 95 % interval of the mean
    of measure M by Student's t; it is null if fewer than two cases have the measure. Cases that lack a measure (null),
    or have an error, do not count in its mean.
    """
    import polars

    good = polars.col(ERROR).is_null()
    measures = [polars.col(name).cast(polars.Float64).filter(good).drop_nulls() for name in of]
    aggregated = [good.sum().cast(polars.Int64).alias("n")]
    for name, values in zip(of, measures, strict=True):
        deviation, count = values.std(ddof=1).alias(name + INTERVAL), values.len().alias(_count(name))
        aggregated += [values.mean().alias(name), deviation, count]
    rows = results.group_by(by, maintain_order=True).agg(aggregated) if by else results.select(aggregated)
    return rows.with_columns(_half_width(rows, name) for name in of).drop(map(_count, of))


def all_averages(results: Path, by: Sequence[str]) -> polars.DataFrame:
    """Average all measures of a results.parquet."""
    return read_in_parts(results, by, None, lambda rows, of: averages(rows, by, of))


def read_in_parts(
    results: Path,
    by: Sequence[str],
    label: str | None,
    averaged: Callable[[polars.DataFrame, Sequence[str]], polars.DataFrame],
) -> polars.DataFrame:
    """Average a results.parquet; `averaged` gets `by`, `label`, errors and some measures at a time, and their names."""
    import polars

    columns = list(polars.read_parquet_schema(results))
    measures = columns[columns.index(ERROR) + 1 :]
    labels = [*by, *([label] if label else []), ERROR]
    found = averaged(polars.read_parquet(results, columns=labels), [])
    for first in range(0, len(measures), MEASURES_AT_ONCE):
        some = measures[first : first + MEASURES_AT_ONCE]
        rows = averaged(polars.read_parquet(results, columns=[*labels, *some]), some)
        found = found.hstack(rows.drop(*by, "n").get_columns())
    return found


def _count(name: str) -> str:
    return f"{name} count"


def _half_width(rows: polars.DataFrame, name: str) -> polars.Series:
    """Return half-widths from standard deviations."""
    import numpy as np
    import polars

    with np.errstate(all="ignore"):
        widths = half_width(rows[name + INTERVAL].to_numpy(), rows[_count(name)].to_numpy().astype(np.float64))
    return polars.Series(name + INTERVAL, widths).fill_nan(None)
