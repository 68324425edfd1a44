"""Figures 4 to 14 of the paper with our numbers; the text of the paper has no values of its own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from cosched_papers.studies.barsanti2006 import measuring, setup
from cosched_papers.studies.barsanti2006.comparisons import place
from cosched_papers.studies.barsanti2006.measuring import BIN_NAMES, CLASSES, RESPONSE, SHRUNK, SLOWDOWN, WAIT, of_class
from cosched_sim.reports.figures.bars import Panel, Values, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import BLUE, GREY, SKY, VERMILION, Look
from cosched_sim.studies.design import Found

LOOKS: Mapping[str, Look] = {
    setup.TRADITIONAL: Look(GREY, "xxxx"),
    setup.CIRNE_BERMAN: Look(VERMILION, "...."),
    setup.NO_PREDICTION: Look(SKY, "////"),
    setup.SCOJO_P: Look(BLUE),
}
TESTED = tuple(LOOKS)
bars = partial(Panel, looks=LOOKS)
UNITS = {RESPONSE: "response (h)", WAIT: "wait (h)", SLOWDOWN: "bounded slowdown"}
NAMES = {RESPONSE: "mean response times", WAIT: "mean wait times", SLOWDOWN: "mean bounded slowdowns"}
INTERVALS = "Means over replications with 95 % intervals."


def paper_figures(found: Found) -> list[Figure]:
    """Return figures 4 to 14."""
    drawn = [(4 + number, setup.W1, measure, TESTED) for number, measure in enumerate(UNITS)]
    drawn += [(9 + number, setup.W2, measure, TESTED) for number, measure in enumerate(UNITS)]
    drawn += [(13, setup.DOWNEY, RESPONSE, setup.OF_CURVE), (14, setup.DOWNEY, SLOWDOWN, setup.OF_CURVE)]
    figures = [_of_measure(found, *each) for each in drawn]
    figures += [_histograms(found), _adaptations(found, 8, setup.W1), _adaptations(found, 12, setup.W2)]
    return sorted(figures, key=lambda figure: figure.name)


def _series(found: Found, where: str, schedulers: Sequence[str], measures: Sequence[str]) -> dict[str, Values]:
    return {name: [found.mean(place(where, name), measure) for measure in measures] for name in schedulers}


def _of_measure(found: Found, number: int, where: str, measure: str, schedulers: Sequence[str]) -> Figure:
    """Return the means of a measure, apart for what has other magnitudes."""
    panels = []
    for title, groups in (("all, and long jobs", ("", "long")), ("short and medium jobs", ("short", "medium"))):
        series = _series(found, where, schedulers, [of_class(name, measure) for name in groups])
        panels.append(bars(title, UNITS[measure], "jobs", [name or "all" for name in groups], series))
    return grouped_bars(f"figure-{number:02}", f"Fig. {number}: {NAMES[measure]}, {_named(where)}", INTERVALS, panels)


def _histograms(found: Found) -> Figure:
    panels = []
    for name in CLASSES:
        series = _series(found, setup.W1, TESTED, [measuring.bin_of(name, upto) for upto in BIN_NAMES])
        panels.append(bars(f"{name} jobs", "share of the jobs (%)", "response up to", BIN_NAMES, series))
    caption = f"Each bin has the responses above the one before it. {INTERVALS} The bins are ours."
    return grouped_bars("figure-07", f"Fig. 7: response times, {_named(setup.W1)}", caption, panels)


def _adaptations(found: Found, number: int, where: str) -> Figure:
    panels = []
    for how in (SHRUNK, measuring.EXPANDED):
        series = _series(found, where, TESTED[1:], [of_class(name, how) for name in CLASSES])
        panels.append(bars(how, "share of the class (%)", "jobs", CLASSES, series))
    title = f"Fig. {number}: jobs on fewer and on more nodes than N_opt, {_named(where)}"
    return grouped_bars(f"figure-{number:02}", title, INTERVALS, panels)


def _named(where: str) -> str:
    return f"{setup.W1}, Downey's curve" if where == setup.DOWNEY else where
