"""The figure of nodes that ran jobs, were held for mates or were idle, over time."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import legend, patch, right_axis, stacked, stacked_size, time_axis
from cosched_sim.reports.figures.series import edges_table, held, out_of_service, running, seen_edges, table_edges
from cosched_sim.reports.figures.style import STATES, TimeAxis
from cosched_sim.reports.run import Run, RunDomain


def occupancy_figure(run: Run) -> Figure:
    """Show running, held and idle nodes of each domain, and those that what-if events took away."""
    axis = time_axis(run)
    tables, widths = zip(*(_occupancy(run, domain, axis) for domain in run.domains), strict=True)
    uses = "ran jobs, were held for a mate or were idle" if run.coscheduled else "ran jobs or were idle"
    if run.has_outages:
        uses = uses.replace(" or were idle", ", were idle or down (a drain counts from its beginning)")
    means = sorted({f"means over every {width}" for width in widths if width})
    return Figure(
        "occupancy",
        "Node occupancy",
        f"Nodes that {uses}{'; ' * bool(means)}{', '.join(means)}.{_held(run)}",
        polars.concat(tables),
        partial(_draw, run, tables),
        stacked_size(run),
    )


def _occupancy(run: Run, domain: RunDomain, axis: TimeAxis) -> tuple[polars.DataFrame, str]:
    """Return mean and greatest numbers of nodes by state, and the length of the intervals in words."""
    runs, holds, away = running(domain), held(domain), out_of_service(run, domain)
    edges, width = seen_edges(axis, runs, holds, away)
    busy, kept = runs.means(edges), holds.means(edges)
    down = np.minimum(away.means(edges), domain.nodes - busy - kept)  # nodes that drain may run jobs still
    columns = {
        "running": busy,
        "held": kept,
        "idle": domain.nodes - busy - kept - down,
        "running_max": runs.maxima(edges),
        "held_max": holds.maxima(edges),
        **({"down": down} if run.has_outages else {}),
    }
    return edges_table(domain.name, edges, columns), width


def _held(run: Run) -> str:
    if not run.coscheduled:
        return ""
    words = (
        f"{domain.name} {domain.summary['held_node_seconds'] / 3600:,.0f} node-hours "
        f"({100 * domain.summary['held_share']:.2f} %)"
        for domain in run.domains
    )
    unknown = any(domain.holds is None for domain in run.domains)
    return f" Held: {', '.join(words)}{'; when they were held was not recorded' * unknown}."


def _draw(run: Run, tables: tuple[polars.DataFrame, ...], canvas: Canvas) -> None:
    axis = time_axis(run)
    states = ["running", "held", "idle"] if any(table["held"].sum() for table in tables) else ["running", "idle"]
    states += ["down"] * run.has_outages
    for (domain, axes), table in zip(stacked(canvas, run), tables, strict=True):
        _draw_domain(axes, domain, table, axis)
    axis.label(axes)
    legend(canvas, *(patch(STATES[state], state) for state in states))


def _draw_domain(axes: Axes, domain: RunDomain, table: polars.DataFrame, axis: TimeAxis) -> None:
    edges = axis.place(table_edges(table))
    share = 100 / domain.nodes
    # Both areas begin at 0, so the lower one is drawn over the upper one.
    axes.stairs((table["running"] + table["held"]).to_numpy() * share, edges, fill=True, **STATES["held"].area)
    axes.stairs(table["running"].to_numpy() * share, edges, fill=True, **STATES["running"].area)
    if "down" in table.columns:
        top = np.full(len(table), 100.0)
        axes.stairs(top, edges, baseline=top - table["down"].to_numpy() * share, fill=True, **STATES["down"].area)
    axes.set_title(f"{domain.name} ({domain.nodes:,} nodes)")
    axes.set_ylim(0, 100)
    axes.set_yticks(range(0, 101, 25))
    axes.set_ylabel("% of nodes")
    right_axis(axes, 1 / share, "nodes", whole=True)
