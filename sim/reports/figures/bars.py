"""Grouped bars with intervals, a base line and differences from it, as in the figures of Tang et al. (2011)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import mul
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from cosched.sim.reports.figures.figure import Figure
from cosched.sim.reports.figures.style import DOMAINS, INK, PURPLE, SCHEMES, Look
from cosched.sim.results.estimate import Estimate

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLUMNS = 2
WIDTH = 0.84  # width of a group; groups are 1 apart
ROOM = 4  # the axis ends at so many times the greatest mean; wider intervals are cut
INTERVALS = {"capsize": 2, "elinewidth": 0.8, "capthick": 0.8}  # error bars of the 95 % intervals


Values = Sequence[Estimate | None]


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: each of the `series` of bars has a value for each of the `groups` (None: no bar).

    `label`, with the unit, is for the y-axis, `group_label` for the groups. `base` is a line through each group;
    `differences` from it are points joined by a line, a value for each bar. `second` is another scale of the same
    axis: a factor and a label. `looks` are by series; schemes have looks already.
    """

    title: str
    label: str
    group_label: str
    groups: Sequence[str]
    series: Mapping[str, Values]
    base: Values = ()
    differences: Mapping[str, Values] = field(default_factory=dict)
    second: tuple[float, str] | None = None
    looks: Mapping[str, Look] = field(default_factory=dict)

    def look(self, name: str) -> Look:
        """Return the look of a series."""
        at = list(self.series).index(name)
        return self.looks.get(name) or SCHEMES.get(name) or DOMAINS[at % len(DOMAINS)]

    def place(self, group: int, series: int) -> float:
        """Return the middle of a bar on the x-axis."""
        return group + (series + 0.5) * WIDTH / len(self.series) - WIDTH / 2


def grouped_bars(name: str, title: str, caption: str, panels: Sequence[Panel], legend: str = "") -> Figure:
    """Return a figure of panels, two a row; `legend` is the heading of the series' legend."""
    size = (10.4 if len(panels) > 1 else 5.6, 0.5 + 3.1 * math.ceil(len(panels) / COLUMNS))
    return Figure(name, title, caption, bars_table(panels), partial(_draw, panels=panels, legend=legend), size)


def bars_table(panels: Sequence[Panel]) -> polars.DataFrame:
    """Return the numbers of some panels: a row for each bar, with its interval, base and difference from the base."""
    import polars

    rows = [row for panel in panels for row in _rows(panel)]
    texts = dict.fromkeys(("panel", "group", "series"), polars.String)
    numbers = dict.fromkeys(NUMBERS, polars.Float64)
    return polars.DataFrame(rows, schema={**texts, **numbers}, orient="row")


NUMBERS = ("mean", "ci95", "base", "base ci95", "difference", "difference ci95")


def _rows(panel: Panel) -> Iterator[tuple[str | float | None, ...]]:
    for g, group in enumerate(panel.groups):
        for name, values in panel.series.items():
            others = (panel.base, panel.differences.get(name, ()))
            estimates = (values[g], *(other[g] if other else None for other in others))
            yield panel.title, group, name, *(number for e in estimates for number in _numbers(e))


def _numbers(estimate: Estimate | None) -> tuple[float | None, float | None]:
    return (None, None) if estimate is None else (estimate.mean, estimate.half)


def _draw(canvas: Canvas, panels: Sequence[Panel], legend: str) -> None:
    columns = min(len(panels), COLUMNS)
    for place, panel in enumerate(panels, 1):
        _draw_panel(canvas.add_subplot(math.ceil(len(panels) / columns), columns, place), panel)
    canvas.legend(
        handles=_legend(panels), loc="outside lower center", ncols=8, title=legend or None, title_fontsize=8.5
    )


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for at, (name, values) in enumerate(panel.series.items()):
        there = [(panel.place(g, at), value) for g, value in enumerate(values) if value is not None]
        places, means, halves = _columns(there)
        width = WIDTH / len(panel.series)
        below = [min(half, abs(mean)) for mean, half in zip(means, halves, strict=True)]  # a wait is not negative
        axes.bar(places, means, width, yerr=(below, halves), error_kw=INTERVALS, **panel.look(name).bar)
    for g, base in enumerate(panel.base):
        if base is not None:
            axes.hlines(base.mean, g - 0.48, g + 0.48, colors=INK, linestyles="--", linewidth=1.4, zorder=3)
    _draw_differences(axes, panel)
    axes.set_title(panel.title)
    axes.set_ylabel(panel.label)
    axes.set_xlabel(panel.group_label)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xticks(range(len(panel.groups)), panel.groups)
    axes.set_xlim(-0.5, max(len(panel.groups) - 0.5, 0.5))
    axes.grid(axis="x", visible=False)
    _limit(axes, panel)
    if panel.second:
        factor, label = panel.second
        second = axes.secondary_yaxis("right", functions=(partial(mul, factor), partial(mul, 1 / factor)))
        second.set_ylabel(label)


def _draw_differences(axes: Axes, panel: Panel) -> None:
    """Draw a line through the points of each group; groups are not joined, since their bases differ."""
    for g in range(len(panel.groups)):
        drawn = [(panel.place(g, at), values[g]) for at, values in enumerate(panel.differences.values())]
        places, means, halves = _columns([(place, value) for place, value in drawn if value is not None])
        axes.errorbar(places, means, halves, color=PURPLE, marker="o", markersize=3.5, linewidth=1.2, capsize=2)
    if panel.differences:
        axes.axhline(0, color=INK, linewidth=0.7)


def _columns(values: Sequence[tuple[float, Estimate]]) -> tuple[list[float], list[float], list[float]]:
    """Return places, means and half-widths; a missing half-width is NaN, which draws nothing."""
    places = [place for place, _ in values]
    return (
        places,
        [value.mean for _, value in values],
        [math.nan if value.half is None else value.half for _, value in values],
    )


def _limit(axes: Axes, panel: Panel) -> None:
    """Show 0 and all means. Cut intervals at `ROOM` times the greatest mean: very wide ones would flatten the rest."""
    drawn = (*panel.series.values(), panel.base, *panel.differences.values())
    means = [0.0, *(value.mean for values in drawn for value in values if value is not None)]
    room = ROOM * (max(map(abs, means)) or 1.0)
    low, high = axes.get_ylim()
    axes.set_ylim(max(min(low, 0), min(means) - room), max(min(high, max(means) + room), room / (20 * ROOM)))


def _legend(panels: Sequence[Panel]) -> list[Any]:
    panel = panels[0]
    handles: list[Any] = [Patch(label=name, **panel.look(name).bar) for name in panel.series]
    if any(panel.base):
        handles.append(Line2D([], [], color=INK, linestyle="--", linewidth=1.4, label="base: no coscheduling"))
    if panel.differences:
        handles.append(Line2D([], [], color=PURPLE, marker="o", markersize=3.5, label="difference to the base"))
    return handles
