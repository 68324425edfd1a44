"""Cumulative distributions over a logarithmic axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator, PercentFormatter

from cosched.words.quantities import count
from cosched_sim.reports.figures.series import Floats
from cosched_sim.reports.figures.style import Look

_POINTS = 200  # points of a curve along each axis
_TIMES = {
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3_600: "1 h",
    21_600: "6 h",
    **{86_400 * days: f"{days:,} d" for days in (1, 10, 100, 1_000, 10_000)},
}


def cumulative(values: Floats) -> tuple[Floats, Floats]:
    """Return ascending values, and the share up to each, thinned to what can be seen; every point is exact."""
    distinct, counts = np.unique(values, return_counts=True)
    shares = np.cumsum(counts) / len(values)
    if len(distinct) > 2 * _POINTS:
        logs = np.log(np.maximum(distinct, 1.0))
        by_value = np.searchsorted(logs, np.linspace(logs[0], logs[-1], _POINTS))
        by_share = np.searchsorted(shares, np.linspace(shares[0], 1.0, _POINTS))
        last = len(distinct) - 1
        kept = np.unique(np.minimum(np.concatenate([by_value, by_share, [0, last]]), last))
        distinct, shares = distinct[kept], shares[kept]
    return distinct.astype(np.float64), shares


def draw_curves(
    axes: Axes, samples: Mapping[str, Floats], looks: Sequence[Look], words: Callable[[float], str], *, times: bool
) -> None:
    """Draw a curve for each sample, with a mark at its median, on an axis from 1; smaller values are drawn at 1.

    `words` formats a median for the legend; `times`: the values are seconds.
    """
    largest = 1.2 * max((float(values.max()) for values in samples.values() if values.size), default=1.0)
    right = max(10.0, largest)
    for (label, values), look in zip(samples.items(), looks, strict=False):
        if values.size:
            _draw_curve(axes, f"{label} ({count(values.size, 'job')}): median", values, look, words, right)
    axes.set_xscale("log")
    axes.set_xlim(1.0, right)
    _mark_axes(axes, right, times)
    _legend_above(axes, sum(1 for values in samples.values() if values.size))


def _legend_above(axes: Axes, curves: int) -> None:
    """Place the legend between a panel and its title, where it hides nothing."""
    axes.set_title(axes.get_title("left"), pad=6 + 12 * curves)
    if not curves:
        axes.text(0.5, 0.5, "no job started", ha="center", transform=axes.transAxes)
        return
    spaces = {"borderaxespad": 0, "handlelength": 3.2, "labelspacing": 0.2}
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), frameon=False, **spaces)


def _draw_curve(
    axes: Axes, label: str, values: Floats, look: Look, words: Callable[[float], str], right: float
) -> None:
    x, shares = cumulative(np.maximum(values, 1.0))
    median = float(np.median(values))
    x, shares = np.concatenate((x[:1], x, [right])), np.concatenate(([0.0], shares, [1.0]))
    axes.step(x, 100 * shares, where="post", **look.curve)
    mark = {**look.curve, "marker": look.marker, "markeredgecolor": "white", "clip_on": False, "zorder": 3}
    axes.plot([max(median, 1.0)], [50], **mark, label=f"{label} {words(median)}")


def _mark_axes(axes: Axes, right: float, times: bool) -> None:
    axes.set_ylim(0, 100)
    axes.set_yticks(range(0, 101, 25))
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0, symbol=" %"))
    axes.xaxis.set_minor_locator(NullLocator())
    if times:
        axes.xaxis.set_major_locator(FixedLocator([place for place in _TIMES if place <= right]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: _TIMES.get(round(place), "")))
    else:
        axes.xaxis.set_major_locator(LogLocator(numticks=8))
        axes.xaxis.set_major_formatter("{x:,.0f}")
