"""The study's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from polars import DataFrame

from cosched.sim.studies.groups.cases import places
from cosched.sim.studies.groups.measuring import (
    APART,
    GAP,
    GROUP_LONGEST,
    GROUP_P95,
    GROUP_WAIT,
    GROUPS,
    HELD,
    LONGEST,
    NEVER,
    OTHERS_NEVER,
    P99,
    SYNC,
    TOGETHER,
    WAIT,
)
from cosched.sim.studies.groups.results import Results, of_classes
from cosched.sim.studies.groups.setup import EXPERIMENTS, Experiment
from cosched.sim.studies.means import MeansTable, cell
from cosched.sim.studies.measured import BETTER, OPEN, WORSE
from cosched.sim.sweeps.averages import INTERVAL

SHOWN = (GROUP_WAIT, GROUP_P95, SYNC, *of_classes(HELD, WAIT))
COUNTS = (GROUPS, TOGETHER, APART, NEVER)
ALL = (
    *COUNTS, GAP, GROUP_WAIT, GROUP_P95, GROUP_LONGEST, SYNC, *of_classes(HELD, WAIT, P99, LONGEST, OTHERS_NEVER)
)  # fmt: skip


def means_tables(results: Results) -> Iterator[MeansTable]:
    """Yield a table of means for each experiment."""
    for experiment in EXPERIMENTS:
        rows = [
            [experiment.label(point), place, *(cell(results.mean((experiment.name, point, place), of)) for of in SHOWN)]
            for point, place in _places(experiment)
        ]
        yield MeansTable(experiment.title, _headed(experiment.axis, "schemes", *SHOWN), rows)


def togetherness_table(results: Results) -> MeansTable:
    """Return how many groups started together, apart and never, over all cases of a combination."""
    rows = [
        [place, *(f"{results.total(measure, place):,}" for measure in COUNTS)]
        for place in places(EXPERIMENTS[-1], EXPERIMENTS[-1].points[-1])
    ]
    return MeansTable("Together, apart, never", ["Schemes", "Groups", "together", "apart", "never"], rows)


def counts_table(results: Results) -> MeansTable:
    """Return how many comparisons are better, open and worse."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for each in results.comparisons:
        counts.setdefault((each.kind, each.schemes, each.measure), Counter())[each.verdict] += 1
    rows = [
        [schemes, kind, measure, *(str(found[word]) for word in (BETTER, OPEN, WORSE))]
        for (kind, schemes, measure), found in sorted(counts.items())
    ]
    return MeansTable("Comparisons", ["Groups under", "Beside", "Measure", BETTER, OPEN, WORSE], rows)


def averages_table(results: Results) -> DataFrame:
    """Return all means with their own intervals."""
    rows = []
    for experiment in EXPERIMENTS:
        for point, schemes in _places(experiment):
            place = experiment.name, point, schemes
            row: dict[str, object] = {"experiment": experiment.name, "point": point, "schemes": schemes}
            row["replications"] = results.count(place)
            for measure in ALL:
                found = results.mean(place, measure)
                row |= {measure: found and found.mean, measure + INTERVAL: found and found.half}
            rows.append(row)
    return DataFrame(rows, infer_schema_length=None)


def comparisons_table(results: Results) -> DataFrame:
    """Return all comparisons; "half" is the half-width of the simultaneous interval."""
    rows = [
        (
            each.experiment.name, each.point, each.measure, each.schemes, each.other, each.mean, each.rival,
            each.difference.mean, each.difference.half, each.verdict,
        )
        for each in results.comparisons
    ]  # fmt: skip
    heads = ["experiment", "point", "measure", "schemes", "other", "mean", "other's", "difference", "half", "verdict"]
    return DataFrame(rows, schema=heads, orient="row", infer_schema_length=None)


def _places(experiment: Experiment) -> Iterator[tuple[float, str]]:
    for point in experiment.points:
        for place in places(experiment, point):
            yield point, place


def _headed(*names: str) -> list[str]:
    return [name[0].upper() + name[1:] for name in names]
