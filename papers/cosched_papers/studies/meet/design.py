"""The study: what it compares, its tables, and the logs that it cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polars import DataFrame

from cosched.words.quantities import count as counted
from cosched_papers.studies.meet import ideas, measuring
from cosched_papers.studies.meet.asked import figures
from cosched_papers.studies.meet.experiments import BUDGETS, BY_LOAD, LOGS, REQUESTS, experiments, log_folder
from cosched_papers.studies.meet.measuring import HELD, IDLE, LONGEST, P99, PAIR_P95, PAIR_WAIT, SLOWDOWN, SYNC, WAIT
from cosched_papers.studies.meet.schemes import BUDGET_ALONE, FEW, MEET, SLOTS_ALONE, everybody_meets, of_the_paper
from cosched_papers.studies.meet.verdict import values, verdict
from cosched_papers.studies.tang2011.logs import cut_months, read_log, windows_overlap
from cosched_papers.studies.tang2011.setup import BASE, MACHINES
from cosched_sim.reports.figures.bars import Panel, grouped_bars
from cosched_sim.reports.figures.figure import Figure
from cosched_sim.reports.figures.style import GREEN, Look
from cosched_sim.reports.page import Cell, Section, Table
from cosched_sim.studies.design import COLUMNS, Asked, Design, Experiment, Found
from cosched_sim.studies.measured import Place
from cosched_sim.studies.study import Said, Told, seeds, words_of
from cosched_sim.studies.tables import averages_table, comparisons_table, counts_table, headed, means_table
from cosched_sim.studies.verdicts import GOOD

MOST_COUNTED = 5  # replications in which calls are counted, which takes as long again

OF_PAIRS = (PAIR_WAIT, PAIR_P95, measuring.PAIR_LONGEST)
COMPARED = (WAIT, SLOWDOWN, P99, LONGEST, SYNC, HELD, IDLE)  # of each less is better
SHOWN = (WAIT, SYNC, HELD)
FAIRNESS = (measuring.P95, P99, LONGEST, measuring.PAIRED_LONGEST)
BESIDE_BASE = (measuring.LOSERS, measuring.LOSS, measuring.MOST_LOST, measuring.WINNERS, measuring.GAIN)
CALLED = (measuring.CALLS, measuring.PROPOSALS)
ALL_OF_MACHINES = (WAIT, SLOWDOWN, *FAIRNESS, SYNC, HELD, IDLE, *BESIDE_BASE)

WORDS = words_of(__file__)
LOOKS = {MEET: Look(GREEN, "....")}


def describe(said: Said, given: Mapping[str, Any], folder: Path, told: Told) -> Said:
    """Write the windows of each pair of logs, without overlaps, and say which there are; InputError, OSError."""
    further, days = given["further"] or said["replications"], said["days"]
    windows = []
    for number, pair in enumerate(given["logs"], 1):
        told.step(f"cutting the logs of pair {number} ...")
        logs = [read_log("--logs", settings, told.say) for settings in pair]
        count = next(count for count in range(further, 0, -1) if not windows_overlap(logs, count, days))
        months, _ = cut_months(logs, count, days, log_folder(folder, number))
        names = " and ".join(Path(settings["trace"]).name.split(".swf")[0] for settings in pair)
        windows.append({"name": names, "nodes": list(months.nodes), "count": count})
    logs_said = [[dict(settings) for settings in pair] for pair in given["logs"]]
    usual = ("study", "version", "command", "quick", "replications")
    return {**{key: said[key] for key in usual}, "further": further, **said, "logs": logs_said, "windows": windows}


def replications(said: Said) -> str:
    """Say in sentences what was replicated."""
    count, further, days = said["replications"], said["further"], f"{said['days']:g}"
    counts = f"{count} by Eureka's load, {further} of all else" if further != count else f"{count}"
    text = f"Replications: {counts}. Months of {days} days are generated ({seeds(said, count)})."
    if said["windows"]:
        listed = "; ".join(f"{windows['name']}, {counted(windows['count'], 'window')}" for windows in said["windows"])
        text += f" Real logs give windows of the same length, as many as do not overlap, at most {further}: {listed}."
    return text


def compared(experiment: Experiment) -> Asked:
    """Yield what meet is compared by; beside its parts alone, and no coscheduling, only waits."""
    meet = next(filter(everybody_meets, experiment.schemes), None)
    waits = (PAIR_WAIT, *(f"{machine} {WAIT}" for machine in experiment.machines))
    every = (*OF_PAIRS, *(f"{machine} {measure}" for measure in COMPARED for machine in experiment.machines))
    for point in experiment.points if meet else ():
        for other in experiment.schemes:
            if other != meet:
                for measure in every if of_the_paper(other) else waits[other == BASE :]:
                    yield (experiment.name, point, str(meet)), (experiment.name, point, other), measure


def more(experiment: Experiment, place: Place, replication: int) -> tuple[float, bool]:
    """Return how many times the run time users request, and whether calls are counted."""
    return place[1] if place[0] == REQUESTS else 0.0, experiment.name == BY_LOAD and replication <= MOST_COUNTED


def sections(found: Found) -> Iterator[Section]:
    """Yield what was asked, how comparisons came out, means, fairness, and the other rules."""
    rows: list[list[str | Cell]] = [
        [of.what, of.asked, of.measured, Cell(of.reached, GOOD.get(of.reached))] for of in figures(found)
    ]
    asked = Table("Asked and measured", "", ["What", "Asked", "Measured", "Reached"], rows, words=True)
    yield Section(asked.title, WORDS["reached"], tables=[asked])
    counts = counts_table(found.compared, ["Experiment", "Meet beside"], lambda of: (
        "Real logs" if of.place[0].startswith(LOGS) else found.experiment(of.place).title, of.other[2]
    ))  # fmt: skip
    yield Section(counts.title, found.method, tables=[counts])
    yield Section("Means", "", [_figure(found)], list(_means_tables(found)))
    yield Section("Fairness and calls", tables=list(_fairness_tables(found)))
    if tried := ideas.tried(found.said, found):
        table = ideas.table(tried)
        yield Section(table.title, ideas.told(tried), tables=[table])


def _figure(found: Found) -> Figure:
    """Show how long pairs and other jobs wait."""
    shown = {"Pairs": PAIR_WAIT, **{f"Other jobs of {name.capitalize()}": f"{name} {WAIT}" for name in MACHINES}}
    loads, panels = found.experiments[0].points, []
    for title, measure in shown.items():
        waits = {name: [found.mean((BY_LOAD, load, name), measure) for load in loads] for name in FEW}
        panels.append(Panel(title, "wait (min)", "Eureka's load", [f"{load:g}" for load in loads], waits, looks=LOOKS))
    return grouped_bars("waits", "How long pairs and other jobs wait", WORDS["waits"], panels)


def _means_tables(found: Found) -> Iterator[Table]:
    """Yield the tables of all experiments in their order, the logs in one."""
    logs = [each for each in found.experiments if each.name.startswith(LOGS)]
    for experiment in found.experiments:
        if experiment.name in BUDGETS.values():
            yield _of_budget(found, experiment)
        elif experiment not in logs:
            yield _means(found, experiment.title, [experiment], _usual(experiment))
    if logs:
        yield _means(found, "Real logs", logs, _usual(logs[0]))


def _fairness_tables(found: Found) -> Iterator[Table]:
    """Yield who waits longest, what jobs lose and win, idle node-time and calls, by Eureka's load."""
    by_load = found.experiments[:1]
    for title, measures, schemes in (
        ("The longest waits on {} (min)", FAIRNESS, FEW),
        ("Jobs without mates on {}, beside no coscheduling", BESIDE_BASE, FEW[1:]),
    ):
        for machine in MACHINES:
            named = [f"{machine} {measure}" for measure in measures]
            yield _means(found, title.format(machine.capitalize()), by_load, named, schemes)
    idle = [f"{machine} {IDLE}" for machine in MACHINES]
    yield _means(found, "Node-time that no job uses while jobs without mates wait (%)", by_load, idle)
    yield _means(found, "Calls between the machines", by_load, CALLED, (*FEW[1:], BUDGET_ALONE, SLOTS_ALONE))


def _usual(experiment: Experiment) -> list[str]:
    return [PAIR_WAIT, PAIR_P95, *(f"{machine} {name}" for name in SHOWN for machine in experiment.machines)]


def _means(
    found: Found, title: str, of: Sequence[Experiment], measures: Sequence[str], schemes: Sequence[str] | None = None
) -> Table:
    places = (
        ([each.label(place[1]), place[2]], place)
        for each in of
        for place in each.places
        if schemes is None or place[2] in schemes
    )
    return means_table(found, title, headed(of[0].axis, "schemes", *measures), places, measures)


def _of_budget(found: Found, experiment: Experiment) -> Table:
    """Return the means by the budget, with those of 0 and 0.5 from the cases by load, in the same replications."""
    load = next(load for load, name in BUDGETS.items() if name == experiment.name)
    places: dict[float, Place] = {point: (experiment.name, point, MEET) for point in experiment.points}
    places |= {0.0: (BY_LOAD, load, SLOTS_ALONE), 0.5: (BY_LOAD, load, MEET)}
    measures = _usual(experiment)
    named = (([f"{budget:g}", str(found.count(place))], place) for budget, place in sorted(places.items()))
    return means_table(found, experiment.title, ["Budget", "Replications", *measures], named, measures)


def tables(found: Found) -> Iterator[tuple[str, DataFrame]]:
    """Yield all means and comparisons."""
    yield "averages", averages_table(found, (
        ({"experiment": each.name, "point": each.label(place[1]), "schemes": place[2]}, place, _all(each))
        for each, place in found.places
    ))  # fmt: skip
    labelled = {**COLUMNS, "point": lambda of: found.label(of.place), "meet": COLUMNS["mean"]}
    heads = ("experiment", "point", "measure", "other", "meet", "other's", "difference", "half", "verdict")
    yield "comparisons", comparisons_table(found.compared, {head: labelled[head] for head in heads})


def _all(experiment: Experiment) -> Sequence[str]:
    of_machines = (f"{machine} {measure}" for measure in ALL_OF_MACHINES for machine in experiment.machines)
    return [*OF_PAIRS, *CALLED, *of_machines]


WORK = Design(
    words=WORDS, experiments=experiments, measure=measuring.measured, measures=(), compared=compared, values=values,
    verdict=verdict, sections=sections, tables=tables,
    told=lambda found: ["", *(f"{of.what}: {of.measured} ({of.asked}): {of.reached}." for of in figures(found))],
    replicated=replications, more=more, by_experiment=True, describe=describe,
).work  # fmt: skip
