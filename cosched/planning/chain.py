"""Puts the machines of a map in an order in which neighbours exchange data. Pure.

Machines of a site stay together, as they are ranked. The sites come in the order for which the exchanges between the
last machine of each and the first of the next take the least time together; of equal ones, in the first by the order of
sites (Dail et al. 2002, IV.A: mappers "re-arrange machine ordering to limit wide-area communication costs").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from cosched.planning.grid import MBIT, Grid, Machine
from cosched.planning.sites import Site

Run = Sequence[Machine]  # machines of one site, as they are ranked
Ends = tuple[str, str]  # what tells apart the links of a run's first and last machine
_EQUAL = 1 + 1e-12  # sums within this ratio are a tie


class Place(NamedTuple):
    """Where a site comes in a chain, as its number in a list, and what its ends exchange with other sites, in s."""

    site: int
    before: float
    after: float


class Chain:
    """Orders machines whose neighbours send each other `size` bytes in each direction."""

    def __init__(self, grid: Grid, sites: Iterable[Site], size: float) -> None:
        self._grid = grid
        self._bits = 8 * size
        self._site_of = {machine: number for number, site in enumerate(sites) for machine in site}
        self._with_end = {grid.end(machine): machine for machine in grid.machines}
        self._seconds: dict[Ends, float] = {}
        self._places: dict[tuple[Ends, ...], tuple[Place, ...]] = {}

    def runs(self, group: Iterable[Machine]) -> list[Run]:
        """Return the machines of each site, in the order of sites."""
        runs: dict[int, list[Machine]] = {}
        for machine in group:
            runs.setdefault(self._site_of[machine], []).append(machine)
        return [runs[site] for site in sorted(runs)]

    def ordered(self, group: Iterable[Machine]) -> list[Machine]:
        """Return the machines of a group in the order of their map."""
        runs = self.runs(group)
        ends = tuple((self._grid.end(run[0]), self._grid.end(run[-1])) for run in runs)
        return [machine for place in self.places(ends) for machine in runs[place.site]]

    def places(self, ends: tuple[Ends, ...]) -> tuple[Place, ...]:
        """Return the order of sites whose runs have these ends."""
        if ends not in self._places:
            path = _least_path([[self._exchange(one, other) for other, _ in ends] for _, one in ends])
            pairs = [(ends[one][1], ends[other][0]) for one, other in pairwise(path)]
            between = [0.0, *(self._exchange(*pair) for pair in pairs), 0.0]
            self._places[ends] = tuple(map(Place, path, between, between[1:]))
        return self._places[ends]

    def end(self, machine: Machine) -> str:
        """Return what tells the links of a machine apart."""
        return self._grid.end(machine)

    def exchange(self, one: Machine, other: Machine) -> float:
        """Return the seconds that an exchange takes, there and back; infinite if a link is not known."""
        return self._exchange(self._grid.end(one), self._grid.end(other))

    def _exchange(self, one: str, other: str) -> float:
        if (one, other) not in self._seconds:
            machines = self._with_end[one], self._with_end[other]
            self._seconds[one, other] = exchange_time(self._grid, *machines, self._bits)
        return self._seconds[one, other]


def exchange_time(grid: Grid, one: Machine, other: Machine, bits: float) -> float:
    """Return the seconds to send `bits` there and as many back; infinite if a link is not known."""
    links = grid.link(one, other), grid.link(other, one)
    return sum(math.inf if link is None else link.latency + bits / (MBIT * link.bandwidth) for link in links)


def _least_path(costs: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Return the path through all places with the least sum of `costs[from][to]`; of equal ones, the first by order.

    Held and Karp 1962: `rest[places][start]` is the least cost from `start` through a set of other places.
    """
    every = range(len(costs))
    rest: list[list[float]] = [[0.0] * len(costs)]
    for places in range(1, 1 << len(costs)):
        inside = [place for place in every if places >> place & 1]
        rest.append([min(costs[start][to] + rest[places ^ 1 << to][to] for to in inside) for start in every])
    path: list[int] = []
    left = (1 << len(costs)) - 1
    while left:
        step = costs[path[-1]] if path else [0.0] * len(costs)
        further = {to: step[to] + rest[left ^ 1 << to][to] for to in every if left >> to & 1}
        least = min(further.values())
        path.append(next(to for to, cost in further.items() if cost <= least * _EQUAL))
        left ^= 1 << path[-1]
    return tuple(path)
