"""The output of `cosched sweep`: averages and differences with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosched.quantities import duration_with_interval, number_with_interval, plus, whole
from cosched.sim.commands.tables import new_table
from cosched.sim.results.wording import GROUPS
from cosched.sim.sweeps.averages import INTERVAL
from cosched.sim.sweeps.differences import Comparison
from cosched.sim.sweeps.grid import NO_COSCHEDULING, SCHEMES

if TYPE_CHECKING:
    import polars
    from rich.table import Table

MEASURES = ("mean\nwait", "mean\nslowdown", "mean\nsync", "lost\nnode-h", "\nlost")
COMPARED = ("wait\nof all", "wait of\npaired", "wait of\nothers", "slowdown\nof all", "lost\nnode-h")
SECONDS_AN_HOUR = 3600

Row = Mapping[str, Any]


def averages_table(averages: polars.DataFrame, keys: Sequence[str], domains: Sequence[str]) -> Table:
    """Return a row for each place in the grid and domain: means over replications, ± half their 95 % intervals."""
    heads = [f"\n{key}" for key in keys]
    table = new_table(*heads, "\nmachine", "\ncases", *MEASURES, "pairs\ntogether", left=len(keys) + 1)
    for row in averages.iter_rows(named=True):
        place = [str(row[key]) for key in keys]
        for number, domain in enumerate(domains):
            first = number == 0
            count, together = (f"{row['n']:,}", _together(row)) if first else ("", "")
            cells = _cells(row, domain)
            table.add_row(*(place if first else [""] * len(keys)), domain, count, *cells, together)
    return table


def differences_table(differences: polars.DataFrame, keys: Sequence[str], domains: Sequence[str]) -> Table:
    """Return a row for each place in the grid and domain: mean differences, ± half their 95 % intervals."""
    table = new_table(*(f"\n{key}" for key in keys), "\nmachine", *COMPARED, left=len(keys) + 1)
    for row in differences.iter_rows(named=True):
        place = [str(row[key]) for key in keys]
        for number, domain in enumerate(domains):
            table.add_row(*(place if number == 0 else [""] * len(keys)), domain, *_differences(row, domain))
    return table


def differences_title(compared: Comparison) -> str:
    """Say what the differences are."""
    return f"Differences from {compared.key} {compared.value}, replication by replication:"


def _cells(row: Row, domain: str) -> list[str]:
    """Return the cells of `MEASURES`; without coscheduling nobody waits for a mate or holds."""
    found = [
        _cell(row, f"{domain}.all.wait_s.mean", duration_with_interval),
        _cell(row, f"{domain}.all.slowdown.mean", number_with_interval),
    ]
    if row.get(SCHEMES) == NO_COSCHEDULING:
        return [*found, "", "", ""]
    return [
        *found,
        _cell(row, f"{domain}.paired.sync_s.mean", duration_with_interval),
        _cell(row, f"{domain}.held_node_seconds", _node_hours),
        _cell(row, f"{domain}.held_share", _percent),
    ]


def _differences(row: Row, domain: str) -> list[str]:
    """Return the cells of `COMPARED`."""
    waits = [_cell(row, f"{domain}.{group}.wait_s.mean", duration_with_interval) for group in GROUPS]
    slowdown = _cell(row, f"{domain}.all.slowdown.mean", number_with_interval)
    found = [*waits, slowdown, _cell(row, f"{domain}.held_node_seconds", _node_hours)]
    return list(map(plus, found))


def _cell(row: Row, name: str, form: Callable[[float, float | None], str]) -> str:
    mean = row.get(name)
    return "" if mean is None else form(mean, row.get(name + INTERVAL))


def _together(row: Row) -> str:
    if not row.get("pairs.pairs"):
        return ""
    return f"{whole(row['pairs.together'])} of {whole(row['pairs.pairs'])}"


def _node_hours(mean: float, half: float | None) -> str:
    return number_with_interval(mean / SECONDS_AN_HOUR, None if half is None else half / SECONDS_AN_HOUR)


def _percent(mean: float, half: float | None) -> str:
    return f"{number_with_interval(100 * mean, None if half is None else 100 * half, digits=2)} %"
