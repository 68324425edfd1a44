"""Figures 3 to 10 of the paper with our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cosched.sim.reports.figures.bars import Panel, Values, grouped_bars
from cosched.sim.reports.figures.figure import Figure
from cosched.sim.reports.figures.style import BLUE, VERMILION, Look
from cosched.sim.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched.sim.studies.tang2011.results import EXTRA, LOSS, SLOWDOWN, SYNC, WAIT, Results
from cosched.sim.studies.tang2011.setup import BASE, LOADS, MACHINES, SCHEMES, SHARES

INTERVALS = "Error bars are 95 % intervals of the mean over replications."
LETTERS = "HH: both hold; HY: Intrepid holds, Eureka yields; YH: the reverse; YY: both yield."
HOURS = 24

AXES = {BY_LOAD: "load of Eureka", BY_SHARE: "paired share of Intrepid's jobs (%)"}
POINTS = {BY_LOAD: LOADS, BY_SHARE: SHARES}
LOCAL = {"local hold": Look(VERMILION, "////"), "local yield": Look(BLUE, "")}


def paper_figures(results: Results, days: float) -> list[Figure]:
    """Return figures 3 to 6, by Eureka's load, and 7 to 10, by the share of paired jobs."""
    found = []
    for first, experiment in ((3, BY_LOAD), (7, BY_SHARE)):
        what = "load of Eureka" if experiment == BY_LOAD else "share of paired jobs"
        found += [
            _overall(
                results, experiment, f"figure-{first:02}", f"Fig. {first}: average wait by {what}", WAIT, "wait (min)"
            ),
            _overall(
                results,
                experiment,
                f"figure-{first + 1:02}",
                f"Fig. {first + 1}: average slowdown by {what}",
                SLOWDOWN,
                SLOWDOWN,
            ),
            _sync(
                results, experiment, f"figure-{first + 2:02}", f"Fig. {first + 2}: sync time of paired jobs by {what}"
            ),
            _loss(
                results, experiment, f"figure-{first + 3:02}", f"Fig. {first + 3}: service units lost by {what}", days
            ),
        ]
    return found


def point_label(experiment: str, point: float) -> str:
    """Format a load as 0.25, a share as 2.5 (%)."""
    return f"{point:g}" if experiment == BY_LOAD else f"{100 * point:g}"


def _overall(results: Results, experiment: str, name: str, title: str, measure: str, label: str) -> Figure:
    panels = [_overall_panel(results, experiment, machine, measure, label) for machine in MACHINES]
    caption = (
        f"Means of all jobs of a machine, the base without coscheduling, and differences to it. {LETTERS} {INTERVALS}"
    )
    return grouped_bars(name, title, caption, panels)


def _overall_panel(results: Results, experiment: str, machine: str, measure: str, label: str) -> Panel:
    points = POINTS[experiment]
    column = f"{machine} {measure}"
    mean = partial(results.mean, experiment)
    return Panel(
        _title(machine),
        f"average {label}",
        AXES[experiment],
        [point_label(experiment, point) for point in points],
        {schemes: [mean(point, schemes, column) for point in points] for schemes in SCHEMES},
        base=[mean(point, BASE, column) for point in points],
        differences={schemes: [mean(point, schemes, column + EXTRA) for point in points] for schemes in SCHEMES},
    )


def _sync(results: Results, experiment: str, name: str, title: str) -> Figure:
    panels = [
        Panel(
            _title(machine),
            "average sync time (min)",
            f"{AXES[experiment]} / scheme of the other machine",
            [label for label, _, _ in _by_remote(experiment)],
            {f"local {word}": _local(results, experiment, machine, letter, SYNC) for word, letter in LETTER.items()},
            looks=LOCAL,
        )
        for machine in MACHINES
    ]
    caption = (
        "From the instant a paired job was ready to its start, in the mean over the paired jobs of a machine; grouped "
        f"by the other machine's scheme. {INTERVALS}"
    )
    return grouped_bars(name, title, caption, panels)


def _loss(results: Results, experiment: str, name: str, title: str, days: float) -> Figure:
    panels = [_loss_panel(results, experiment, machine, days) for machine in MACHINES]
    caption = (
        "Node-hours that holding jobs occupied where the machine holds, and their share of all node-hours in the span. "
        f"{INTERVALS}"
    )
    return grouped_bars(name, title, caption, panels)


def _loss_panel(results: Results, experiment: str, machine: str, days: float) -> Panel:
    values = _local(results, experiment, machine, "H", LOSS)
    nodes = results.mean(experiment, POINTS[experiment][0], BASE, f"{machine} nodes")
    capacity = (nodes.mean if nodes else 1) * days * HOURS
    return Panel(
        _title(machine),
        "lost node-hours",
        f"{AXES[experiment]} / scheme of the other machine",
        [label for label, _, _ in _by_remote(experiment)],
        {"local hold": values},
        second=(100 / capacity, "share of all node-hours (%)"),
        looks=LOCAL,
    )


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
        results.mean(experiment, point, letter + remote if first else remote + letter, f"{machine} {measure}")
        for _, point, remote in _by_remote(experiment)
    ]


def _title(machine: str) -> str:
    return f"({'ab'[MACHINES.index(machine)]}) {machine.capitalize()}"
