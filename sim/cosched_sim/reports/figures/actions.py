"""Figures of coscheduling over time: holds, yields, forced releases, and the node-hours that holds cost."""

from __future__ import annotations

from functools import partial

import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from cosched_sim.reports.figures import panels, series
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import time_axis
from cosched_sim.reports.figures.series import Ints, column, counts, edges_table
from cosched_sim.reports.figures.style import BLUE, ORANGE, STATES, VERMILION, Look, TimeAxis
from cosched_sim.reports.run import Run, RunDomain

_ACTIONS = {
    "holds": (Look(VERMILION, "////"), "holds begun"),
    "releases": (Look(ORANGE), "forced releases"),
    "yields": (Look(BLUE), "yields"),
}


def recorded(run: Run) -> bool:
    """Return whether the run recorded holds and yields."""
    return all(domain.holds is not None and domain.yields is not None for domain in run.domains)


def actions_figure(run: Run) -> Figure:
    """Show holds, forced releases and yields on each domain; for runs that recorded them."""
    edges, every = series.bars_of(time_axis(run))
    tables = [_actions(domain, edges) for domain in run.domains]
    caption = (
        f"How often, in every {every}, a job that was ready before its mate kept its nodes (a hold), lost them to the "
        "release timer (a forced release), or gave its turn up (a yield)."
    )
    draw, size = partial(_draw_actions, run, tables, edges, every), panels.stacked_size(run)
    return Figure("holds-and-yields", "Holds, forced releases and yields", caption, polars.concat(tables), draw, size)


def held_figure(run: Run) -> Figure:
    """Show the held node-hours on each domain; for runs that recorded holds."""
    edges, every = series.bars_of(time_axis(run))
    tables = [_held(domain, edges) for domain in run.domains]
    caption = (
        f"Node-hours of nodes that stood still while a job on them waited for its mate, in every {every}, and their "
        "share of what the whole machine has in that time."
    )
    draw, size = partial(_draw_held, run, tables, edges, every), panels.stacked_size(run)
    return Figure("held-node-hours", "Node-hours held", caption, polars.concat(tables), draw, size)


def _actions(domain: RunDomain, edges: Ints) -> polars.DataFrame:
    assert domain.holds is not None
    assert domain.yields is not None
    released = domain.holds.filter(polars.col("ended") == "released")
    found = {
        "holds": counts(column(domain.holds, "begin"), edges),
        "releases": counts(column(released, "end"), edges),
        "yields": counts(column(domain.yields, "time"), edges, column(domain.yields, "yields")),
    }
    return edges_table(domain.name, edges, found)


def _held(domain: RunDomain, edges: Ints) -> polars.DataFrame:
    hours = (edges[1:] - edges[:-1]) / 3600
    means = series.held(domain).means(edges)
    return edges_table(domain.name, edges, {"held_node_hours": means * hours, "held_share": means / domain.nodes})


def _draw_actions(run: Run, tables: list[polars.DataFrame], edges: Ints, every: str, canvas: Canvas) -> None:
    axis, width = time_axis(run), 1 / (len(_ACTIONS) + 1)
    for (_, axes), table in zip(panels.stacked(canvas, run), tables, strict=True):
        for place, (name, (look, _)) in enumerate(_ACTIONS.items()):
            _draw_bars(axes, axis, edges, table[name], look, (place + 0.5) * width, width)
        panels.from_zero(axes, max(int(table[name].to_numpy().max()) for name in _ACTIONS))
        axes.set_ylabel(f"per {every}")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.label(axes, int(edges[0]), int(edges[-1]))
    panels.legend(canvas, *(panels.patch(look, label) for look, label in _ACTIONS.values()))


def _draw_bars(
    axes: Axes, axis: TimeAxis, edges: Ints, heights: polars.Series, look: Look, left: float, width: float
) -> None:
    """Draw bars; `left` and `width` are the start and width of a bar as shares of its interval."""
    spans = axis.place(edges[1:]) - axis.place(edges[:-1])
    axes.bar(axis.place(edges[:-1]) + left * spans, heights.to_numpy(), width * spans, align="edge", **look.bar)


def _draw_held(run: Run, tables: list[polars.DataFrame], edges: Ints, every: str, canvas: Canvas) -> None:
    axis = time_axis(run)
    for (domain, axes), table in zip(panels.stacked(canvas, run), tables, strict=True):
        axes.set_ylabel(f"node-hours per {every}")
        greatest = float(table["held_node_hours"].to_numpy().max())
        if not greatest:
            panels.empty(axes, "no nodes were held")
            continue
        _draw_bars(axes, axis, edges, table["held_node_hours"], STATES["held"], 0.1, 0.8)
        panels.from_zero(axes, greatest, least_top=1e-9)
        capacity = domain.nodes * float(edges[1] - edges[0]) / 3600
        panels.right_axis(axes, 100 / capacity, "% of the machine")
    axis.label(axes, int(edges[0]), int(edges[-1]))
