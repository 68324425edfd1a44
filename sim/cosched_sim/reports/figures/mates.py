"""The figure of gaps between mates: which job of a pair was ready first, and how long before its mate."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.panels import WIDTH, from_zero, patch
from cosched_sim.reports.figures.series import Ints, counts
from cosched_sim.reports.figures.style import BLUE, GREY, ORANGE, Look
from cosched_sim.reports.run import Run, RunDomain

_FIRST, _SECOND, _BOTH = Look(ORANGE), Look(BLUE, "////"), Look(GREY)
_NOBODY = ""  # stands for the domain that was first if both jobs were ready at the same instant
_FROM = (0, 1, 60, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 2**62)  # gaps in seconds
_CLASSES = ("none", "< 1 min", "1–10 min", "10–30 min", "30–60 min", "1–3 h", "3–6 h", "6–12 h", "12–24 h", "> 1 day")


def mates_ready(run: Run) -> bool:
    """Return whether there is a pair whose jobs were both ready at some time."""
    return any(_gaps(first, second)["pairs"].sum() for first, second in combinations(run.domains, 2))


def mates_figure(run: Run) -> Figure:
    """Show the gaps between the instants at which mates were ready, or without coscheduling between their starts."""
    found = [_gaps(first, second) for first, second in combinations(run.domains, 2)]
    tables, pairs = [table for table in found if table["pairs"].sum()], run.summary["pairs"]
    never = f"; {pairs['never']:,} never" if pairs["never"] else ""
    title = "How far apart mates started"
    what = "Pairs by the time between the starts of their two jobs, which nobody coscheduled."
    if run.coscheduled:
        title = "Who waited for whom"
        what = (
            "Pairs by the time between the first instants at which their two jobs could have started: the job that "
            "was ready first waited for its mate at least so long."
        )
    caption = f"{what} {pairs['together']:,} of {pairs['pairs']:,} pairs started together{never}."
    draw, size = partial(_draw, run, tables), (WIDTH, 0.4 + 2.6 * len(tables))
    return Figure("mates", title, caption, polars.concat(tables), draw, size)


def _gaps(first: RunDomain, second: RunDomain) -> polars.DataFrame:
    """Count the pairs of two domains by class of gap and by the domain whose job was ready first."""
    one, other = (domain.jobs.select("pair", "ready").drop_nulls() for domain in (first, second))
    both = one.join(other, on="pair", suffix="_second")
    gaps = (both["ready_second"] - both["ready"]).to_numpy().astype(np.int64)
    edges = np.array(_FROM, np.int64)
    classes = {
        first.name: counts(gaps[gaps > 0], edges),
        second.name: counts(-gaps[gaps < 0], edges),
        _NOBODY: counts(gaps[gaps == 0], edges),
    }
    return polars.concat(_rows((first.name, second.name, earlier), pairs) for earlier, pairs in classes.items())


def _rows(names: tuple[str, str, str], pairs: Ints) -> polars.DataFrame:
    columns = {"gap": _CLASSES, "from_s": _FROM[:-1], "below_s": [*_FROM[1:-1], None], "pairs": pairs}
    labels = ("domain", "mate_domain", "ready_first")
    literals = (polars.lit(name).alias(label) for label, name in zip(labels, names, strict=True))
    return polars.DataFrame(columns).select(*literals, polars.all())


def _draw(run: Run, tables: list[polars.DataFrame], canvas: Canvas) -> None:
    panels = canvas.subplots(len(tables), 1, squeeze=False)[:, 0]
    for axes, table in zip(panels, tables, strict=True):
        _draw_pair(axes, table, "ready" if run.coscheduled else "started")
    panels[-1].set_xlabel(f"time between {'ready' if run.coscheduled else 'start'} times of the two jobs")


def _draw_pair(axes: Axes, table: polars.DataFrame, what: str) -> None:
    """Draw bars for each class: the first domain's job was earlier, or the second's; one bar if neither was."""
    series = table.partition_by("ready_first", maintain_order=True)
    looks = (_FIRST, _SECOND, _BOTH)
    for part, look, left in zip(series, looks, (-0.4, 0.0, -0.2), strict=True):
        shown = part.with_row_index("place").filter(polars.col("pairs") > 0)
        bars = axes.bar(shown["place"].to_numpy() + left, shown["pairs"].to_numpy(), 0.4, align="edge", **look.bar)
        axes.bar_label(bars, fmt="{:,.0f}", fontsize=7.5, padding=1)
    names = [part["ready_first"][0] for part in series]
    labels = (f"{names[0]}'s job {what} first", f"{names[1]}'s job {what} first", "both at the same instant")
    handles = [patch(look, label) for look, label in zip(looks, labels, strict=True)]
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, borderaxespad=0.2)
    axes.set_xticks(range(len(_CLASSES)), _CLASSES)
    axes.set_xlim(-0.6, len(_CLASSES) - 0.4)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("pairs")
    from_zero(axes, 1.07 * int(table["pairs"].to_numpy().max()))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
