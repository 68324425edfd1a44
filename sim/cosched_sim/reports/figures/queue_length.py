"""The figure of waiting jobs over time."""

from __future__ import annotations

from functools import partial

import polars
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import from_zero, legend, patch, stacked, stacked_size, time_axis
from cosched_sim.reports.figures.series import edges_table, seen_edges, table_edges, waiting
from cosched_sim.reports.figures.style import GROUPS, SKY, Look, TimeAxis
from cosched_sim.reports.run import Run, RunDomain

_ALL = Look(SKY)


def queue_figure(run: Run) -> Figure:
    """Show how many jobs waited on each domain, and how many of them are paired."""
    axis = time_axis(run)
    tables, widths = zip(*(_queue(domain, axis) for domain in run.domains), strict=True)
    greatest = sorted({f"the most within every {width}" for width in widths if width})
    return Figure(
        "queue-length",
        "Queue length",
        f"Jobs submitted and not yet started, those that hold nodes included{'; ' * bool(greatest)}"
        f"{', '.join(greatest)}.",
        polars.concat(tables),
        partial(_draw, run, tables),
        stacked_size(run),
    )


def _queue(domain: RunDomain, axis: TimeAxis) -> tuple[polars.DataFrame, str]:
    """Return mean and greatest numbers of waiting jobs, and the length of the intervals in words."""
    jobs = domain.jobs
    everybody, paired = waiting(domain, jobs), waiting(domain, jobs.filter(polars.col("pair").is_not_null()))
    edges, width = seen_edges(axis, everybody)
    columns = {
        "waiting": everybody.means(edges),
        "waiting_paired": paired.means(edges),
        "waiting_max": everybody.maxima(edges),
        "waiting_paired_max": paired.maxima(edges),
    }
    return edges_table(domain.name, edges, columns), width


def _draw(run: Run, tables: tuple[polars.DataFrame, ...], canvas: Canvas) -> None:
    axis = time_axis(run)
    for (_, axes), table in zip(stacked(canvas, run), tables, strict=True):
        edges = axis.place(table_edges(table))
        axes.stairs(table["waiting_max"].to_numpy(), edges, fill=True, **_ALL.area)
        if run.paired:
            axes.stairs(table["waiting_paired_max"].to_numpy(), edges, fill=True, **GROUPS["paired"].area)
        from_zero(axes, int(table["waiting_max"].to_numpy().max()))
        axes.set_ylabel("jobs waiting")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.label(axes)
    if run.paired:
        legend(canvas, patch(_ALL, "all jobs"), patch(GROUPS["paired"], "paired ones among them"))
