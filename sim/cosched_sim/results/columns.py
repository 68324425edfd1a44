"""Tables of a result: columns by name, as a data frame and as the lines of a CSV file.

polars writes lines at twice our speed, but takes a tenth of a second to import: as long as we need for MANY lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched_sim.workload.jobs import UNKNOWN, Ints

if TYPE_CHECKING:
    import polars


class Known(NamedTuple):
    """Numbers, some of them UNKNOWN: there the table has nothing."""

    values: Ints


Column = Ints | Known | Sequence[str | None]
Table = Mapping[str, Column]
MANY = 100_000


def frame_of(columns: Table) -> polars.DataFrame:
    """Return a table as a data frame."""
    import polars

    def series(values: Column) -> polars.Series:
        if isinstance(values, Known):
            known = polars.Series(values.values)
            return known.set(known == UNKNOWN, None)
        return polars.Series(values, dtype=None if isinstance(values, np.ndarray) else polars.String)

    return polars.DataFrame({name: series(values) for name, values in columns.items()})


def csv_of(columns: Table, *, header: bool = True, of_many: bool = False) -> str:
    """Return a table as lines of a CSV file; an empty text is `""`. `of_many`: part of MANY lines, with equal text."""
    if of_many:
        return frame_of(columns).write_csv(include_header=header)
    lines = list(map(",".join, zip(*map(_fields, columns.values()), strict=True)))
    return "\n".join([*([",".join(columns)] if header else []), *lines, ""])


def _fields(values: Column) -> Sequence[str]:
    if isinstance(values, Known):
        return ["" if value == UNKNOWN else str(value) for value in values.values.tolist()]
    if isinstance(values, np.ndarray):
        return list(map(str, values.tolist()))
    if "" in values or _needs_quotes("".join(filter(None, values))):
        return list(map(_field, values))
    return [text or "" for text in values]


def _field(text: str | None) -> str:
    if text is None:
        return ""
    if text and not _needs_quotes(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _needs_quotes(text: str) -> bool:
    return any(character in text for character in ',"\n\r')
