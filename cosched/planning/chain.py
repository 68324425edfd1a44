"""Puts the machines of a map in an order in which neighbours exchange data. Pure.

Machines of a site stay together, as they are ranked. The sites come in an order for which the exchanges between the
last machine of each and the first of the next take the least time together (Dail et al. 2002, IV.A: mappers "re-arrange
machine ordering to limit wide-area communication costs"). Often there are several: where links are by site, each
reversed is one, too. Which machines exchange data with other sites differs, so it is left to the mapper to choose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from cosched.planning.grid import MBIT, Grid, Machine
from cosched.planning.sites import Site

Run = Sequence[Machine]  # machines of one site, as they are ranked
EQUAL = 1 + 1e-12  # sums within this ratio are a tie


class Ends(NamedTuple):
    """A site by its number, and what tells apart the links of the first and the last machine of its run."""

    site: int
    first: str
    last: str


class Place(NamedTuple):
    """A run, by its place in a list, and the seconds that its ends spend on exchanges with other sites."""

    run: int
    before: float
    after: float


Order = tuple[Place, ...]
_Paths = dict[tuple[float, frozenset[tuple[int, float, float]]], tuple[int, ...]]  # runs by number, see Chain._paths


class Chain:
    """Orders machines whose neighbours send each other `size` bytes in each direction."""

    def __init__(self, grid: Grid, sites: Iterable[Site], size: float) -> None:
        self._grid = grid
        self._bits = 8 * size
        self._site_of = {machine: number for number, site in enumerate(sites) for machine in site}
        self._with_end = {grid.end(machine): machine for machine in grid.machines}
        self._seconds: dict[tuple[str, str], float] = {}
        self._numbers: dict[Ends, int] = {}  # of runs: a set of them is a number with these bits
        self._runs: list[Ends] = []  # by number
        self._rest: dict[tuple[int, int | None], float] = {}
        self._tied: dict[tuple[int, int | None], _Paths] = {}
        self._orders: dict[tuple[Ends, ...], list[Order]] = {}

    def runs(self, group: Iterable[Machine]) -> list[Run]:
        """Return the machines of each site, in the order of sites."""
        runs: dict[int, list[Machine]] = {}
        for machine in group:
            runs.setdefault(self._site_of[machine], []).append(machine)
        return [runs[site] for site in sorted(runs)]

    def ordered(self, group: Iterable[Machine]) -> list[Machine]:
        """Return the machines of a group in the first of their orders."""
        runs = self.runs(group)
        order = self.orders(tuple(self.ends(run[0], run[-1]) for run in runs))[0]
        return [machine for place in order for machine in runs[place.run]]

    def ends(self, first: Machine, last: Machine) -> Ends:
        """Return what matters for the order of sites of a run with these ends."""
        return Ends(self._site_of[first], self._grid.end(first), self._grid.end(last))

    def orders(self, runs: tuple[Ends, ...]) -> list[Order]:
        """Return the orders with the least sum of sites whose runs have these ends, by the order of sites.

        The runs are in the order of sites. Of orders in which each run spends the same on exchanges, only the first is
        there, and of those that use an unknown link, only the first of all.
        """
        if runs not in self._orders:
            numbers = [self._number(run) for run in runs]
            paths = self._paths(sum(1 << number for number in numbers), None).values()
            self._orders[runs] = [self._placed([numbers.index(number) for number in path], runs) for path in paths]
        return self._orders[runs]

    def _placed(self, path: Sequence[int], runs: Sequence[Ends]) -> Order:
        between = [self._exchange(runs[one].last, runs[other].first) for one, other in pairwise(path)]
        return tuple(map(Place, path, [0.0, *between], [*between, 0.0]))

    def _number(self, run: Ends) -> int:
        if run not in self._numbers:
            self._numbers[run] = len(self._runs)
            self._runs.append(run)
        return self._numbers[run]

    def _further(self, runs: int, start: int | None) -> float:
        """Return the least sum of a path through a set of runs, from another run if any (Held and Karp 1962)."""
        if not runs:
            return 0.0
        if (runs, start) not in self._rest:
            costs = (self._between(start, to) + self._further(runs ^ 1 << to, to) for to in self._members(runs))
            self._rest[runs, start] = min(costs)
        return self._rest[runs, start]

    def _paths(self, runs: int, start: int | None) -> _Paths:
        """Return the paths with the least sum through a set of runs, from another run if any.

        Each is the first by the order of sites of those with its key: what the start exchanges with the next run, and
        what each of the runs does before and after itself.
        """
        if not runs:
            return {(0.0, frozenset()): ()}
        if (runs, start) not in self._tied:
            found: _Paths = {}
            least = self._further(runs, start) * EQUAL
            for to in sorted(self._members(runs), key=self._runs.__getitem__):
                before = self._between(start, to)
                if before + self._further(runs ^ 1 << to, to) <= least and not (found and least == math.inf):
                    for (after, others), path in self._paths(runs ^ 1 << to, to).items():
                        found.setdefault((before, others | {(to, before, after)}), (to, *path))
            self._tied[runs, start] = found
        return self._tied[runs, start]

    def _members(self, runs: int) -> Iterator[int]:
        return (number for number in range(runs.bit_length()) if runs >> number & 1)

    def _between(self, one: int | None, other: int) -> float:
        """Return what the last machine of a run exchanges with the first of another; nothing before the first run."""
        return 0.0 if one is None else self._exchange(self._runs[one].last, self._runs[other].first)

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
