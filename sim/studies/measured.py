"""What the cases of a study measured, by place: means over replications, and differences on the same workloads.

One logic decides everything. What is said to lie in a range (by a paper, or by what was asked) holds if our means do;
it is open if some do not but their intervals reach it; else it fails. Of two places one is better or worse if the
interval of their difference leaves out 0, and else it is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from polars import DataFrame, col

from cosched.sim.results.estimate import Estimate, estimate, ratio_of_means
from cosched.sim.studies.cases import LABELS
from cosched.sim.sweeps.case import ERROR

LEAST = 5  # replications of a comparison: with fewer, intervals that hold together would show nothing
UNDECIDED = f"**Nothing is decided:** comparisons need at least {LEAST} replications."
BETTER, OPEN, WORSE = "better", "open", "worse"
HOLDS, FAILS = "holds", "fails"
UNKNOWN = "no result"
GOOD = {HOLDS: True, FAILS: False}  # the others are neither

Place = tuple[str, float, str]  # experiment, point, schemes
Of = tuple[Place, str]  # a place and a measure
Values = Mapping[int, float]  # by replication


def in_range(values: Sequence[Estimate], low: float | None, high: float | None) -> str:
    """Whether our means are from `low` to `high` (None: no bound): HOLDS, OPEN, FAILS, or UNKNOWN without any."""
    if not values:
        return UNKNOWN
    if all(_overlaps(value.mean, value.mean, low, high) for value in values):
        return HOLDS
    return OPEN if all(_overlaps(value.low, value.high, low, high) for value in values) else FAILS


def _overlaps(least: float, most: float, low: float | None, high: float | None) -> bool:
    return (high is None or least <= high) and (low is None or most >= low)


def verdict_of(difference: Estimate) -> str:
    """Whether the first has less (better) or more (worse), or the interval leaves it open."""
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
        """Whether the first place is better or worse, by the intervals that hold together."""
        return verdict_of(self.difference)


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

    def count(self, place: Place) -> int:
        """Return how many replications a place has."""
        part = self._by_place.get(place)
        return 0 if part is None else len(part)

    def mean(self, place: Place, measure: str) -> Estimate | None:
        """Return the mean of a measure with its own 95 % interval; None without values."""
        values = self.values(place, measure)
        return estimate(list(values.values())) if values else None

    def greatest(self, place: Place, measure: str) -> float:
        """Return the greatest value over the replications; 0 without any."""
        return max(self.values(place, measure).values(), default=0.0)

    def total(self, measure: str, places: Iterable[Place]) -> int:
        """Return the sum of a count over all cases of some places."""
        return round(sum(sum(self.values(place, measure).values()) for place in places))

    def difference(self, first: Place, second: Place, measure: str, intervals: int = 1) -> Estimate | None:
        """Return how much more the first place has, on the same workloads, as one of so many intervals."""
        one, other = self.values(first, measure), self.values(second, measure)
        differences = [one[number] - other[number] for number in one if number in other]
        return estimate(differences, intervals) if differences else None

    def comparisons(self, asked: Iterable[tuple[Place, Place, str]]) -> list[Comparison]:
        """Compare places by measures, where there are enough replications; the number of all corrects each interval.

        The correction is Bonferroni's.
        """
        there = [
            (place, other, measure)
            for place, other, measure in asked
            if len(self.values(place, measure).keys() & self.values(other, measure).keys()) >= LEAST
        ]
        return [self._compared(*each, len(there)) for each in there]

    def _compared(self, place: Place, other: Place, measure: str, intervals: int) -> Comparison:
        one, two = self.values(place, measure), self.values(other, measure)
        differences = [one[number] - two[number] for number in one if number in two]
        means, both = (estimate(list(values.values())) for values in (one, two)), (1, intervals)
        return Comparison(place, other, measure, *means, *(estimate(differences, number) for number in both))


def pairs(found: Measured, one: Of, other: Of) -> list[tuple[float, float]]:
    """Return both measures in each replication; the same replication has the same jobs."""
    first, second = found.values(*one), found.values(*other)
    return [(first[number], second[number]) for number in first if number in second]


def ratio(found: Measured, one: Of, other: Of) -> Estimate | None:
    """Return the mean of one measure over that of the other."""
    return ratio_of_means(pairs(found, one, other))


def less(found: Measured, one: Of, other: Of) -> Estimate | None:
    """Return by how many per cent of the other one measure is less."""
    share = ratio(found, one, other)
    return None if share is None else Estimate(100 * (1 - share.mean), share.half and 100 * share.half)


def more(found: Measured, one: Of, other: Of) -> Estimate | None:
    """Return how much more there is of one measure."""
    differences = [first - second for first, second in pairs(found, one, other)]
    return estimate(differences) if differences else None
