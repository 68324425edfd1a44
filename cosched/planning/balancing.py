"""Shares units of work among machines so that the last machine ends as early as possible. Pure.

Machine i takes `a_i x_i + c_i` seconds for x_i units, at least one and at most `most_i`. Dail et al. (2002, IV.A) solve
this with lp_solve; it has a closed form.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

_SLIGHTLY_LESS = 1 - 1e-9


class Load(NamedTuple):
    """What units cost on one machine."""

    unit: float  # a: seconds for a unit, above 0
    fixed: float  # c: seconds, whatever its share; infinite if it cannot take part
    most: int  # units that it can hold

    def time(self, units: int) -> float:
        """Return how long it takes for some units."""
        return self.unit * units + self.fixed

    def within(self, limit: float) -> int:
        """Return how many units it can do within a time; 0 if not even one."""
        return units_within(self.unit, self.fixed, self.most, limit)


def units_within(unit: float, fixed: float, most: int, limit: float) -> int:
    """Return the most units with `unit * units + fixed <= limit`, just as these numbers are rounded; 0 if none."""
    if most < 1 or fixed > limit:
        return 0
    if unit * most + fixed <= limit:
        return most
    units = int((limit - fixed) / unit)
    while unit * (units + 1) + fixed <= limit:
        units += 1
    while units > 0 and unit * units + fixed > limit:
        units -= 1
    return units


def least_time(loads: Sequence[Load], units: int) -> float:
    """Return the least T with `a_i x_i + c_i <= T` for real x_i between 1 and most_i whose sum is `units`.

    `len(loads) <= units <= sum(most_i)`; all costs are finite.
    """
    return max(_level(loads, units), max(load.time(1) for load in loads))


def _level(loads: Sequence[Load], units: int) -> float:
    """Return the water level at which the machines, filled like vessels, have `units` together.

    A machine has one unit below the level `a + c`, then more by 1/a for each second, and no more once it is full. So
    their sum is a line between two of these levels; it is solved there.
    """

    def filled(level: float) -> float:
        return sum(
            1.0 if level <= low else most if level >= high else (level - fixed) / unit
            for low, high, unit, fixed, most in vessels
        )

    vessels = [(load.time(1), load.time(load.most), *load) for load in loads]
    levels = sorted({level for low, high, *_ in vessels for level in (low, high)})
    below = bisect_left(levels, float(units), key=filled)
    if below == 0:
        return levels[0]
    low, high = levels[below - 1], levels[min(below, len(levels) - 1)]
    rate = sum(1 / unit for least, most, unit, *_ in vessels if least <= low and most >= high and least < most)
    return min(high, low + max(0.0, units - filled(low)) / rate) if rate else high


def shared(loads: Sequence[Load], units: int) -> list[int]:
    """Return whole shares that end earliest: one unit each, then the earliest ends of further units, ties by order.

    `len(loads) <= units <= sum(most_i)`; all costs are finite.
    """
    level = _level(loads, units) * _SLIGHTLY_LESS
    shares = [max(1, load.within(level)) for load in loads]
    ends = [(load.time(share + 1), place) for place, (load, share) in enumerate(zip(loads, shares, strict=True))]
    ends = [end for end in ends if shares[end[1]] < loads[end[1]].most]
    heapq.heapify(ends)
    for _ in range(units - sum(shares)):
        _, place = ends[0]
        shares[place] += 1
        if shares[place] < loads[place].most:
            heapq.heapreplace(ends, (loads[place].time(shares[place] + 1), place))
        else:
            heapq.heappop(ends)
    return shares


def in_proportion(units: int, weights: Sequence[int]) -> list[int]:
    """Return whole shares in proportion to weights, at least one each; ties by order. `len(weights) <= units`.

    What rounding down leaves goes to the largest remainders.
    """
    whole = sum(weights)
    shares = [max(1, units * weight // whole) for weight in weights]
    places = sorted(range(len(weights)), key=lambda place: -(units * weights[place] % whole))
    for place in places[: max(0, units - sum(shares))]:
        shares[place] += 1
    while sum(shares) > units:  # many had less than one
        shares[shares.index(max(shares))] -= 1
    return shares
