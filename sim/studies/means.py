"""Tables of a study's means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cosched.sim.results.estimate import Estimate


@dataclass(frozen=True)
class MeansTable:
    """A table of means with their own 95 % intervals: a row for each point and combination, the cells as text."""

    title: str
    head: list[str]
    rows: list[list[str]]


def cell(value: Estimate | None) -> str:
    """Return a mean as the text of a table."""
    if value is None:
        return "–"
    return str(value) if value.mean or value.half else "0"


def in_markdown(table: MeansTable) -> Iterator[str]:
    """Yield the lines of a table without its title."""
    yield in_columns(table.head)
    yield in_columns(["---"] * len(table.head))
    for row in table.rows:
        yield in_columns(row)
    yield ""


def in_columns(cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
