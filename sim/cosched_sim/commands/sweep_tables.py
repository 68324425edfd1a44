"""The output of `cosched sweep`: averages and differences with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosched.words.quantities import Interval, durations, number_with_interval, numbers, plus, whole
from cosched_sim.commands.tables import MEASURES, new_table
from cosched_sim.results.wording import GROUPS
from cosched_sim.sweeps.averages import INTERVAL
from cosched_sim.sweeps.grid import NO_COSCHEDULING, SCHEMES

if TYPE_CHECKING:
    import polars
    from rich.table import Table

COMPARED = ("wait\nof all", "wait of\npaired", "wait of\nothers", "slowdown\nof all", "lost\nnode-h")

Row = Mapping[str, Any]
Form = Callable[[Sequence[Interval]], list[str]]


def averages_table(averages: polars.DataFrame, keys: Sequence[str], domains: Sequence[str]) -> Table:
    """Return a row for each place in the grid and domain: means over replications, ± half their 95 % intervals."""
    heads = [f"\n{key}" for key in keys]
    table = new_table(*heads, "\nmachine", "\ncases", *MEASURES, "pairs\ntogether", left=len(keys) + 1)
    rows = list(averages.iter_rows(named=True))
    coscheduled = [{} if row.get(SCHEMES) == NO_COSCHEDULING else row for row in rows]
    columns = [
        _column(rows, domains, "all.wait_s.mean", durations),
        _column(rows, domains, "all.slowdown.mean", numbers),
        _column(coscheduled, domains, "paired.sync_s.mean", durations),
        _column(coscheduled, domains, "held_node_seconds", numbers, 1 / 3600),
        _column(coscheduled, domains, "held_share", _percents, 100),
    ]
    for (row, domain, first), *cells in zip(_places(rows, domains), *columns, strict=True):
        place = [str(row[key]) if first else "" for key in keys]
        count, together = (f"{row['n']:,}", _together(row)) if first else ("", "")
        table.add_row(*place, domain, count, *cells, together)
    return table


def differences_table(differences: polars.DataFrame, keys: Sequence[str], domains: Sequence[str]) -> Table:
    """Return a row for each place in the grid and domain: mean differences, ± half their 95 % intervals."""
    table = new_table(*(f"\n{key}" for key in keys), "\nmachine", *COMPARED, left=len(keys) + 1)
    rows = list(differences.iter_rows(named=True))
    columns = [
        *(_column(rows, domains, f"{group}.wait_s.mean", durations) for group in GROUPS),
        _column(rows, domains, "all.slowdown.mean", numbers),
        _column(rows, domains, "held_node_seconds", numbers, 1 / 3600),
    ]
    for (row, domain, first), *cells in zip(_places(rows, domains), *columns, strict=True):
        table.add_row(*(str(row[key]) if first else "" for key in keys), domain, *map(plus, cells))
    return table


def _places(rows: Sequence[Row], domains: Sequence[str]) -> list[tuple[Row, str, bool]]:
    """Return each row with each domain, and whether that is the first of the row."""
    return [(row, domain, domain == domains[0]) for row in rows for domain in domains]


def _column(rows: Sequence[Row], domains: Sequence[str], measure: str, form: Form, factor: float = 1) -> list[str]:
    """Return the cells of `factor` times a measure: a column has one unit."""
    names = ((row, f"{domain}.{measure}") for row, domain, _ in _places(rows, domains))
    found = ((row.get(name), row.get(name + INTERVAL)) for row, name in names)
    return form([(mean and factor * mean, half and factor * half) for mean, half in found])


def _together(row: Row) -> str:
    if not row.get("pairs.pairs"):
        return ""
    return f"{whole(row['pairs.together'])} of {whole(row['pairs.pairs'])}"


def _percents(column: Sequence[Interval]) -> list[str]:
    return ["" if mean is None else f"{number_with_interval(mean, half, digits=2)} %" for mean, half in column]
