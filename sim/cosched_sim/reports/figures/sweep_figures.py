"""The figures of a sweep: bars of the main measures of each machine over the grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cosched_sim.reports.figures.bars import Panel, Values, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import DOMAINS, Look
from cosched_sim.results.estimate import Estimate
from cosched_sim.sweeps.averages import INTERVAL
from cosched_sim.sweeps.grid import NO_COSCHEDULING, SCHEMES

MOST_FIGURES = 12  # for each machine
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\")  # distinguish series of one colour

Row = Mapping[str, Any]  # a row of the averages: one place in the grid


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a domain: its column of the averages without the domain's name, and how many of it make a unit.

    `based`: the value without coscheduling is drawn as a base line.
    """

    title: str
    label: str
    column: str
    unit: float = 1.0
    based: bool = False

    def of(self, row: Row, domain: str) -> Estimate | None:
        """Return the mean at a place in the grid; None if there is none."""
        name = f"{domain}.{self.column}"
        mean, half = row.get(name), row.get(name + INTERVAL)
        return None if mean is None else Estimate(mean / self.unit, None if half is None else half / self.unit)


MEASURES = (
    Measure("Wait", "mean wait (min)", "all.wait_s.mean", 60, based=True),
    Measure("Slowdown", "mean slowdown", "all.slowdown.mean", based=True),
    Measure("Sync time", "mean sync time (min)", "paired.sync_s.mean", 60),
    Measure("Lost to holds", "share of the machine (%)", "held_share", 0.01),
)


@dataclass(frozen=True, slots=True)
class Axes:
    """The keys of the grid that distinguish bars (None: one bar a group), groups, and whole figures."""

    series: str | None
    group: str | None
    others: Sequence[str]

    @classmethod
    def of(cls, keys: Sequence[str]) -> Axes:
        """Choose the keys: bars are the schemes, as in the paper's figures, else the first of several keys."""
        series = SCHEMES if SCHEMES in keys else keys[0] if len(keys) > 1 else None
        rest = [key for key in keys if key != series]
        return cls(series, rest[0] if rest else None, rest[1:])


def place_name(row: Row, keys: Sequence[str]) -> str:
    """Describe a place in the grid."""
    return ", ".join(str(row[key]) if key == SCHEMES else f"{key} {row[key]}" for key in keys)


def sweep_figures(domain: str, keys: Sequence[str], rows: Sequence[Row]) -> Iterator[Figure]:
    """Yield a figure for each combination of the values of all but two keys, at most `MOST_FIGURES`."""
    axes = Axes.of(keys)
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(place_name(row, axes.others), []).append(row)
    for number, (name, part) in enumerate(list(parts.items())[:MOST_FIGURES], 1):
        stem = f"{domain}-{number}" if len(parts) > 1 else domain
        title = f"Main measures of {domain}{f', {name}' if name else ''}"
        panels = [_panel(measure, domain, axes, part) for measure in MEASURES]
        yield grouped_bars(stem, title, _caption(panels), panels, axes.series or "")


def _panel(measure: Measure, domain: str, axes: Axes, rows: Sequence[Row]) -> Panel:
    found = {(_value(row, axes.series), _value(row, axes.group)): measure.of(row, domain) for row in rows}
    names, groups = (list(dict.fromkeys(column)) for column in zip(*found, strict=True))
    series: dict[str, Values] = {name: [found.get((name, group)) for group in groups] for name in names}
    base: Values = ()
    if axes.series == SCHEMES and len(series) > 1:
        base = series.pop(NO_COSCHEDULING, ())
    looks = {} if axes.series == SCHEMES else {name: _look(number) for number, name in enumerate(series)}
    shown = base if measure.based else ()
    return Panel(measure.title, measure.label, axes.group or "", groups, series, shown, looks=looks)


def _value(row: Row, key: str | None) -> str:
    return "" if key is None else str(row[key])


def _look(number: int) -> Look:
    colour, hatch = number % len(DOMAINS), number // len(DOMAINS) % len(HATCHES)
    return Look(DOMAINS[colour].colour, HATCHES[hatch])


def _caption(panels: Sequence[Panel]) -> str:
    base = " Dashed: without coscheduling." if any(panel.base for panel in panels) else ""
    return (
        "Means over the replications with 95 % intervals: wait and slowdown of all jobs, sync time of the paired ones, "
        f"and the share of the machine's node-hours that was lost to holds.{base}"
    )
