"""Tables of a study's means and comparisons, for its pages and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polars import DataFrame

from cosched_sim.reports.page import Cell, Table
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.measured import BETTER, WORSE, Comparison, Measured, Place, grouped
from cosched_sim.studies.verdicts import OPEN
from cosched_sim.sweeps.averages import INTERVAL

Row = Sequence[str | Cell]


def cell(value: Estimate | None) -> str:
    """Return a mean as the text of a table."""
    if value is None:
        return "–"
    return str(value) if value.mean or value.half else "0"


def headed(*names: str) -> list[str]:
    """Return names as the heads of columns."""
    return [name[0].upper() + name[1:] for name in names]


def means_table(
    measured: Measured,
    title: str,
    heads: Sequence[str],
    places: Iterable[tuple[Sequence[str], Place]],
    of: Sequence[str],
) -> Table:
    """Return a table of means with their own 95 % intervals, with `heads` of all columns, and first cells by place."""
    rows = [[*first, *(cell(measured.mean(place, measure)) for measure in of)] for first, place in places]
    return Table(title, "", heads, rows)


def counts_table(
    comparisons: Sequence[Comparison], heads: Sequence[str], kind: Callable[[Comparison], tuple[str, ...]]
) -> Table:
    """Return how many comparisons of each kind are better, open and worse; the kind gives the first cells."""
    words = {first: [each.verdict for each in of] for first, of in grouped(comparisons, kind).items()}
    rows = [[*first, *(str(of.count(word)) for word in (BETTER, OPEN, WORSE))] for first, of in words.items()]
    return Table("Comparisons", "", [*heads, BETTER, OPEN, WORSE], rows)


def averages_table(
    measured: Measured, places: Iterable[tuple[Mapping[str, object], Place, Sequence[str]]]
) -> DataFrame:
    """Return the means of the measures of all places with their own intervals; each place has its first columns."""
    rows = []
    for first, place, measures in places:
        row = {**first, "replications": measured.count(place)}
        for measure in measures:
            found = measured.mean(place, measure)
            row |= {measure: found and found.mean, measure + INTERVAL: found and found.half}
        rows.append(row)
    return DataFrame(rows, infer_schema_length=None)


def comparisons_table(of: Sequence[Comparison], columns: Mapping[str, Callable[[Comparison], Any]]) -> DataFrame:
    """Return all comparisons, by the name of each column and what it has."""
    rows = [tuple(cell_of(each) for cell_of in columns.values()) for each in of]
    return DataFrame(rows, schema=list(columns), orient="row", infer_schema_length=None)


def in_markdown(table: Table) -> Iterator[str]:
    """Yield the lines of a table without its title."""
    yield in_columns(table.header)
    yield in_columns(["---"] * len(table.header))
    for row in table.rows:
        yield in_columns([each if isinstance(each, str) else each.text for each in row])
    yield ""


def in_columns(cells: Sequence[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
