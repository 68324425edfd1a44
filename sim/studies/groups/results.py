"""Differences of groups from the same jobs in pairs, from no coscheduling, and of the schemes from each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cosched.sim.results.estimate import Estimate
from cosched.sim.studies.groups.measuring import GROUP_WAIT, HELD, SYNC, WAIT
from cosched.sim.studies.groups.setup import CLASSES, EXPERIMENTS, IN_PAIRS, SCHEMES, Experiment
from cosched.sim.studies.measured import Measured, Place, verdict_of
from cosched.sim.studies.tang2011.setup import BASE

REFERENCE = "YY"  # which the other schemes are compared with


def of_classes(*measures: str) -> Iterator[str]:
    """Yield the columns of measures of the classes of machines."""
    for measure in measures:
        for name in CLASSES:
            yield f"{name} {measure}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more of a measure one place has than another of the same jobs; less of every measure is better.

    The half-width of `difference` is that of the simultaneous interval; `mean` and `rival` are the means of both.
    """

    experiment: Experiment
    point: float
    measure: str
    schemes: str
    other: str
    mean: float
    rival: float
    difference: Estimate

    @property
    def verdict(self) -> str:
        """Whether the first has less (better) or more (worse), or the interval leaves it open."""
        return verdict_of(self.difference)

    @property
    def kind(self) -> str:
        """What is compared: groups beside pairs, beside no coscheduling, or schemes."""
        if self.other.endswith(IN_PAIRS):
            return "the same jobs in pairs"
        return "no coscheduling" if self.other == BASE else REFERENCE


@dataclass(frozen=True)
class Results(Measured):
    """The rows of the cases that have measures."""

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """All comparisons, with intervals that hold together: their number corrects each (Bonferroni)."""
        asked = [
            (experiment, point, *of)
            for experiment in EXPERIMENTS
            for point in experiment.points
            for of in _compared(experiment, point)
            if self.comparable((experiment.name, point, of[1]), (experiment.name, point, of[2]), of[0])
        ]
        return [self._compare(*each, len(asked)) for each in asked]

    def _compare(
        self, experiment: Experiment, point: float, measure: str, schemes: str, other: str, intervals: int
    ) -> Comparison:
        places: list[Place] = [(experiment.name, point, each) for each in (schemes, other)]
        difference = self.difference(places[0], places[1], measure, intervals)
        means = [float(np.mean(list(self.values(place, measure).values()))) for place in places]
        assert difference is not None
        return Comparison(experiment, point, measure, schemes, other, means[0], means[1], difference)

    def total(self, measure: str, schemes: str) -> int:
        """Return the sum of a count over all cases of these schemes."""
        return round(sum(sum(self.values(place, measure).values()) for place in _everywhere(schemes)))

    def means(self, schemes: str, measure: str) -> list[float]:
        """Return the means of a measure at all points."""
        found = (self.mean(place, measure) for place in _everywhere(schemes))
        return [mean.mean for mean in found if mean is not None]

    def mean_difference(self, schemes: str, other: str, measure: str) -> float | None:
        """Return how much more of a measure there is under one combination than another, over all points of both."""
        both = zip(_everywhere(schemes), _everywhere(other), strict=True)
        found = [more.mean for places in both if (more := self.difference(*places, measure)) is not None]
        return float(np.mean(found)) if found else None


def _everywhere(schemes: str) -> Iterator[Place]:
    for experiment in EXPERIMENTS:
        for point in experiment.points:
            yield experiment.name, point, schemes


def _compared(experiment: Experiment, point: float) -> Iterator[tuple[str, str, str]]:
    """Yield a measure, the schemes, and what these are compared with."""
    waits = GROUP_WAIT, *of_classes(WAIT)
    for schemes in SCHEMES:
        for measure in waits[1:]:
            yield measure, schemes, BASE
        if experiment.has_groups(point):
            for measure in (*waits, SYNC, *of_classes(HELD)):
                yield measure, schemes, schemes + IN_PAIRS
        if schemes != REFERENCE:
            for measure in waits:
                yield measure, schemes, REFERENCE
