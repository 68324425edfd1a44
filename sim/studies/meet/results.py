"""Means over replications, and differences of meet from the other combinations on the same workloads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars
from polars import DataFrame

from cosched.sim.reports.estimate import Estimate
from cosched.sim.studies.meet.experiments import Experiment
from cosched.sim.studies.meet.measuring import (
    HELD,
    IDLE,
    LONGEST,
    P99,
    PAIR_LONGEST,
    PAIR_P95,
    PAIR_WAIT,
    SLOWDOWN,
    SYNC,
    WAIT,
)
from cosched.sim.studies.meet.schemes import everybody_meets
from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.studies.tang2011.setup import BASE
from cosched.sim.sweeps.averages import CONFIDENCE
from cosched.sim.sweeps.case import ERROR

LEAST = 5  # replications of a comparison: with fewer, intervals that hold together would show nothing
BETTER, OPEN, WORSE = "better", "open", "worse"

# Less of each is better. With meet's parts alone, and without coscheduling, only the waits are compared.
OF_PAIRS = (PAIR_WAIT, PAIR_P95, PAIR_LONGEST)
OF_MACHINES = (WAIT, SLOWDOWN, P99, LONGEST, SYNC, HELD, IDLE)

Place = tuple[str, float, str]  # experiment, point, schemes
Values = Mapping[int, float]  # by replication


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more of a measure meet has than other schemes, on the same workloads.

    The half-width of `difference` is that of the simultaneous interval; `meet` and `rival` are the means of both.
    """

    experiment: Experiment
    point: float
    measure: str
    other: str
    meet: float
    rival: float
    difference: Estimate

    @property
    def verdict(self) -> str:
        """Whether meet has less (better) or more (worse), or the interval leaves it open."""
        if self.difference.high < 0:
            return BETTER
        return WORSE if self.difference.low > 0 else OPEN


@dataclass(frozen=True)
class Results:
    """The rows of the cases that have measures, and the experiments that they belong to."""

    rows: DataFrame
    experiments: Sequence[Experiment]

    @cached_property
    def _by_place(self) -> dict[Place, DataFrame]:
        good = self.rows.filter(polars.col(ERROR).is_null())
        parts = good.partition_by(LABELS[:3], as_dict=True)
        return {(str(place[0]), float(place[1]), str(place[2])): part for place, part in parts.items()}

    def values(self, place: Place, measure: str) -> Values:
        """Return a measure by replication, without those that lack it."""
        part = self._by_place.get(place)
        if part is None or measure not in part.columns:
            return {}
        pairs = zip(part["replication"], part[measure], strict=True)
        return {number: float(value) for number, value in pairs if value is not None}

    def count(self, place: Place) -> int:
        """Return how many replications a place has."""
        part = self._by_place.get(place)
        return 0 if part is None else len(part)

    def mean(self, place: Place, measure: str) -> Estimate | None:
        """Return the mean of a measure with its own 95 % interval; None without values."""
        values = self.values(place, measure)
        return estimate(list(values.values())) if values else None

    def greatest(self, place: Place, measure: str) -> float | None:
        """Return the greatest value over the replications."""
        return max(self.values(place, measure).values(), default=None)

    def difference(self, first: Place, second: Place, measure: str, intervals: int = 1) -> Estimate | None:
        """Return how much more the first place has, on the same workloads, as one of so many intervals."""
        one, other = self.values(first, measure), self.values(second, measure)
        differences = [one[number] - other[number] for number in one if number in other]
        return estimate(differences, intervals) if differences else None

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons of meet, with intervals that hold together: their number corrects each (Bonferroni)."""
        asked = [
            (experiment, point, measure, meet, other)
            for experiment in self.experiments
            for point, measure, meet, other in _compared(experiment)
            if self._comparable((experiment.name, point, meet), (experiment.name, point, other), measure)
        ]
        return [self._compare(*each, len(asked)) for each in asked]

    def _comparable(self, meet: Place, other: Place, measure: str) -> bool:
        return len(self.values(meet, measure).keys() & self.values(other, measure).keys()) >= LEAST

    def _compare(
        self, experiment: Experiment, point: float, measure: str, meet: str, other: str, intervals: int
    ) -> Comparison:
        places = [(experiment.name, point, schemes) for schemes in (meet, other)]
        difference = self.difference(places[0], places[1], measure, intervals)
        means = [float(np.mean(list(self.values(place, measure).values()))) for place in places]
        assert difference is not None
        return Comparison(experiment, point, measure, other, means[0], means[1], difference)


def measures_of(experiment: Experiment) -> Iterator[str]:
    """Yield what is compared in an experiment."""
    yield from OF_PAIRS
    for measure in OF_MACHINES:
        for machine in experiment.machines:
            yield f"{machine} {measure}"


def of_the_paper(schemes: str) -> bool:
    """Whether all machines hold or yield."""
    return schemes != BASE and set(schemes) <= set("HY")


def _compared(experiment: Experiment) -> Iterator[tuple[float, str, str, str]]:
    """Yield point, measure, meet and the combination that it is compared with."""
    meet = next(filter(everybody_meets, experiment.schemes), None)
    if meet is None:
        return
    waits = (PAIR_WAIT, *(f"{machine} {WAIT}" for machine in experiment.machines))
    for point in experiment.points:
        for other in experiment.schemes:
            if other != meet:
                for measure in measures_of(experiment) if of_the_paper(other) else waits[other == BASE :]:
                    yield point, measure, meet, other


def estimate(values: Sequence[float], intervals: int = 1) -> Estimate:
    """Return a mean and, of two values or more, its interval by Student's t, as one of so many that hold together."""
    if len(values) < 2:
        return Estimate(values[0])
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # quantiles of Student's t

    quantile = float(stdtrit(len(values) - 1, 1 - (1 - CONFIDENCE) / (2 * intervals)))
    return Estimate(float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values)))
