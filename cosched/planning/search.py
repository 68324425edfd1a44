"""The search for machines (Dail et al. 2002, III.B and figure 2): collections of sites, metrics, sizes. Pure.

    for each collection of sites, each metric, each size:
        the candidate is the first `size` machines of the collection by this metric

The best candidate has the least predicted time; of equal ones, the first in this order. Times within 10^-12 of the
least are equal. So a tie goes to fewer sites, to computation before memory and dual, and to fewer machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from cosched.planning.application import Group, Map, Mapper, NoMapError, PerformanceModel, Prediction
from cosched.planning.grid import Machine
from cosched.planning.metrics import METRICS, rankings
from cosched.planning.sites import Site, collections

EQUAL = 1 + 1e-12  # times within this ratio of the least are as good


@dataclass(frozen=True, slots=True)
class Schedule:
    """Machines, their shares, and the predicted time; and by which collection and metric they were found."""

    sites: tuple[Site, ...]
    metric: str | None  # None: a user has chosen
    map: Map
    prediction: Prediction


Told = tuple[tuple[Site, ...], Schedule | str]  # the best schedule of a collection of sites, or why it has none


@dataclass(frozen=True, slots=True)
class Considered:
    """What a search has looked at, and what it has left out for its limit: numbers of candidates and collections."""

    candidates: int
    distinct: int  # candidates with other machines, or in another order, than those before them
    collections: int
    candidates_left_out: int
    collections_left_out: int
    least_left_out: int  # sites of a collection that was left out; 0 if none was


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The machines of a collection by one metric, the best first."""

    sites: tuple[Site, ...]
    metric: str
    machines: tuple[Machine, ...]
    first: int  # from this size on, its first machines are candidates that no other has given before

    @property
    def sizes(self) -> range:
        return range(self.first, len(self.machines) + 1)


class Search:
    """The candidates of a list of sites, whose machines are in the user's order `machines`.

    Whole collections are taken as long as there are at most `most` candidates.
    """

    def __init__(
        self, machines: Group, sites: Sequence[Site], metrics: Sequence[str] = METRICS, most: float = math.inf
    ) -> None:
        values = rankings(machines)
        self._collections: list[list[_Ranked]] = []
        counted, least_left_out = 0, 0
        for collection in collections(sites):
            count = len(metrics) * sum(map(len, collection))
            if counted + count > most:
                least_left_out = len(collection)
                break
            counted += count
            members = set(chain.from_iterable(collection))
            listed = [machine for machine in machines if machine in members]
            by_metric = {name: sorted(listed, key=values[name].__getitem__, reverse=True) for name in metrics}
            self._collections.append(list(_orders(collection, by_metric)))
        everything = (1 << len(sites)) - 1
        candidates = len(metrics) * len(machines) * (1 << len(sites)) // 2  # each machine is in half of all sets
        assert counted == candidates or len(self._collections) < everything
        self.considered = Considered(
            candidates=counted,
            distinct=sum(len(order.sizes) for orders in self._collections for order in orders),
            collections=len(self._collections),
            candidates_left_out=candidates - counted,
            collections_left_out=everything - len(self._collections),
            least_left_out=least_left_out,
        )

    def best(self, model: PerformanceModel, mapper: Mapper) -> Schedule | None:
        """Return the best schedule; None if no candidate has a map."""
        return _Best(model, mapper).of(list(chain.from_iterable(self._collections)))

    def best_of_each(self, model: PerformanceModel, mapper: Mapper) -> list[Told]:
        """Return the best schedule of each collection, or why it has none.

        A collection's candidates are those that have machines of all its sites.
        """
        each: list[Told] = []
        for orders in self._collections:
            best = _Best(model, mapper).of(orders)
            each.append((orders[0].sites, best or why_no_map(mapper, orders[0].machines)))
        return each


def _orders(sites: tuple[Site, ...], by_metric: Mapping[str, Sequence[Machine]]) -> Iterator[_Ranked]:
    """Yield the machines of a collection by each metric, with the sizes that give candidates of their own.

    As long as a site has no machine among the first ones, these are a candidate of a collection before this one.
    """
    site_of = {machine: site for site in sites for machine in site}
    before: list[Sequence[Machine]] = []
    for metric, machines in by_metric.items():
        missing = set(sites)
        of_all_sites = 0
        while missing:
            missing.discard(site_of[machines[of_all_sites]])
            of_all_sites += 1
        alike = max((_alike(machines, others) for others in before), default=0)
        before.append(machines)
        yield _Ranked(sites, metric, tuple(machines), max(of_all_sites, alike + 1))


def _alike(machines: Sequence[Machine], others: Sequence[Machine]) -> int:
    """Return how many machines two orders have in common at their beginnings."""
    pairs = zip(machines, others, strict=True)
    return next((place for place, (one, other) in enumerate(pairs) if one is not other), len(machines))


class _Best:
    """Finds the best of many candidates, and asks the mapper which ones cannot be it."""

    def __init__(self, model: PerformanceModel, mapper: Mapper) -> None:
        self._model = model
        self._mapper = mapper

    def of(self, orders: Sequence[_Ranked]) -> Schedule | None:
        """Return the first candidate whose time is equal to the least one; None if none has a map."""
        improvements = self._improvements(orders)
        if not improvements:
            return None
        _, least = improvements[-1]
        # No time of an order is less than the least one after it: so those before the first equal one are not equal.
        order = next(order for order, time in improvements if time <= least * EQUAL)
        for size in self._mapper.promising(order.machines, order.sizes, least * EQUAL):
            if self._time(order, size) <= least * EQUAL:
                map = self._mapper.map(order.machines[:size])
                return Schedule(order.sites, order.metric, map, self._model.predict(map))
        raise AssertionError("a mapper has left out a candidate that it was asked for")

    def _improvements(self, orders: Sequence[_Ranked]) -> list[tuple[_Ranked, float]]:
        """Return the orders that have a lesser time than all before them, with their least times.

        Of the sizes that may be better than the best one so far, the middle one is tried, until there are none.
        """
        improvements: list[tuple[_Ranked, float]] = []
        least = math.inf
        for order in orders:
            before = least
            sizes = self._better(order, order.sizes, least)
            while sizes:
                size = sizes.pop(len(sizes) // 2)
                if (time := self._time(order, size)) < least:
                    least = time
                    sizes = self._better(order, sizes, least)
            if least < before:
                improvements.append((order, least))
        return improvements

    def _better(self, order: _Ranked, sizes: Sequence[int], least: float) -> list[int]:
        return self._mapper.promising(order.machines, sizes, math.nextafter(least, 0))

    def _time(self, order: _Ranked, size: int) -> float:
        try:
            return self._model.predict(self._mapper.map(order.machines[:size])).time
        except NoMapError:
            return math.inf


def why_no_map(mapper: Mapper, group: Group) -> str:
    """Say why machines have no schedule, nor any of them."""
    try:
        mapper.map(group)
    except NoMapError as error:
        return str(error)
    return "a link is not known"
