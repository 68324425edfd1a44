"""The figure of arrivals and offered load over time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import from_zero, legend, patch, stacked, stacked_size
from cosched_sim.reports.figures.series import (
    BARS,
    Floats,
    Ints,
    bin_edges,
    bin_width,
    column,
    counts,
    edges_table,
    width_words,
)
from cosched_sim.reports.figures.style import GROUPS, INK, SKY, Look, TimeAxis
from cosched_sim.reports.run import Run, RunDomain

_UNPAIRED = Look(SKY)
_LOAD: dict[str, Any] = {"color": INK, "linewidth": 1.0, "marker": "o", "markersize": 3}


def arrivals_figure(run: Run) -> Figure:
    """Show jobs submitted to each domain, and their work; the jobs must not all be submitted at one instant."""
    axis = arrival_axis(run)
    edges, every = bin_edges(axis, BARS), width_words(bin_width(axis, BARS))
    tables = [_arrivals(domain, axis, edges) for domain in run.domains]
    return Figure(
        "arrivals",
        "Arrivals",
        f"Jobs submitted in every {every} (bars), and their nodes times run times as a share of what the whole "
        "machine has in that time (line): above 100 % the queue must grow.",
        polars.concat(tables),
        partial(_draw_arrivals, run, tables, edges, every),
        stacked_size(run),
    )


def arrival_axis(run: Run) -> TimeAxis:
    """Return the axis from the first to the last submission, since the last jobs may run for long after it."""
    return TimeAxis(run.first, max(int(column(domain.jobs, "submit").max()) for domain in run.domains))


def _arrivals(domain: RunDomain, axis: TimeAxis, edges: Ints) -> polars.DataFrame:
    """Return jobs and offered load, without load if less than half an interval is between first and last submission."""
    jobs = domain.jobs
    submit, paired = column(jobs, "submit"), jobs["pair"].is_not_null().to_numpy()
    work = counts(submit, edges, column(jobs, "nodes") * column(jobs, "run_s"))
    covered = np.minimum(edges[1:], axis.last) - np.maximum(edges[:-1], axis.first)
    enough = 2 * covered >= np.diff(edges)
    columns = {
        "unpaired": counts(submit[~paired], edges),
        "paired": counts(submit[paired], edges),
        "offered_load": np.where(enough, work / (domain.nodes * np.maximum(covered, 1)), np.nan),
    }
    return edges_table(domain.name, edges, columns).fill_nan(None)


def _draw_arrivals(run: Run, tables: list[polars.DataFrame], edges: Ints, every: str, canvas: Canvas) -> None:
    axis = arrival_axis(run)
    left, width = axis.place(edges[:-1]), float(axis.place(edges[1]) - axis.place(edges[0]))
    for (_, axes), table in zip(stacked(canvas, run), tables, strict=True):
        unpaired, paired = table["unpaired"].to_numpy(), table["paired"].to_numpy()
        axes.bar(left + 0.1 * width, unpaired, 0.8 * width, align="edge", **_UNPAIRED.bar)
        if run.paired:
            axes.bar(left + 0.1 * width, paired, 0.8 * width, unpaired, align="edge", **GROUPS["paired"].bar)
        from_zero(axes, int((unpaired + paired).max()))
        axes.set_ylabel(f"jobs per {every}")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        known = table["offered_load"].is_not_null().to_numpy()
        _draw_load(axes, (left + width / 2)[known], 100 * table["offered_load"].drop_nulls().to_numpy())
    axis.label(axes, int(edges[0]), int(edges[-1]))
    bars = [patch(_UNPAIRED, "unpaired jobs"), patch(GROUPS["paired"], "paired jobs")]
    legend(
        canvas,
        *(bars if run.paired else [patch(_UNPAIRED, "jobs")]),
        Line2D([], [], **_LOAD, label="work (right axis)"),
    )


def _draw_load(axes: Axes, places: Floats, percent: Floats) -> None:
    """Draw the offered load on a second vertical axis."""
    right = axes.twinx()
    right.plot(places, percent, **_LOAD)
    right.axhline(100, color=INK, linestyle=":", linewidth=0.8)
    right.set_ylim(0, 1.1 * float(percent.max(initial=100.0)))
    right.grid(visible=False)
    right.set_ylabel("% of the machine")
