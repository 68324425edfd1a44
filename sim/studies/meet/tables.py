"""The study's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from polars import DataFrame

from cosched.sim.results.estimate import signed
from cosched.sim.studies.means import MeansTable, cell
from cosched.sim.studies.measured import BETTER, OPEN, WORSE, Place
from cosched.sim.studies.meet import ideas
from cosched.sim.studies.meet.asked import Figure
from cosched.sim.studies.meet.experiments import BUDGETS, BY_LOAD, LOGS, Experiment
from cosched.sim.studies.meet.measuring import (
    CALLS,
    GAIN,
    HELD,
    IDLE,
    LONGEST,
    LOSERS,
    LOSS,
    MOST_LOST,
    P95,
    P99,
    PAIR_LONGEST,
    PAIR_P95,
    PAIR_WAIT,
    PAIRED_LONGEST,
    PROPOSALS,
    SLOWDOWN,
    SYNC,
    WAIT,
    WINNERS,
)
from cosched.sim.studies.meet.results import Results
from cosched.sim.studies.meet.schemes import BUDGET_ALONE, FEW, MEET, SLOTS_ALONE
from cosched.sim.studies.tang2011.setup import MACHINES
from cosched.sim.sweeps.averages import INTERVAL

OF_PAIRS = (PAIR_WAIT, PAIR_P95, PAIR_LONGEST)
OF_MACHINES = (WAIT, SYNC, HELD)
FAIRNESS = (P95, P99, LONGEST, PAIRED_LONGEST)
BESIDE_BASE = (LOSERS, LOSS, MOST_LOST, WINNERS, GAIN)
CALLED = (CALLS, PROPOSALS)
MEASURES = (*OF_PAIRS, *CALLED)
ALL_OF_MACHINES = (WAIT, SLOWDOWN, *FAIRNESS, SYNC, HELD, IDLE, *BESIDE_BASE)


def means_tables(results: Results) -> Iterator[MeansTable]:
    """Yield the tables of all experiments in their order, the logs in one."""
    logs = [each for each in results.experiments if each.name.startswith(LOGS)]
    for experiment in results.experiments:
        if experiment.name in BUDGETS.values():
            yield _of_budget(results, experiment)
        elif experiment not in logs:
            yield _means(results, experiment.title, [experiment], _usual(experiment))
    if logs:
        yield _means(results, "Real logs", logs, _usual(logs[0]))


def fairness_tables(results: Results) -> Iterator[MeansTable]:
    """Yield who waits longest, what jobs lose and win, idle node-time and calls, by Eureka's load."""
    by_load = [each for each in results.experiments if each.name == BY_LOAD]
    for machine in MACHINES:
        named = [f"{machine} {measure}" for measure in FAIRNESS]
        yield _means(results, f"The longest waits on {machine.capitalize()} (min)", by_load, named, FEW)
    for machine in MACHINES:
        named = [f"{machine} {measure}" for measure in BESIDE_BASE]
        title = f"Jobs without mates on {machine.capitalize()}, beside no coscheduling"
        yield _means(results, title, by_load, named, FEW[1:])
    idle = [f"{machine} {IDLE}" for machine in MACHINES]
    yield _means(results, "Node-time that no job uses while jobs without mates wait (%)", by_load, idle)
    parts = (*FEW[1:], BUDGET_ALONE, SLOTS_ALONE)
    yield _means(results, "Calls between the machines", by_load, CALLED, parts)


def counts_table(results: Results) -> MeansTable:
    """Return how many comparisons are better, open and worse, by experiment and combination."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for each in results.comparisons:
        title = "Real logs" if each.experiment.name.startswith(LOGS) else each.experiment.title
        counts.setdefault((title, each.other), Counter())[each.verdict] += 1
    rows = [[*place, *(str(found[word]) for word in (BETTER, OPEN, WORSE))] for place, found in counts.items()]
    return MeansTable("Comparisons", ["Experiment", "Meet beside", BETTER, OPEN, WORSE], rows)


def averages_table(results: Results) -> DataFrame:
    """Return all means with their own intervals."""
    rows = []
    for experiment in results.experiments:
        measures = [*MEASURES, *(f"{m} {measure}" for measure in ALL_OF_MACHINES for m in experiment.machines)]
        for place in _places(experiment):
            row: dict[str, object] = {"experiment": experiment.name, "point": experiment.label(place[1])}
            row |= {"schemes": place[2], "replications": results.count(place)}
            for measure in measures:
                found = results.mean(place, measure)
                row |= {measure: found and found.mean, measure + INTERVAL: found and found.half}
            rows.append(row)
    return DataFrame(rows, infer_schema_length=None)


def comparisons_table(results: Results) -> DataFrame:
    """Return all comparisons; "half" is the half-width of the simultaneous interval."""
    rows = [
        (
            each.experiment.name,
            each.experiment.label(each.point),
            each.measure,
            each.other,
            each.meet,
            each.rival,
            each.difference.mean,
            each.difference.half,
            each.verdict,
        )
        for each in results.comparisons
    ]
    heads = ["experiment", "point", "measure", "other", "meet", "other's", "difference", "half", "verdict"]
    return DataFrame(rows, schema=heads, orient="row", infer_schema_length=None)


def asked_table(figures: Sequence[Figure]) -> MeansTable:
    """Return the figures asked beside those measured."""
    rows = [[each.what, each.asked, each.measured, each.reached] for each in figures]
    return MeansTable("Asked and measured", ["What", "Asked", "Measured", "Reached"], rows)


def ideas_table(found: Sequence[ideas.Tried]) -> MeansTable:
    """Return the rules that were tried, with their differences from meet."""
    rows = [
        [
            each.rule,
            f"{each.load:g}",
            str(each.months),
            *(signed(each.differences[measure]) for measure in ideas.MEASURES),
        ]
        for each in found
    ]
    head = ["Rule", "Eureka's load", "Months", *(measure[0].upper() + measure[1:] for measure in ideas.MEASURES)]
    return MeansTable("Other rules that were tried", head, rows)


def _usual(experiment: Experiment) -> list[str]:
    return [PAIR_WAIT, PAIR_P95, *(f"{machine} {name}" for name in OF_MACHINES for machine in experiment.machines)]


def _means(
    results: Results,
    title: str,
    experiments: Sequence[Experiment],
    measures: Sequence[str],
    schemes: Sequence[str] | None = None,
) -> MeansTable:
    rows = [
        [experiment.label(place[1]), place[2], *(cell(results.mean(place, measure)) for measure in measures)]
        for experiment in experiments
        for place in _places(experiment)
        if schemes is None or place[2] in schemes
    ]
    head = [experiments[0].axis, "schemes", *measures] if experiments else []
    return MeansTable(title, [name[0].upper() + name[1:] for name in head], rows)


def _of_budget(results: Results, experiment: Experiment) -> MeansTable:
    """Return the means by the budget, with those of 0 and 0.5 from the cases by load, in the same replications."""
    load = next(load for load, name in BUDGETS.items() if name == experiment.name)
    places: dict[float, Place] = {point: (experiment.name, point, MEET) for point in experiment.points}
    places |= {0.0: (BY_LOAD, load, SLOTS_ALONE), 0.5: (BY_LOAD, load, MEET)}
    measures = _usual(experiment)
    rows = [
        [f"{budget:g}", str(results.count(place)), *(cell(results.mean(place, measure)) for measure in measures)]
        for budget, place in sorted(places.items())
    ]
    return MeansTable(experiment.title, ["Budget", "Replications", *measures], rows)


def _places(experiment: Experiment) -> Iterator[Place]:
    for point in experiment.points:
        for schemes in experiment.schemes:
            yield experiment.name, point, schemes
