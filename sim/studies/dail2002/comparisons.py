"""Our numbers beside those of the paper: over the sizes and repetitions of an application on a testbed (table 2)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from cosched.sim.results.estimate import Estimate, estimate
from cosched.sim.studies import paper
from cosched.sim.studies.dail2002.measuring import DEGRADATION
from cosched.sim.studies.dail2002.setup import CASE_STUDY, JACOBI_3, sizes_of
from cosched.sim.studies.design import Found
from cosched.sim.studies.paper import Finder, Statement, read_statements

STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {"std": statistics.pstdev, "min": min, "max": max}


def by_replication(found: Found, name: str, strategy: str, measure: str = DEGRADATION) -> list[float]:
    """Return the means over all sizes, one for each replication that has them all."""
    values = [found.values((name, float(size), strategy), measure) for size in sizes_of(name)]
    return [statistics.fmean(of[number] for of in values) for number in values[0] if all(number in of for of in values)]


def mean_degradation(found: Found, name: str, strategy: str) -> Estimate | None:
    """Return the mean over sizes and replications."""
    values = by_replication(found, name, strategy)
    return estimate(values) if values else None


def more_degraded(found: Found, name: str, one: str, other: str) -> Estimate | None:
    """Return by how much more one strategy is degraded than another, in the same experiments."""
    pairs = zip(by_replication(found, name, one), by_replication(found, name, other), strict=True)
    differences = [first - second for first, second in pairs]
    return estimate(differences) if differences else None


def degradations(found: Found, name: str, strategy: str) -> list[float]:
    """Return those of all experiments."""
    places = ((name, float(size), strategy) for size in sizes_of(name))
    return [value for place in places for value in found.values(place, DEGRADATION).values()]


def case_study(found: Found, strategy: str, measure: str) -> list[float]:
    """Return a measure of the repetitions of IV.D."""
    return list(found.values((JACOBI_3, float(CASE_STUDY), strategy), measure).values())


@cache
def statements() -> list[Statement[Found]]:
    """Return every number of the paper, in its order."""

    def average(found: Found, name: str, strategy: str) -> paper.Found:
        return {"": mean_degradation(found, name, strategy)}

    def statistic(found: Found, which: str, name: str, strategy: str) -> paper.Found:
        values = degradations(found, name, strategy)
        return {"": Estimate(STATISTICS[which](values)) if values else None}

    def in_case(found: Found, strategy: str, measure: str) -> paper.Found:
        values = case_study(found, strategy, measure)
        return {"": estimate(values) if values else None}

    finders: dict[str, Finder] = {"average": average, "statistic": statistic, "case": in_case}
    return read_statements(Path(__file__).with_name("numbers.csv"), finders)
