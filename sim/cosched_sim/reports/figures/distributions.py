"""The distributions of wait, slowdown and sync time over the jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import polars
from matplotlib.figure import Figure as Canvas

from cosched.words.quantities import count, duration, number
from cosched_sim.reports.figures.curves import cumulative, draw_curves
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import WIDTH, side_by_side, side_by_side_size
from cosched_sim.reports.figures.series import Floats, column
from cosched_sim.reports.figures.style import DOMAINS, GROUPS
from cosched_sim.reports.run import Run, RunDomain
from cosched_sim.results import metrics

Samples = Mapping[str, Mapping[str, Floats]]  # domain -> group of jobs -> values
Measure = Callable[[polars.DataFrame], Floats]  # of jobs that started


def wait_figure(run: Run) -> Figure:
    """Show the time from submission to start."""
    caption = (
        "Time from submission to start: share of the jobs that waited at most so long. Marks: medians. Waits under 1 s "
        "stand at 1 s."
    )
    return _of_groups(run, "wait", caption, "wait_s", _waits, duration, times=True)


def slowdown_figure(run: Run) -> Figure:
    """Show response time / run time."""
    what = "Time from submission to end over run time: share of the jobs for which it is at most so large"
    return _of_groups(run, "slowdown", f"{what}. Marks: medians.", "slowdown", _slowdowns, number, times=False)


def _of_groups(
    run: Run, name: str, caption: str, column: str, measure: Measure, words: Callable[[float], str], *, times: bool
) -> Figure:
    samples = {domain.name: _grouped(domain, measure) for domain in run.domains}
    never = sum(domain.summary["never_started"] for domain in run.domains)
    left_out = f" Without {count(never, 'job')} that never started." if never else ""
    draw, size = partial(_draw_groups, run, samples, name, words, times), side_by_side_size(run)
    return Figure(name, name.capitalize(), f"{caption}{left_out}", _table(samples, column), draw, size)


def sync_figure(run: Run) -> Figure:
    """Show the time that paired jobs waited for their mates."""
    samples = {domain.name: {"paired": _sync(domain)} for domain in run.domains if domain.summary["paired"]["jobs"]}
    caption = (
        "Time from the first instant at which a paired job could have started to its start with its mate: share of "
        "the paired jobs that waited at most so long for their mates. Marks: medians. Times under 1 s stand at 1 s."
    )
    table, draw = _table(samples, "sync_s"), partial(_draw_sync, samples)
    return Figure("sync-time", "Sync time of paired jobs", caption, table, draw, (WIDTH, 3.0))


def _waits(ran: polars.DataFrame) -> Floats:
    return (column(ran, "start") - column(ran, "submit")).astype(np.float64)


def _slowdowns(ran: polars.DataFrame) -> Floats:
    return metrics.slowdown(column(ran, "start") - column(ran, "submit"), column(ran, "run_s"))


def _sync(domain: RunDomain) -> Floats:
    ran = domain.jobs.filter(polars.all_horizontal(polars.col("pair", "ready", "start").is_not_null()))
    return (column(ran, "start") - column(ran, "ready")).astype(np.float64)


def _grouped(domain: RunDomain, measure: Measure) -> dict[str, Floats]:
    """Return the values of all, paired and unpaired jobs that started; only "all" if no job is paired."""
    ran = domain.jobs.filter(polars.col("start").is_not_null())
    values, paired = measure(ran), ran["pair"].is_not_null().to_numpy()
    if not paired.any():
        return {"all": values}
    return {"all": values, "paired": values[paired], "unpaired": values[~paired]}


def _table(samples: Samples, name: str) -> polars.DataFrame:
    """Return the points of all curves."""
    return polars.concat(
        polars.DataFrame({name: values, "share": shares}).select(
            polars.lit(domain).alias("domain"), polars.lit(group).alias("jobs"), polars.all()
        )
        for domain, groups in samples.items()
        for group, sample in groups.items()
        for values, shares in [cumulative(sample)]
    )


def _draw_groups(
    run: Run, samples: Samples, label: str, words: Callable[[float], str], times: bool, canvas: Canvas
) -> None:
    for domain, axes in side_by_side(canvas, run):
        looks = [GROUPS[group] for group in samples[domain.name]]
        draw_curves(axes, samples[domain.name], looks, words, times=times)
        axes.set_xlabel(f"{label} (logarithmic)")
        axes.set_ylabel("share of jobs")


def _draw_sync(samples: Samples, canvas: Canvas) -> None:
    axes = canvas.subplots()
    curves = {name: groups["paired"] for name, groups in samples.items()}
    looks = [DOMAINS[place % len(DOMAINS)] for place in range(len(curves))]
    draw_curves(axes, curves, looks, duration, times=True)
    axes.set_xlabel("sync time (logarithmic)")
    axes.set_ylabel("share of paired jobs")
