"""The figures of a replay's report."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from cosched_sim.reports.figures import series
from cosched_sim.reports.figures.actions import actions_figure, held_figure, recorded
from cosched_sim.reports.figures.distributions import slowdown_figure, sync_figure, wait_figure
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.mates import mates_figure, mates_ready
from cosched_sim.reports.figures.panels import from_zero, legend, patch, right_axis, stacked, stacked_size, time_axis
from cosched_sim.reports.figures.series import Floats, Ints, column, counts, edges_table
from cosched_sim.reports.figures.style import GROUPS, INK, SKY, STATES, Look, TimeAxis
from cosched_sim.reports.figures.who_waits import who_waits_figure
from cosched_sim.reports.run import Run, RunDomain

_UNPAIRED = Look(SKY)
_LOAD: dict[str, Any] = {"color": INK, "linewidth": 1.0, "marker": "o", "markersize": 3}
_ALL = Look(SKY)


def replay_figures(run: Run) -> list[Figure]:
    """Return all figures that have something to show: of the machines, the jobs, coscheduling and the workload."""
    return [*machine_figures(run), *job_figures(run), *coscheduling_figures(run), *workload_figures(run)]


def machine_figures(run: Run) -> list[Figure]:
    """Return the figures of how the machines were used."""
    return [occupancy_figure(run), queue_figure(run)]


def job_figures(run: Run) -> list[Figure]:
    """Return the figures of what users saw; none if no job started."""
    return [wait_figure(run), slowdown_figure(run), who_waits_figure(run)] if _any_has(run, "start") else []


def coscheduling_figures(run: Run) -> list[Figure]:
    """Return the figures of coscheduling; fewer if it was off, holds were not recorded, or no pair could start."""
    if not run.paired:
        return []
    figures = [sync_figure(run)] if run.coscheduled and _any_has(run, "start", "pair") else []
    figures += [mates_figure(run)] if mates_ready(run) else []
    return figures + ([actions_figure(run), held_figure(run)] if run.coscheduled and recorded(run) else [])


def workload_figures(run: Run) -> list[Figure]:
    """Return the figures of the workload; none if all jobs were submitted at one instant."""
    axis = arrival_axis(run)
    return [arrivals_figure(run)] if axis.last > axis.first else []


def _any_has(run: Run, *columns: str) -> bool:
    """Return whether any job has a value in all of these columns."""
    known = polars.all_horizontal(polars.col(columns).is_not_null())
    return any(domain.jobs.select(known.any()).item() for domain in run.domains)


def queue_figure(run: Run) -> Figure:
    """Show how many jobs waited on each domain, and how many of them are paired."""
    axis = time_axis(run)
    tables, widths = zip(*(_queue(domain, axis) for domain in run.domains), strict=True)
    greatest = ", ".join(sorted({f"the most within every {width}" for width in widths if width}))
    caption = f"Jobs submitted and not yet started, those that hold nodes included{'; ' * bool(greatest)}{greatest}."
    draw, size = partial(_draw_waiting, run, tables), stacked_size(run)
    return Figure("queue-length", "Queue length", caption, polars.concat(tables), draw, size)


def _queue(domain: RunDomain, axis: TimeAxis) -> tuple[polars.DataFrame, str]:
    """Return mean and greatest numbers of waiting jobs, and the length of the intervals in words."""
    everybody = series.waiting(domain, domain.jobs)
    paired = series.waiting(domain, domain.jobs.filter(polars.col("pair").is_not_null()))
    edges, width = series.seen_edges(axis, everybody)
    columns = {
        "waiting": everybody.means(edges),
        "waiting_paired": paired.means(edges),
        "waiting_max": everybody.maxima(edges),
        "waiting_paired_max": paired.maxima(edges),
    }
    return edges_table(domain.name, edges, columns), width


def _draw_waiting(run: Run, tables: tuple[polars.DataFrame, ...], canvas: Canvas) -> None:
    axis = time_axis(run)
    for (_, axes), table in zip(stacked(canvas, run), tables, strict=True):
        edges = axis.place(series.table_edges(table))
        axes.stairs(table["waiting_max"].to_numpy(), edges, fill=True, **_ALL.area)
        if run.paired:
            axes.stairs(table["waiting_paired_max"].to_numpy(), edges, fill=True, **GROUPS["paired"].area)
        from_zero(axes, int(table["waiting_max"].to_numpy().max()))
        axes.set_ylabel("jobs waiting")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.label(axes)
    if run.paired:
        legend(canvas, patch(_ALL, "all jobs"), patch(GROUPS["paired"], "paired ones among them"))


def arrivals_figure(run: Run) -> Figure:
    """Show jobs submitted to each domain, and their work; the jobs must not all be submitted at one instant."""
    axis = arrival_axis(run)
    edges, every = series.bars_of(axis)
    tables = [_arrivals(domain, axis, edges) for domain in run.domains]
    caption = (
        f"Jobs submitted in every {every} (bars), and their nodes times run times as a share of what the whole "
        "machine has in that time (line): above 100 % the queue must grow."
    )
    draw, size = partial(_draw_arrivals, run, tables, edges, every), stacked_size(run)
    return Figure("arrivals", "Arrivals", caption, polars.concat(tables), draw, size)


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
    load = Line2D([], [], **_LOAD, label="work (right axis)")
    legend(canvas, *(bars if run.paired else [patch(_UNPAIRED, "jobs")]), load)


def _draw_load(axes: Axes, places: Floats, percent: Floats) -> None:
    """Draw the offered load on a second vertical axis."""
    right = axes.twinx()
    right.plot(places, percent, **_LOAD)
    right.axhline(100, color=INK, linestyle=":", linewidth=0.8)
    right.set_ylim(0, 1.1 * float(percent.max(initial=100.0)))
    right.grid(visible=False)
    right.set_ylabel("% of the machine")


def occupancy_figure(run: Run) -> Figure:
    """Show running, held and idle nodes of each domain, and those that what-if events took away."""
    axis = time_axis(run)
    tables, widths = zip(*(_occupancy(run, domain, axis) for domain in run.domains), strict=True)
    uses = "ran jobs, were held for a mate or were idle" if run.coscheduled else "ran jobs or were idle"
    if run.has_outages:
        uses = uses.replace(" or were idle", ", were idle or down (a drain counts from its beginning)")
    means = ", ".join(sorted({f"means over every {width}" for width in widths if width}))
    caption = f"Nodes that {uses}{'; ' * bool(means)}{means}.{_held(run)}"
    draw, size = partial(_draw_occupancy, run, tables), stacked_size(run)
    return Figure("occupancy", "Node occupancy", caption, polars.concat(tables), draw, size)


def _occupancy(run: Run, domain: RunDomain, axis: TimeAxis) -> tuple[polars.DataFrame, str]:
    """Return mean and greatest numbers of nodes by state, and the length of the intervals in words."""
    runs, holds, away = series.running(domain), series.held(domain), series.out_of_service(run, domain)
    edges, width = series.seen_edges(axis, runs, holds, away)
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


def _draw_occupancy(run: Run, tables: tuple[polars.DataFrame, ...], canvas: Canvas) -> None:
    axis = time_axis(run)
    states = ["running", "held", "idle"] if any(table["held"].sum() for table in tables) else ["running", "idle"]
    states += ["down"] * run.has_outages
    for (domain, axes), table in zip(stacked(canvas, run), tables, strict=True):
        _draw_domain(axes, domain, table, axis)
    axis.label(axes)
    legend(canvas, *(patch(STATES[state], state) for state in states))


def _draw_domain(axes: Axes, domain: RunDomain, table: polars.DataFrame, axis: TimeAxis) -> None:
    edges = axis.place(series.table_edges(table))
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
