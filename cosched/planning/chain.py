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
_EQUAL = 1 + 1e-12  # sums within this ratio are a tie


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
        self._rest: dict[tuple[int, int], float] = {}
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
        places = self.places(tuple(self.ends(run[0], run[-1]) for run in runs))
        return [machine for place in places for machine in runs[place.run]]

    def ends(self, first: Machine, last: Machine) -> Ends:
        """Return what matters for the order of sites of a run with these ends."""
        return Ends(self._site_of[first], self._grid.end(first), self._grid.end(last))

    def places(self, runs: tuple[Ends, ...]) -> tuple[Place, ...]:
        """Return the order of sites whose runs have these ends; the runs are in the order of sites."""
        if runs not in self._places:
            path = self._least_path(runs)
            between = [self._exchange(runs[one].last, runs[other].first) for one, other in pairwise(path)]
            self._places[runs] = tuple(map(Place, path, [0.0, *between], [*between, 0.0]))
        return self._places[runs]

    def _least_path(self, runs: Sequence[Ends]) -> list[int]:
        """Return the path through all runs, by their places, with the least sum; of equal ones, the first by order."""
        numbers = [self._number(run) for run in runs]
        path: list[int] = []
        left = sum(1 << number for number in numbers)
        while left:
            further = {
                place: self._further(left ^ 1 << number, number)
                + (self._exchange(runs[path[-1]].last, runs[place].first) if path else 0.0)
                for place, number in enumerate(numbers)
                if left >> number & 1
            }
            least = min(further.values())
            path.append(next(place for place, cost in further.items() if cost <= least * _EQUAL))
            left ^= 1 << numbers[path[-1]]
        return path

    def _number(self, run: Ends) -> int:
        if run not in self._numbers:
            self._numbers[run] = len(self._runs)
            self._runs.append(run)
        return self._numbers[run]

    def _further(self, runs: int, start: int) -> float:
        """Return the least sum of a path from a run through a set of others (Held and Karp 1962)."""
        if not runs:
            return 0.0
        if (runs, start) not in self._rest:
            last = self._runs[start].last
            costs, left = [], runs
            while left:
                to = (left & -left).bit_length() - 1
                left &= left - 1
                costs.append(self._exchange(last, self._runs[to].first) + self._further(runs ^ 1 << to, to))
            self._rest[runs, start] = min(costs)
        return self._rest[runs, start]

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
