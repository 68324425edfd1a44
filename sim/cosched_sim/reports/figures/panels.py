"""Figures with a panel for each policy domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from cosched_sim.reports.figures.style import Look, TimeAxis
from cosched_sim.reports.run import Run, RunDomain

WIDTH = 8.0  # inches
APART = 0.12  # of an axis: labels that are nearer would touch


def stacked_size(run: Run, height: float = 1.7) -> tuple[float, float]:
    """Return the size of a figure with `stacked` panels; `height` is that of a panel; in inches."""
    return (WIDTH, 0.75 + height * len(run.domains))


def side_by_side_size(run: Run, height: float = 2.6) -> tuple[float, float]:
    """Return the size of a figure with panels `side_by_side`; `height` is that of a panel; in inches."""
    return (WIDTH, 0.6 + height * ((len(run.domains) + 1) // 2))


def time_axis(run: Run) -> TimeAxis:
    """Return the common time axis of all figures of a run."""
    return TimeAxis(run.first, run.last)


def stacked(canvas: Canvas, run: Run) -> Iterator[tuple[RunDomain, Axes]]:
    """Yield a panel for each domain, one above the other; the lowest one shows their common horizontal axis."""
    rows = canvas.subplots(len(run.domains), 1, sharex=True, squeeze=False)
    yield from _titled(run, list(rows[:, 0]))
    canvas.align_ylabels()


def side_by_side(canvas: Canvas, run: Run) -> Iterator[tuple[RunDomain, Axes]]:
    """Yield a panel for each domain, two in a row, each with its own axes."""
    columns = min(2, len(run.domains))
    grid = canvas.subplots(-(-len(run.domains) // columns), columns, squeeze=False)
    panels = list(grid.flat)
    for unused in panels[len(run.domains) :]:
        unused.remove()
    yield from _titled(run, panels)


def _titled(run: Run, panels: Sequence[Axes]) -> Iterator[tuple[RunDomain, Axes]]:
    for domain, axes in zip(run.domains, panels, strict=False):
        axes.set_title(domain.name)
        yield domain, axes


def right_axis(axes: Axes, factor: float, label: str, *, whole: bool = False) -> None:
    """Add a second vertical axis that shows `factor` times the values of the first, which begins at 0.

    One of `whole` things ends with a tick: that is all of them.
    """
    right, most = axes.twinx(), axes.get_ylim()[1] * factor
    right.set_ylim(0, most)
    right.set_ylabel(label)
    right.grid(visible=False)
    right.yaxis.set_major_locator(MaxNLocator(4))
    if whole:
        ticks = MaxNLocator(4, integer=True).tick_values(0, most)
        right.set_yticks([*(tick for tick in ticks if tick <= (1 - APART) * most), round(most)])
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def from_zero(axes: Axes, greatest: float, least_top: float = 1.0) -> None:
    """Let the vertical axis go from 0 to a little above the greatest value, and at least to `least_top`."""
    axes.set_ylim(0, 1.05 * max(greatest, least_top))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def empty(axes: Axes, why: str) -> None:
    """Say in the middle of a panel why nothing is drawn there, and leave out the scale."""
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)
    axes.set_yticks([])


def legend(canvas: Canvas, *handles: Artist) -> None:
    """Add one legend above all panels."""
    canvas.legend(handles=list(handles), loc="outside upper right", ncols=len(handles), borderaxespad=0.2)


def patch(look: Look, label: str) -> Patch:
    """Return the legend's sample of an area or bar."""
    return Patch(**look.bar, label=label)
