"""The figures of a replay's report."""

from __future__ import annotations

import polars

from cosched_sim.reports.figures.actions import actions_figure, held_figure, recorded
from cosched_sim.reports.figures.arrivals import arrival_axis, arrivals_figure
from cosched_sim.reports.figures.distributions import slowdown_figure, sync_figure, wait_figure
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.mates import mates_figure, mates_ready
from cosched_sim.reports.figures.occupancy import occupancy_figure
from cosched_sim.reports.figures.queue_length import queue_figure
from cosched_sim.reports.figures.who_waits import who_waits_figure
from cosched_sim.reports.run import Run


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
