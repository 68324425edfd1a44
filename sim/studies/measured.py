"""What the cases of a study measured, by place: means over replications, and differences on the same workloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from polars import DataFrame, col

from cosched.sim.results.estimate import Estimate, estimate
from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.sweeps.case import ERROR

LEAST = 5  # replications of a comparison: with fewer, intervals that hold together would show nothing
BETTER, OPEN, WORSE = "better", "open", "worse"

Place = tuple[str, float, str]  # experiment, point, schemes
Values = Mapping[int, float]  # by replication


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

    def greatest(self, place: Place, measure: str) -> float | None:
        """Return the greatest value over the replications."""
        return max(self.values(place, measure).values(), default=None)

    def difference(self, first: Place, second: Place, measure: str, intervals: int = 1) -> Estimate | None:
        """Return how much more the first place has, on the same workloads, as one of so many intervals."""
        one, other = self.values(first, measure), self.values(second, measure)
        differences = [one[number] - other[number] for number in one if number in other]
        return estimate(differences, intervals) if differences else None

    def comparable(self, first: Place, second: Place, measure: str) -> bool:
        """Whether enough replications have the measure at both places."""
        return len(self.values(first, measure).keys() & self.values(second, measure).keys()) >= LEAST


def verdict_of(difference: Estimate) -> str:
    """Whether the first has less (better) or more (worse), or the interval leaves it open."""
    if difference.high < 0:
        return BETTER
    return WORSE if difference.low > 0 else OPEN
