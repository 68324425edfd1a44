"""The Gantt chart as a still picture of the whole replay, for print and for browsers without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import BLUE, INK, SKY, VERMILION, TimeAxis
from cosched_sim.reports.gantt.layout import Layout, Pieces
from cosched_sim.reports.run import Run, RunDomain

# Three similar shades, so that neighbouring jobs can be distinguished.
UNPAIRED = (SKY, "#79C3EE", "#9AD1F2")
PAIRED = (BLUE, "#005C91")
HELD, STRIPE = VERMILION, "#5C2800"
WIDTH, MOST_ROWS = 1600, 400  # pixels of a domain's picture
STRIPES = 10  # pixels between stripes
MOST_OUTLINED = 400  # pieces of jobs

IDLE = {False: "idle", True: "idle, or out of service"}

CAPTION = (
    "Every job as an area of nodes and time. The scheduler counts nodes and does not name them: for this picture they "
    "are given out lowest first, in one piece where there is room."
)


def still(run: Run, layouts: Sequence[Layout]) -> Figure:
    """Return the picture; its table has a row for each rectangle (job_id, state, first_node, nodes, begin, end)."""
    tables = [_table(*both) for both in zip(run.domains, layouts, strict=True)]
    size = 8.0, 0.6 + 2.4 * len(run.domains)
    return Figure("gantt", "Gantt chart", CAPTION, polars.concat(tables), partial(_draw, run, layouts), size)


def _table(domain: RunDomain, layout: Layout) -> polars.DataFrame:
    parts = []
    for state, pieces in (("running", layout.runs), ("held", layout.holds)):
        who = {"domain": domain.name, "job_id": domain.jobs["job_id"].gather(pieces.job), "state": state}
        where = {"first_node": pieces.first, "nodes": pieces.nodes, "begin": pieces.begin, "end": pieces.end}
        parts.append(polars.DataFrame({**who, **where}))
    return polars.concat(parts)


def _draw(run: Run, layouts: Sequence[Layout], canvas: Canvas) -> None:
    axis = TimeAxis(run.first, run.last)
    rows = canvas.subplots(len(run.domains), 1, sharex=True, squeeze=False)[:, 0]
    for axes, domain, layout in zip(rows, run.domains, layouts, strict=True):
        _draw_domain(axes, domain, layout, run, axis)
    axis.label(rows[-1])
    _legend(canvas, run)


def _draw_domain(axes: Axes, domain: RunDomain, layout: Layout, run: Run, axis: TimeAxis) -> None:
    extent = (axis.place(run.first), axis.place(max(run.last, run.first + 1)), 0, domain.nodes)
    axes.imshow(_picture(domain, layout, run), extent=extent, aspect="auto", origin="lower", interpolation="nearest")
    _edge(axes, layout.runs, axis)
    axes.set_title(f"{domain.name} ({domain.nodes:,} nodes)")
    axes.set_ylabel("node")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(visible=False)


def _edge(axes: Axes, pieces: Pieces, axis: TimeAxis) -> None:
    """Outline the pieces if there are few: neighbours can have one shade, as when jobs change their size."""
    if len(pieces.job) > MOST_OUTLINED:
        return
    places = (pieces.first, pieces.nodes, axis.place(pieces.begin), axis.place(pieces.end))
    for first, nodes, begin, end in zip(*(each.tolist() for each in places), strict=True):
        axes.add_patch(Rectangle((begin, first), end - begin, nodes, fill=False, edgecolor="white", linewidth=0.6))


def _picture(domain: RunDomain, layout: Layout, run: Run) -> NDArray[np.uint8]:
    """Return pixels (row, column, RGB); each shows the state of its node at its instant."""
    rows = min(domain.nodes, MOST_ROWS)
    picture = np.full((rows, WIDTH, 3), 255, np.uint8)
    paired = domain.jobs["mate_job_id"].is_not_null().to_numpy()
    kinds = [np.array([_rgb(colour) for colour in tints], np.uint8) for tints in (UNPAIRED, PAIRED)]
    for job, box in _boxes(layout.runs, rows / domain.nodes, run):
        tints = kinds[int(paired[job])]
        picture[box] = tints[job % len(tints)]
    places = np.add.outer(np.arange(rows), -np.arange(WIDTH)) % STRIPES
    held, stripe = (np.array(_rgb(colour), np.uint8) for colour in (HELD, STRIPE))
    stripes = np.where((places < STRIPES // 3)[..., None], stripe, held)
    for _, box in _boxes(layout.holds, rows / domain.nodes, run):
        picture[box] = stripes[box]
    return picture


def _boxes(pieces: Pieces, scale: float, run: Run) -> Iterator[tuple[int, tuple[slice, slice]]]:
    """Yield (job, slices of rows and columns) for each piece that covers at least one pixel."""
    per_second = WIDTH / max(run.last - run.first, 1)
    columns = [np.rint((times - run.first) * per_second).astype(np.int64) for times in (pieces.begin, pieces.end)]
    rows = [np.rint(nodes * scale).astype(np.int64) for nodes in (pieces.first, pieces.first + pieces.nodes)]
    seen = (columns[0] < columns[1]) & (rows[0] < rows[1])
    for job, left, right, low, high in zip(*(a[seen].tolist() for a in (pieces.job, *columns, *rows)), strict=True):
        yield job, (slice(low, high), slice(left, right))


def _rgb(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _legend(canvas: Canvas, run: Run) -> None:
    patches = [
        Patch(facecolor=UNPAIRED[0], label="running"),
        Patch(facecolor=PAIRED[0], label="running, has a mate"),
        Patch(facecolor=HELD, edgecolor=STRIPE, hatch="//////", linewidth=0, label="held"),
        Patch(facecolor="white", edgecolor=INK, linewidth=0.5, label=IDLE[run.has_outages]),
    ]
    canvas.legend(handles=patches, loc="outside upper right", ncols=4)
