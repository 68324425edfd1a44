"""The output of `cosched sweep`: averages with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cosched.sim.commands.tables import new_table
from cosched.sim.results.wording import UNITS, whole

if TYPE_CHECKING:
    import polars
    from rich.table import Table

INTERVAL = " ci95"
MEASURES = {
    "mean\nwait": "all.wait_s.mean",
    "mean\nslowdown": "all.slowdown.mean",
    "mean\nsync": "paired.sync_s.mean",
    "lost\nnode-h": "held_node_seconds",
    "\nlost": "held_share",
}
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
            table.add_row(*(place if first else [""] * len(keys)), domain, count, *_cells(row, domain), together)
    return table


def _cells(row: Row, domain: str) -> list[str]:
    forms = (_duration, _number, _duration, _node_hours, _percent)
    found = []
    for form, measure in zip(forms, MEASURES.values(), strict=True):
        name = f"{domain}.{measure}"
        mean, half = row.get(name), row.get(name + INTERVAL)
        found.append("" if mean is None else form(mean, half))
    return found


def _together(row: Row) -> str:
    if not row.get("pairs.pairs"):
        return ""
    return f"{whole(row['pairs.together'])} of {whole(row['pairs.pairs'])}"


def _duration(mean: float, half: float | None) -> str:
    size, unit = next((size, unit) for least, size, unit in UNITS if abs(mean) >= least)
    return f"{_number(mean / size, None if half is None else half / size)} {unit}"


def _node_hours(mean: float, half: float | None) -> str:
    return _number(mean / SECONDS_AN_HOUR, None if half is None else half / SECONDS_AN_HOUR)


def _percent(mean: float, half: float | None) -> str:
    return f"{_number(100 * mean, None if half is None else 100 * half, digits=2)} %"


def _number(mean: float, half: float | None, digits: int = 1) -> str:
    """Format a mean with its interval, both with the same number of digits."""
    digits = 0 if abs(mean) >= 1000 else digits
    return f"{mean:,.{digits}f}" + ("" if half is None else f" ± {half:,.{digits}f}")
