"""A figure for each sensitivity."""

from __future__ import annotations

from cosched.sim.reports.figures.bars import Panel, grouped_bars
from cosched.sim.reports.figures.figure import Figure
from cosched.sim.studies.tang2011.figures import INTERVALS, LETTERS
from cosched.sim.studies.tang2011.results import EXTRA, SYNC, TOGETHER, WAIT, Results
from cosched.sim.studies.tang2011.sensitivity import Sensitivity
from cosched.sim.studies.tang2011.setup import MACHINES

PANELS = ((WAIT + EXTRA, "extra wait (min)"), (SYNC, "sync time (min)"))


def sensitivity_figure(results: Results, sensitivity: Sensitivity) -> Figure:
    """Show extra waits and sync times of both machines, and how many pairs start together if some may not."""
    panels = [
        _panel(results, sensitivity, f"({letter}) {machine.capitalize()}", f"{machine} {measure}", label)
        for letter, (machine, (measure, label)) in zip("abcd", _grid(), strict=True)
    ]
    if sensitivity.splits_pairs:
        panels.append(_panel(results, sensitivity, "(e) Pairs", TOGETHER, "pairs that start together (%)"))
    share = sensitivity.share
    where = "At a medium load of Eureka (0.5)" if share is None else f"V-E, {100 * share:g} % of Intrepid's jobs paired"
    caption = (
        f"{where}: the difference of the average wait of all jobs to the base on the same workload, and the sync time "
        f"of paired jobs. {LETTERS} {INTERVALS}"
    )
    return grouped_bars(f"sensitivity-{sensitivity.name}", sensitivity.title, caption, panels)


def _grid() -> list[tuple[str, tuple[str, str]]]:
    return [(machine, panel) for panel in PANELS for machine in MACHINES]


def _panel(results: Results, sensitivity: Sensitivity, title: str, measure: str, label: str) -> Panel:
    return Panel(
        title,
        label,
        sensitivity.axis,
        [sensitivity.label(point) for point in sensitivity.points],
        {
            schemes: [results.mean(sensitivity.name, point, schemes, measure) for point in sensitivity.points]
            for schemes in sensitivity.schemes
        },
    )
