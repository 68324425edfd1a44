"""What the cases of a study measured, by place: means over replications, and differences on the same workloads.

Of two places one is better or worse if the interval of their difference leaves out 0, and else it is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TypeVar

from polars import DataFrame, col

from cosched_sim.results.estimate import Estimate, estimate, ratio_of_means
from cosched_sim.studies.cases import LABELS
from cosched_sim.studies.verdicts import LEAST, OPEN, Named
from cosched_sim.sweeps.case import ERROR

T = TypeVar("T")
UNDECIDED = f"**Nothing is decided:** comparisons need at least {LEAST} replications."
BETTER, WORSE = "better", "worse"

Place = tuple[str, float, str]  # experiment, point, schemes
Of = tuple[Place, str]  # a place and a measure
Many = Of | list[Of]  # several mean their mean in each replication
Values = Mapping[int, float]  # by replication


def verdict_of(difference: Estimate) -> str:
    """Return whether the first has less (better) or more (worse), or the interval leaves it open."""
    if difference.high < 0:
        return BETTER
    return WORSE if difference.low > 0 else OPEN


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much more of a measure one place has than another of the same jobs; less of every measure is better.

    `mean` and `rival` are the means of both. The interval of `alone` has 95 % by itself; those of all `difference`s
    of a study hold together.
    """

    place: Place
    other: Place
    measure: str
    mean: Estimate
    rival: Estimate
    alone: Estimate
    difference: Estimate

    @property
    def verdict(self) -> str:
        """Whether the first place is better or worse, by the simultaneous intervals."""
        return verdict_of(self.difference)


def grouped(compared: Iterable[Comparison], name: Callable[[Comparison], T]) -> dict[T, list[Comparison]]:
    """Return comparisons by their name."""
    found: dict[T, list[Comparison]] = {}
    for each in compared:
        found.setdefault(name(each), []).append(each)
    return found


@dataclass(frozen=True)
class Measured:
    """The rows of the cases that have measures."""

    rows: DataFrame

    @property
    def failed(self) -> int:
        """The number of cases without measures."""
        return int(self.rows[ERROR].is_not_null().sum())

    @cached_property
    def _by_place(self) -> dict[Place, DataFrame]:
        good = self.rows.filter(col(ERROR).is_null())
        parts = good.partition_by(LABELS[:3], as_dict=True)
        return {(str(place[0]), float(place[1]), str(place[2])): part for place, part in parts.items()}

    def values(self, place: Place, measure: str) -> Values:
        """Return a measure by replication, without those that lack it."""
        part = self._by_place.get(place)
        if part is None or measure not in part.columns:
            return {}
        pairs = zip(part["replication"], part[measure], strict=True)
        return {number: float(value) for number, value in pairs if value is not None}

    def over(self, of: Many) -> Values:
        """Return a measure by replication, or the mean of several in each replication that has all."""
        found = [self.values(*each) for each in (of if isinstance(of, list) else [of])]
        return {n: fmean(each[n] for each in found) for n in found[0] if all(n in each for each in found)}

    def count(self, place: Place) -> int:
        """Return how many replications a place has."""
        part = self._by_place.get(place)
        return 0 if part is None else len(part)

    def mean(self, place: Place, measure: str) -> Estimate | None:
        """Return the mean of a measure with its own 95 % interval; None without values."""
        return average(self, (place, measure))

    def greatest(self, place: Place, measure: str) -> float:
        """Return the greatest value over the replications; 0 without any."""
        return max(self.values(place, measure).values(), default=0.0)

    def total(self, measure: str, places: Iterable[Place]) -> int:
        """Return the sum of a count over all cases of some places."""
        return round(sum(sum(self.values(place, measure).values()) for place in places))

    def difference(self, first: Place, second: Place, measure: str, intervals: int = 1) -> Estimate | None:
        """Return how much more the first place has, on the same workloads, as one of so many intervals."""
        return more(self, (first, measure), (second, measure), intervals=intervals)

    def comparisons(self, asked: Iterable[tuple[Place, Place, str]]) -> list[Comparison]:
        """Compare places by measures, where there are enough replications; Bonferroni's correction is for all."""
        there = [
            (place, other, measure)
            for place, other, measure in asked
            if len(self.values(place, measure).keys() & self.values(other, measure).keys()) >= LEAST
        ]
        return [self._compared(*each, len(there)) for each in there]

    def _compared(self, place: Place, other: Place, measure: str, intervals: int) -> Comparison:
        means = (estimate(list(self.values(each, measure).values())) for each in (place, other))
        differences = [one - two for one, two in pairs(self, (place, measure), (other, measure))]
        return Comparison(place, other, measure, *means, *(estimate(differences, number) for number in (1, intervals)))


def average(found: Measured, of: Many) -> Estimate | None:
    """Return the mean over replications of a measure, or of the mean of several."""
    values = list(found.over(of).values())
    return estimate(values) if values else None


def pairs(found: Measured, one: Many, other: Many) -> list[tuple[float, float]]:
    """Return both measures in each replication; the same replication has the same jobs."""
    first, second = found.over(one), found.over(other)
    return [(first[number], second[number]) for number in first if number in second]


def ratio(found: Measured, one: Many, other: Many) -> Estimate | None:
    """Return the mean of one measure over that of the other."""
    return ratio_of_means(pairs(found, one, other))


def rise(found: Measured, one: Many, other: Many) -> Estimate | None:
    """Return by how many per cent of the other one measure is more."""
    share = ratio(found, one, other)
    return share and share.minus(1).times(100)


def less(found: Measured, one: Many, other: Many) -> Estimate | None:
    """Return by how many per cent of the other one measure is less."""
    more_of = rise(found, one, other)
    return more_of and more_of.times(-1)


def more(found: Measured, one: Many, other: Many, *, intervals: int = 1) -> Estimate | None:
    """Return how much more there is of one measure, as one of so many intervals."""
    differences = [first - second for first, second in pairs(found, one, other)]
    return estimate(differences, intervals) if differences else None


def could_be_most(differences: Mapping[tuple[T, T], Estimate | None]) -> set[T]:
    """Return which of some things may be the greatest, by how much more there is of the first of each two."""
    names = {name for both in differences for name in both}
    return names - {other for (_, other), value in differences.items() if value is not None and value.low > 0}


def differences(found: Measured, lines: Iterable[tuple[str, Many, Many]]) -> list[Named]:
    """Return how much more there is of the first of each two, by their name."""
    return [(name, more(found, one, other)) for name, one, other in lines]
