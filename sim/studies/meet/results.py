"""Means over replications, and differences of meet from the other combinations on the same workloads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.measured import Measured, verdict_of
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
from cosched.sim.studies.tang2011.setup import BASE

# Less of each is better. With meet's parts alone, and without coscheduling, only the waits are compared.
OF_PAIRS = (PAIR_WAIT, PAIR_P95, PAIR_LONGEST)
OF_MACHINES = (WAIT, SLOWDOWN, P99, LONGEST, SYNC, HELD, IDLE)


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
        return verdict_of(self.difference)


@dataclass(frozen=True)
class Results(Measured):
    """The rows of the cases that have measures, and the experiments that they belong to."""

    experiments: Sequence[Experiment]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons of meet, with intervals that hold together: their number corrects each (Bonferroni)."""
        asked = [
            (experiment, point, measure, meet, other)
            for experiment in self.experiments
            for point, measure, meet, other in _compared(experiment)
            if self.comparable((experiment.name, point, meet), (experiment.name, point, other), measure)
        ]
        return [self._compare(*each, len(asked)) for each in asked]

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
