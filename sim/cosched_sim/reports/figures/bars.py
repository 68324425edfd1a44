"""Grouped bars with intervals, a base line and differences from it; what a paper has can be drawn over them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import mul
from typing import Any

import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import DOMAINS, INK, SCHEMES, Look
from cosched_sim.results.estimate import Estimate

COLUMNS = 2
WIDTH = 0.84  # width of a group; groups are 1 apart
ROOM = 4  # the axis ends at so many times the greatest mean; wider intervals are cut
TEXTS = ("panel", "group", "series")  # columns of the table
NUMBERS = ("mean", "ci95", "base", "base ci95", "difference", "difference ci95")
INTERVALS = {"capsize": 2, "elinewidth": 0.8, "capthick": 0.8}  # error bars of the 95 % intervals


Values = Sequence[Estimate | None]

Stated = tuple[str, str | None, float | None, float | None]
"""A range that a paper states: the group, the series (None: the greatest of the group), low, high (None: no bound)."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: each of the `series` of bars has a value for each of the `groups` (None: no bar).

    `label`, with the unit, is for the y-axis, `group_label` for the groups. `base` is a line through each group;
    `differences` from it are bars in a diagram below, a value for each bar. `second` is another scale of the same
    axis: a factor and a label. `looks` are by series; schemes have looks already. `paper` and `paper_differences` are
    what a paper has in place of bars and of differences.
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
    paper: Sequence[Stated] = ()
    paper_differences: Sequence[Stated] = ()

    def look(self, name: str) -> Look:
        """Return the look of a series."""
        at = list(self.series).index(name)
        return self.looks.get(name) or SCHEMES.get(name) or DOMAINS[at % len(DOMAINS)]

    def place(self, group: int, series: int) -> float:
        """Return the middle of a bar on the x-axis."""
        return group + (series + 0.5) * WIDTH / len(self.series) - WIDTH / 2


def grouped_bars(name: str, title: str, caption: str, panels: Sequence[Panel], legend: str = "") -> Figure:
    """Return a figure of panels, two a row; `legend` is the heading of the series' legend."""
    height = 4.6 if _has_below(panels) else 3.1
    size = (10.4 if len(panels) > 1 else 5.6, 0.5 + height * math.ceil(len(panels) / COLUMNS))
    rows = [row for panel in panels for row in _rows(panel)]
    texts, numbers = dict.fromkeys(TEXTS, polars.String), dict.fromkeys(NUMBERS, polars.Float64)
    table = polars.DataFrame(rows, schema={**texts, **numbers}, orient="row")
    return Figure(name, title, caption, table, partial(_draw, panels=panels, legend=legend), size)


def _rows(panel: Panel) -> Iterator[tuple[str | float | None, ...]]:
    """Yield a row for each bar, with its interval, base and difference from the base."""
    for g, group in enumerate(panel.groups):
        for name, values in panel.series.items():
            others = (panel.base, panel.differences.get(name, ()))
            estimates = (values[g], *(other[g] if other else None for other in others))
            both = ((None, None) if each is None else (each.mean, each.half) for each in estimates)
            yield panel.title, group, name, *chain.from_iterable(both)


def _draw(canvas: Canvas, panels: Sequence[Panel], legend: str) -> None:
    columns = min(len(panels), COLUMNS)
    rows = math.ceil(len(panels) / columns)
    below = _has_below(panels)
    grid = canvas.add_gridspec(rows * (1 + below), columns, height_ratios=([1.6, 1] if below else [1]) * rows)
    for at, panel in enumerate(panels):
        row, column = divmod(at, columns)
        _draw_panel(canvas.add_subplot(grid[row * (1 + below), column]), panel)
        if below:
            _draw_differences(canvas.add_subplot(grid[row * 2 + 1, column]), panel)
    entries = _legend(panels)
    canvas.legend(handles=entries, loc="outside lower center", ncols=8, title=legend or None, title_fontsize=8.5)


def _has_below(panels: Sequence[Panel]) -> bool:
    return any(panel.differences for panel in panels)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    _draw_bars(axes, panel, panel.series, panel.paper, negative=False)
    for g, base in enumerate(panel.base):
        if base is not None:
            axes.hlines(base.mean, g - 0.48, g + 0.48, colors=INK, linestyles="--", linewidth=1.4, zorder=3)
    axes.set_title(panel.title)
    axes.set_ylabel(panel.label)
    axes.set_xlabel("" if panel.differences else panel.group_label)
    _limit(axes, (*panel.series.values(), panel.base), panel.paper)
    if panel.second:
        factor, label = panel.second
        second = axes.secondary_yaxis("right", functions=(partial(mul, factor), partial(mul, 1 / factor)))
        second.set_ylabel(label)


def _draw_differences(axes: Axes, panel: Panel) -> None:
    _draw_bars(axes, panel, panel.differences, panel.paper_differences, negative=True)
    axes.axhline(0, color=INK, linewidth=0.7)
    axes.set_ylabel("difference\nto the base")
    axes.set_xlabel(panel.group_label)
    _limit(axes, tuple(panel.differences.values()), panel.paper_differences)


def _draw_bars(
    axes: Axes, panel: Panel, series: Mapping[str, Values], paper: Sequence[Stated], *, negative: bool
) -> None:
    for at, (name, values) in enumerate(series.items()):
        there = [(panel.place(g, at), value) for g, value in enumerate(values) if value is not None]
        places, means = [place for place, _ in there], [value.mean for _, value in there]
        halves = [math.nan if value.half is None else value.half for _, value in there]  # NaN draws nothing
        below = halves if negative else [min(half, abs(mean)) for mean, half in zip(means, halves, strict=True)]
        axes.bar(places, means, WIDTH / len(series), yerr=(below, halves), error_kw=INTERVALS, **panel.look(name).bar)
    for stated in paper:
        _draw_stated(axes, panel, stated)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xticks(range(len(panel.groups)), panel.groups)
    axes.set_xlim(-0.5, max(len(panel.groups) - 0.5, 0.5))
    axes.grid(axis="x", visible=False)


def _draw_stated(axes: Axes, panel: Panel, stated: Stated) -> None:
    """Draw a range over its bar, or over its group; a bound alone has a mark on the side that it allows."""
    group, name, low, high = stated
    g, width = panel.groups.index(group), WIDTH if name is None else WIDTH / len(panel.series)
    place = g if name is None else panel.place(g, list(panel.series).index(name))
    there = [end for end in (low, high) if end is not None]
    axes.hlines(there, place - width / 2, place + width / 2, colors=INK, linewidth=1.6, zorder=4)
    if low is not None and high is not None:
        axes.vlines(place, low, high, colors=INK, linestyles=":", linewidth=1.2, zorder=4)
    else:
        axes.plot([place], there, color=INK, marker="^" if high is None else "v", markersize=3.5, linestyle="none")


def _limit(axes: Axes, drawn: Sequence[Values], paper: Sequence[Stated]) -> None:
    """Show 0 and all means. Cut intervals at `ROOM` times the greatest mean: very wide ones would flatten the rest."""
    means = [0.0, *(value.mean for values in drawn for value in values if value is not None)]
    means += [end for stated in paper for end in stated[2:] if end is not None]
    room = ROOM * (max(map(abs, means)) or 1.0)
    low, high = axes.get_ylim()
    axes.set_ylim(max(min(low, 0), min(means) - room), max(min(high, max(means) + room), room / (20 * ROOM)))


def _legend(panels: Sequence[Panel]) -> list[Any]:
    panel = panels[0]
    handles: list[Any] = [Patch(label=name, **panel.look(name).bar) for name in panel.series]
    if any(panel.base):
        handles.append(Line2D([], [], color=INK, linestyle="--", linewidth=1.4, label="base: no coscheduling"))
    if any(each.paper or each.paper_differences for each in panels):
        handles.append(Line2D([], [], color=INK, linewidth=1.6, label="the paper's number, range or bound"))
    return handles
