"""Our numbers beside those of the paper: over the sizes and repetitions of an application on a testbed (table 2)."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from cosched_papers.studies.dail2002.measuring import DEGRADATION
from cosched_papers.studies.dail2002.setup import CASE_STUDY, JACOBI_3, sizes_of
from cosched_sim.results.estimate import Estimate, Exact, estimate, jackknifed
from cosched_sim.studies import paper
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import Of, average, more
from cosched_sim.studies.paper import Finder, Statement, read_statements

EXTREMES: Mapping[str, Callable[[Iterable[float]], float]] = {"min": min, "max": max}


def over_sizes(name: str, strategy: str, measure: str = DEGRADATION) -> list[Of]:
    """Return where a measure of a strategy is, for all sizes."""
    return [((name, float(size), strategy), measure) for size in sizes_of(name)]


def mean_degradation(found: Found, name: str, strategy: str) -> Estimate | None:
    """Return the mean over sizes and replications."""
    return average(found, over_sizes(name, strategy))


def more_degraded(found: Found, name: str, one: str, other: str) -> Estimate | None:
    """Return by how much more one strategy is degraded than another, in the same experiments."""
    return more(found, *(over_sizes(name, strategy) for strategy in (one, other)))


def degradations(found: Found, name: str, strategy: str) -> dict[int, list[float]]:
    """Return those of all experiments, by replication."""
    values = [found.values(*of) for of in over_sizes(name, strategy)]
    numbers = sorted(set[int]().union(*values))
    return {number: [each[number] for each in values if number in each] for number in numbers}


def spread_of(groups: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of all in some groups."""
    return statistics.pstdev(itertools.chain(*groups))


def case_study(found: Found, strategy: str, measure: str) -> list[float]:
    """Return a measure of the repetitions of IV.D."""
    return list(found.values((JACOBI_3, float(CASE_STUDY), strategy), measure).values())


@cache
def statements() -> list[Statement[Found]]:
    """Return every number of the paper, in its order."""

    def statistic(found: Found, which: str, name: str, strategy: str) -> paper.Found:
        """Return the spread with its interval, or an extreme value, which has none."""
        groups = list(degradations(found, name, strategy).values())
        if not groups:
            return {"": None}
        if which in EXTREMES:
            extreme = EXTREMES[which](itertools.chain(*groups))
            return {"": Estimate(extreme) if extreme else Exact(0)}  # none is below 0
        return {"": jackknifed(groups, spread_of)}

    def in_case(found: Found, strategy: str, measure: str) -> paper.Found:
        values = case_study(found, strategy, measure)
        return {"": estimate(values) if values else None}

    finders: dict[str, Finder] = {
        "average": lambda *of: {"": mean_degradation(*of)}, "statistic": statistic, "case": in_case
    }  # fmt: skip
    return read_statements(__file__, finders)
