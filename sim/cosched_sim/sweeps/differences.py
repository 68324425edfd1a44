"""Paired differences of a sweep: each place in the grid less the one to compare with, replication by replication.

All places see the same drawn traces and pairs in a replication, so these differences are far less uncertain than the
means themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosched_sim.sweeps.averages import averages, read_in_parts
from cosched_sim.sweeps.case import ERROR, Label
from cosched_sim.sweeps.grid import REPLICATION, SCHEMES

if TYPE_CHECKING:
    import polars

_BASE = " to compare with"  # suffix of the columns of the place to compare with


@dataclass(frozen=True)
class Comparison:
    """Places in the grid are compared with that which has `value` for `key`, and equals them in all other keys."""

    key: str
    value: Label


def comparison(grid: Mapping[str, Sequence[Label]]) -> Comparison | None:
    """Return what to compare with: the first of the schemes, else of the first key; None if there is one value."""
    key = SCHEMES if SCHEMES in grid else next(iter(grid))
    return Comparison(key, grid[key][0]) if len(grid[key]) > 1 else None


def all_differences(results: Path, by: Sequence[str], compared: Comparison) -> polars.DataFrame:
    """Average the differences of replications that both have a measure, of all measures; `by`: the keys of the grid."""
    return read_in_parts(results, by, REPLICATION, lambda rows, of: _differences(rows, by, of, compared))


def _differences(
    rows: polars.DataFrame, by: Sequence[str], of: Sequence[str], compared: Comparison
) -> polars.DataFrame:
    import polars
    from polars import col

    rows = rows.with_columns(col(name).cast(polars.Float64) for name in of)
    is_base = col(compared.key) == compared.value
    same = [*(key for key in by if key != compared.key), REPLICATION]
    base = rows.filter(is_base).drop(compared.key)
    pairs = rows.filter(~is_base).join(base, on=same, how="left", suffix=_BASE, maintain_order="left")
    differences = [col(name) - col(name + _BASE) for name in of]
    return averages(pairs.with_columns(polars.coalesce(ERROR, ERROR + _BASE).alias(ERROR), *differences), by, of)
