"""The figure of mean waits by size and run time."""

from __future__ import annotations

from functools import partial

import matplotlib
import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure as Canvas

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import side_by_side, side_by_side_size
from cosched_sim.reports.figures.series import Ints, column
from cosched_sim.reports.figures.style import INK
from cosched_sim.reports.run import Run, RunDomain

_RUN_FROM = np.array((0, 60, 600, 3_600, 10_800, 21_600, 43_200, 86_400), np.int64)  # s
_RUNS = ("< 1\nmin", "1–10\nmin", "10–60\nmin", "1–3\nh", "3–6\nh", "6–12\nh", "12–24\nh", "> 1\nday")
_MOST_SIZES = 8
_COLOURS = LogNorm(300, 10 * 86_400, clip=True)  # mean waits (s)
_BRIEF = ((172_800, 86_400, "d"), (5_970, 3_600, "h"), (60, 60, "min"), (0, 1, "s"))  # from, seconds, unit
_LUMINANCE = np.array((0.2126, 0.7152, 0.0722))  # weights of red, green and blue (sRGB), made linear by the power 2.2
_EVEN = 0.18  # luminance on which black and white have the same contrast


def who_waits_figure(run: Run) -> Figure:
    """Show mean wait and number of jobs by nodes and run time on each domain."""
    tables = [_classes(domain) for domain in run.domains]
    caption = (
        "Mean wait of the jobs of a size and a run time, and below it their number. The darker, the longer the wait."
    )
    draw, size = partial(_draw, run, tables), side_by_side_size(run, 3.3)
    return Figure("wait-by-size", "Which jobs wait", caption, polars.concat(tables), draw, size)


def _classes(domain: RunDomain) -> polars.DataFrame:
    """Return number and mean wait of started jobs in each class of size and run time that is not empty."""
    ran = domain.jobs.filter(polars.col("start").is_not_null())
    nodes, runs = column(ran, "nodes"), column(ran, "run_s")
    sizes = _sizes(nodes)
    cell = (np.searchsorted(sizes, nodes, "right") - 1) * len(_RUN_FROM)
    cell += np.searchsorted(_RUN_FROM, runs, "right") - 1
    jobs = np.bincount(cell, minlength=len(sizes) * len(_RUN_FROM))
    waited = np.bincount(cell, column(ran, "start") - column(ran, "submit"), len(jobs))
    used = np.flatnonzero(jobs)
    size, run = np.divmod(used, len(_RUN_FROM))
    columns = {
        "nodes_from": sizes[size],
        "nodes_to": np.append(sizes[1:] - 1, domain.nodes)[size],
        "run_from_s": _RUN_FROM[run],
        "run_below_s": polars.Series([*_RUN_FROM[1:].tolist(), None], dtype=polars.Int64)[run],
        "jobs": jobs[used],
        "mean_wait_s": waited[used] / jobs[used],
    }
    return polars.DataFrame(columns).select(polars.lit(domain.name).alias("domain"), polars.all())


def _sizes(nodes: Ints) -> Ints:
    """Return the least sizes, powers of 2, of at most `_MOST_SIZES` classes for all jobs; one class without jobs."""
    if not nodes.size:
        return np.ones(1, np.int64)
    first, last = int(nodes.min()).bit_length() - 1, int(nodes.max()).bit_length() - 1
    step = -(-(last - first + 1) // _MOST_SIZES)
    return 2 ** np.arange(first, last + 1, step, dtype=np.int64)


def _draw(run: Run, tables: list[polars.DataFrame], canvas: Canvas) -> None:
    for (_, axes), table in zip(side_by_side(canvas, run), tables, strict=True):
        if len(table):
            _draw_domain(axes, table)
        else:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "no job started", ha="center", transform=axes.transAxes)


def _draw_domain(axes: Axes, table: polars.DataFrame) -> None:
    """Draw coloured cells: run times from left to right, sizes upwards."""
    sizes = table.select("nodes_from", "nodes_to").unique(maintain_order=True).rows()
    rows = np.searchsorted([least for least, _ in sizes], table["nodes_from"].to_numpy())
    columns = np.searchsorted(_RUN_FROM, table["run_from_s"].to_numpy())
    waits = np.full((len(sizes), len(_RUNS)), np.nan)
    waits[rows, columns] = table["mean_wait_s"].to_numpy()
    shades = matplotlib.colormaps["YlGnBu"]
    axes.pcolormesh(np.ma.masked_invalid(waits), cmap=shades, norm=_COLOURS, edgecolors="white", linewidth=1)
    for row, column_, wait, jobs in zip(rows, columns, table["mean_wait_s"], table["jobs"], strict=True):
        colour = INK if _LUMINANCE @ np.power(shades(_COLOURS(wait))[:3], 2.2) > _EVEN else "white"
        words = f"{_brief(wait)}\n{jobs:,}"
        axes.text(column_ + 0.5, row + 0.5, words, ha="center", va="center", color=colour, fontsize=7)
    axes.set_xticks(np.arange(len(_RUNS)) + 0.5, _RUNS, fontsize=7)
    axes.set_yticks(np.arange(len(sizes)) + 0.5, [_span(*size) for size in sizes], fontsize=8)
    axes.set_xlim(columns.min(), columns.max() + 1)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.set_xlabel("run time")
    axes.set_ylabel("nodes")


def _brief(seconds: float) -> str:
    """Format a duration with about two digits and a unit: there is little room."""
    size, unit = next((size, unit) for least, size, unit in _BRIEF if seconds >= least)
    amount = seconds / size
    return f"{amount:.1f} {unit}" if size >= 3_600 and amount < 9.95 else f"{amount:.0f} {unit}"


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"
