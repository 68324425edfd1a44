"""How long jobs of a class run on a resource, learned from runs that have completed; and what to expect of the next.

Collins and George 2001, section 3: a job class is a set of jobs whose run times on one resource are alike, so that the
runs of each (job class, resource) are counted together. Sums are exact, so that the order of runs does not matter, and
the sums of several resources, owners or queues can be added up. All times are whole seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum
from math import ceil, sqrt
from typing import NamedTuple

EXACT_BITS = 7  # the histogram is exact below 128 s; above, a value is less than a 64th too low
LONGEST = 10**9  # s


class Source(Enum):
    """From what a run time is predicted; the first that is known."""

    RUNS = "runs"  # those of the job class on the resource
    STATED = "stated"  # by the site: a correction; or the file of times, if there are no runs on resources of the kind
    KIND = "kind"  # runs of the job class on resources of the same kind
    REQUESTED = "requested"  # the time that the job asks for


class Pair(NamedTuple):
    """A job class on a resource, which is a machine or a cluster."""

    job_class: str
    resource: str


class _Alike(NamedTuple):
    """A job class on the resources of a kind for which the site's file states the same time, or none."""

    job_class: str
    kind: str
    given: int | None


class Origin(NamedTuple):
    """The owner, job class, resource and queue of runs."""

    job_class: str
    resource: str
    owner: str
    queue: str

    @property
    def pair(self) -> Pair:
        """The job class on the resource."""
        return Pair(self.job_class, self.resource)


class Prediction(NamedTuple):
    """The expected run time. `spread`: the standard deviation of the next run from it; None: fewer than two runs."""

    seconds: int
    source: Source
    runs: int = 0
    spread: float | None = None


@dataclass(slots=True)
class Runs:
    """Completed runs: their number, sum, sum of squares, and histogram (the least value of each class: how many)."""

    count: int = 0
    total: int = 0
    squares: int = 0
    histogram: Counter[int] = field(default_factory=Counter)

    def add(self, seconds: int) -> None:
        """Count one more run."""
        self.count += 1
        self.total += seconds
        self.squares += seconds * seconds
        shift = max(seconds.bit_length() - EXACT_BITS, 0)
        self.histogram[seconds >> shift << shift] += 1

    def include(self, other: Runs) -> None:
        """Count all runs of the other, too."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        self.histogram.update(other.histogram)

    def exclude(self, other: Runs) -> None:
        """Not the runs of the other, which were included."""
        self.count -= other.count
        self.total -= other.total
        self.squares -= other.squares
        self.histogram -= other.histogram

    @property
    def mean(self) -> int:
        """Rounded half up, at least 1; there must be a run."""
        return max(1, (2 * self.total + self.count) // (2 * self.count))

    @property
    def variance(self) -> float | None:
        """The variance of the population that the runs are a sample of, in s²; None: fewer than two runs."""
        if self.count < 2:
            return None
        return (self.count * self.squares - self.total * self.total) / (self.count * (self.count - 1))

    @property
    def spread(self) -> float | None:
        """The standard deviation of the next run from the mean of these, which is itself uncertain."""
        variance = self.variance
        return None if variance is None else sqrt(variance * (1 + 1 / self.count))

    def quantile(self, share: float) -> int:
        """Return the least value that so large a share (0 to 1) of the runs does not exceed; there must be a run."""
        wanted = max(1, ceil(share * self.count))
        for value in sorted(self.histogram):
            wanted -= self.histogram[value]
            if wanted <= 0:
                return value
        raise ValueError("there is no run")


class Changed(NamedTuple):
    """What has changed, as it is now; None: it is gone."""

    runs: dict[Origin, Runs | None]
    stated: dict[Pair, int | None]

    def __bool__(self) -> bool:
        return bool(self.runs or self.stated)


class RunTimes:
    """The run times of one site: those learned, and those that it states."""

    def __init__(self, kinds: Mapping[str, str] | None = None, given: Mapping[Pair, int] | None = None) -> None:
        """`kinds`: of resources by name; those of one kind stand in for each other. The others are of their own.

        `given`: what the site's file states; it is not kept over a restart. Where it states unlike times resources of
        one kind do not stand in for each other.
        """
        self._kinds, self._given = kinds or {}, given or {}
        self._of_a_kind: dict[str, list[str]] = {}  # resources
        for resource, kind in self._kinds.items():
            self._of_a_kind.setdefault(kind, []).append(resource)
        self._runs: dict[Pair, dict[Origin, Runs]] = {}
        self._of_pair: dict[Pair, Runs] = {}
        self._of_kind: dict[_Alike, Runs] = {}
        self._stated: dict[Pair, int] = {}
        self._changed_runs: set[Origin] = set()
        self._changed_stated: set[Pair] = set()
        self.version = 0  # rises whenever a prediction may have changed

    # What is known

    def predict(self, pair: Pair, requested: int) -> Prediction:
        """Return how long a job of the class would run on the resource, if it asks for `requested` seconds."""
        if (runs := self._of_pair.get(pair)) is not None:
            return Prediction(runs.mean, Source.RUNS, runs.count, runs.spread)
        if (stated := self._stated.get(pair)) is not None:
            return Prediction(stated, Source.STATED)
        if (runs := self._of_kind.get(self._kind(pair))) is not None:
            return Prediction(runs.mean, Source.KIND, runs.count, runs.spread)
        if (given := self._given.get(pair)) is not None:
            return Prediction(given, Source.STATED)
        return Prediction(max(1, requested), Source.REQUESTED)

    def pairs(self) -> list[Pair]:
        """Return the pairs with a measured, a stated or a same-kind time, sorted."""
        alike = {pair for kind in self._of_kind for pair in self._pairs_of(kind)}
        return sorted(self._of_pair.keys() | self._stated.keys() | self._given.keys() | alike)

    def alike(self, pair: Pair) -> list[Pair]:
        """Return those that runs of this one say something of, and itself."""
        return [pair, *(other for other in self._pairs_of(self._kind(pair)) if other != pair)]

    def is_impossible(self, pair: Pair) -> bool:
        """Return whether the site's file says where jobs can run, and that they cannot here."""
        return bool(self._given) and pair not in self._given

    def runs(self, pair: Pair) -> Runs:
        """Return the runs of a job class on a resource."""
        return self._of_pair.get(pair, Runs())

    def stated(self, pair: Pair) -> int | None:
        """Return the time that the site states."""
        return self._stated.get(pair, self._given.get(pair))

    def by_origin(self) -> Iterator[tuple[Origin, Runs]]:
        """Return all runs, by their origins."""
        for of_pair in self._runs.values():
            yield from of_pair.items()

    # What is learned, and corrected

    def learn(self, origin: Origin, seconds: int) -> None:
        """Note that a run has completed; it took so long."""
        self._changed_runs.add(origin)
        for runs in self._counted_in(origin):
            runs.add(min(max(seconds, 0), LONGEST))
        self.version += 1

    def state(self, pair: Pair, seconds: int) -> None:
        """Note that the time is to be expected until the next run completes; the runs so far count no more."""
        self.forget(pair)
        self._stated[pair] = seconds

    def replace(self, origin: Origin, runs: Runs) -> None:
        """Note that these are the runs of this origin, learned elsewhere, instead of those that were known."""
        known = self._runs.get(origin.pair, {}).get(origin)
        for counted in self._counted_in(origin):
            if known is not None and counted is not known:
                counted.exclude(known)
        self._runs[origin.pair][origin] = Runs()
        for counted in self._counted_in(origin):
            counted.include(runs)
        self._changed_runs.add(origin)
        self.version += 1

    def forget(self, pair: Pair) -> None:
        """Note that nothing is known of the job class on the resource but what the site's file states."""
        self._changed_runs.update(self._runs.pop(pair, ()))
        self._changed_stated.add(pair)
        self._stated.pop(pair, None)
        if (runs := self._of_pair.pop(pair, None)) is not None:
            kind = self._kind(pair)
            self._of_kind[kind].exclude(runs)
            if not self._of_kind[kind].count:
                del self._of_kind[kind]
        self.version += 1

    # What is kept over a restart

    def recall(self, runs: Iterable[tuple[Origin, Runs]], stated: Iterable[tuple[Pair, int]]) -> None:
        """Take up what `take_changed` told in an earlier life."""
        for origin, known in runs:
            for counted in self._counted_in(origin):
                counted.include(known)
        self._stated.update(stated)
        self.version += 1

    def take_changed(self) -> Changed:
        """Return what has changed of what is kept since the last time."""
        changed = Changed(
            {origin: deepcopy(self._runs.get(origin.pair, {}).get(origin)) for origin in self._changed_runs},
            {pair: self._stated.get(pair) for pair in self._changed_stated},
        )
        self._changed_runs.clear()
        self._changed_stated.clear()
        return changed

    def _counted_in(self, origin: Origin) -> tuple[Runs, Runs, Runs]:
        pair = origin.pair
        return (
            self._runs.setdefault(pair, {}).setdefault(origin, Runs()),
            self._of_pair.setdefault(pair, Runs()),
            self._of_kind.setdefault(self._kind(pair), Runs()),
        )

    def _kind(self, pair: Pair) -> _Alike:
        """A resource without a kind is of its own, which no other name can be."""
        kind = self._kinds.get(pair.resource, f"={pair.resource}")
        return _Alike(pair.job_class, kind, self._given.get(pair))

    def _pairs_of(self, kind: _Alike) -> Iterator[Pair]:
        pairs = (Pair(kind.job_class, resource) for resource in self._of_a_kind.get(kind.kind, ()))
        return (pair for pair in pairs if self._given.get(pair) == kind.given)
