"""Figures 3 to 10 of the paper with our numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from cosched_papers.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched_papers.studies.tang2011.comparisons import statements
from cosched_papers.studies.tang2011.results import EXTRA, LOSS, SLOWDOWN, SYNC, TOGETHER, WAIT, Results
from cosched_papers.studies.tang2011.sensitivity import Sensitivity
from cosched_papers.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES, SHARES
from cosched_sim.reports.figures.bars import Panel, Stated, Values, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import BLUE, VERMILION, Look
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.paper import MEANS
from cosched_sim.studies.study import words_of
from cosched_sim.studies.verdicts import Range

CAPTIONS = words_of(__file__)["captions"]
INTERVALS = "Error bars are 95 % intervals of the mean over replications."
LETTERS = "HH: both hold; HY: Intrepid holds, Eureka yields; YH: the reverse; YY: both yield."
HOURS = 24

AXES = {BY_LOAD: "load of Eureka", BY_SHARE: "paired share of Intrepid's jobs (%)"}
POINTS = {BY_LOAD: LOADS, BY_SHARE: SHARES}
OF_SENSITIVITY = ((WAIT + EXTRA, "extra wait (min)"), (SYNC, "sync time (min)"))
LOCAL = {"local hold": Look(VERMILION, "////"), "local yield": Look(BLUE, "")}


def paper_figures(results: Results, days: float) -> list[Figure]:
    """Return figures 3 to 6, by Eureka's load, and 7 to 10, by the share of paired jobs."""
    found = []
    for first, experiment in ((3, BY_LOAD), (7, BY_SHARE)):
        what = "load of Eureka" if experiment == BY_LOAD else "share of paired jobs"
        names = [(f"figure-{number:02}", f"Fig. {number}: {{}} by {what}") for number in range(first, first + 4)]
        found += [
            _overall(results, experiment, names[0], "average wait", WAIT, "wait (min)"),
            _overall(results, experiment, names[1], "average slowdown", SLOWDOWN, SLOWDOWN),
            _sync(results, experiment, names[2], "sync time of paired jobs"),
            _loss(results, experiment, names[3], "service units lost", days),
        ]
    return found


def point_label(experiment: str, point: float) -> str:
    """Format a load as 0.25, a share as 2.5 (%)."""
    return f"{point:g}" if experiment == BY_LOAD else f"{100 * point:g}"


def _overall(results: Results, experiment: str, name: tuple[str, str], what: str, measure: str, label: str) -> Figure:
    panels = [_overall_panel(results, experiment, machine, measure, label) for machine in MACHINES]
    return grouped_bars(name[0], name[1].format(what), f"{CAPTIONS['overall']} {LETTERS} {INTERVALS}", panels)


def _overall_panel(results: Results, experiment: str, machine: str, measure: str, label: str) -> Panel:
    points = POINTS[experiment]
    column = f"{machine} {measure}"

    def mean(point: float, schemes: str, measure: str) -> Estimate | None:
        return results.mean((experiment, point, schemes), measure)

    return Panel(
        _title(machine),
        f"average {label}",
        AXES[experiment],
        [point_label(experiment, point) for point in points],
        {schemes: [mean(point, schemes, column) for point in points] for schemes in SCHEMES},
        base=[mean(point, BASE, column) for point in points],
        differences={schemes: [mean(point, schemes, column + EXTRA) for point in points] for schemes in SCHEMES},
        paper=list(_stated(experiment, column)),
        paper_differences=list(_stated(experiment, column + EXTRA)),
    )


def _ends(fits: Range) -> tuple[float | None, float | None]:
    low, high = (end if math.isfinite(end) else None for end in (fits.low, fits.high))
    return low, high


def _stated(experiment: str, measure: str) -> Iterator[Stated]:
    """Yield what the paper states of a measure under the combinations of schemes."""
    for each in statements():
        of, _, arguments = each.selected.partition(": ")
        place = arguments.split("; ")
        if place[0] == experiment and place[-1] == measure and place[2] != BASE:
            points = [point_label(experiment, float(point)) for point in place[1].split()]
            if of == MEANS:
                yield from ((point, name, *_ends(each.fits)) for point in points for name in place[2].split())
            elif len(points) == 1:
                yield points[0], None, *_ends(each.fits)


def _sync(results: Results, experiment: str, name: tuple[str, str], what: str) -> Figure:
    panels = []
    for machine in MACHINES:
        series = {f"local {word}": _local(results, experiment, machine, own, SYNC) for word, own in LETTER.items()}
        panels.append(_by_scheme(experiment, machine, "average sync time (min)", series))
    return grouped_bars(name[0], name[1].format(what), f"{CAPTIONS['sync']} {INTERVALS}", panels)


def _loss(results: Results, experiment: str, name: tuple[str, str], what: str, days: float) -> Figure:
    panels = []
    for machine in MACHINES:
        nodes = results.mean((experiment, POINTS[experiment][0], BASE), f"{machine} nodes")
        second = (100 / ((nodes.mean if nodes else 1) * days * HOURS), "share of all node-hours (%)")
        series = {"local hold": _local(results, experiment, machine, "H", LOSS)}
        panels.append(replace(_by_scheme(experiment, machine, "lost node-hours", series), second=second))
    return grouped_bars(name[0], name[1].format(what), f"{CAPTIONS['loss']} {INTERVALS}", panels)


def _by_scheme(experiment: str, machine: str, label: str, series: dict[str, Values]) -> Panel:
    axis, groups = f"{AXES[experiment]} / scheme of the other machine", [name for name, _, _ in _by_remote(experiment)]
    return Panel(_title(machine), label, axis, groups, series, looks=LOCAL)


LETTER = {"hold": "H", "yield": "Y"}


def _by_remote(experiment: str) -> Iterator[tuple[str, float, str]]:
    """Yield the groups of figures 5, 6, 9 and 10: label, point, and the letter of the other machine's scheme."""
    for point in POINTS[experiment]:
        for remote in LETTER.values():
            yield f"{point_label(experiment, point)}/{remote}", point, remote


def _local(results: Results, experiment: str, machine: str, letter: str, measure: str) -> Values:
    """Return a value for each group; `letter` is the machine's own scheme."""
    first = machine == MACHINES[0]
    return [
        results.mean((experiment, point, letter + remote if first else remote + letter), f"{machine} {measure}")
        for _, point, remote in _by_remote(experiment)
    ]


def _title(machine: str) -> str:
    return f"({'ab'[MACHINES.index(machine)]}) {machine.capitalize()}"


def sensitivity_figure(results: Results, sensitivity: Sensitivity) -> Figure:
    """Show extra waits and sync times of both machines, and how many pairs start together if some may not."""
    grid = [(f"{machine} {measure}", label) for measure, label in OF_SENSITIVITY for machine in MACHINES]
    panels = [
        _of_sensitivity(results, sensitivity, f"({letter}) {column.partition(' ')[0].capitalize()}", column, label)
        for letter, (column, label) in zip("abcd", grid, strict=True)
    ]
    if sensitivity.splits_pairs:
        panels.append(_of_sensitivity(results, sensitivity, "(e) Pairs", TOGETHER, "pairs that start together (%)"))
    share = sensitivity.share
    where = "At a medium load of Eureka (0.5)" if share is None else f"V-E, {100 * share:g} % of Intrepid's jobs paired"
    caption = f"{where}: {CAPTIONS['sensitivity']} {LETTERS} {INTERVALS}"
    return grouped_bars(f"sensitivity-{sensitivity.name}", sensitivity.title, caption, panels)


def _of_sensitivity(results: Results, of: Sensitivity, title: str, measure: str, label: str) -> Panel:
    series = {name: [results.mean((of.name, at, name), measure) for at in of.points] for name in of.schemes}
    return Panel(title, label, of.axis, [of.label(point) for point in of.points], series)
