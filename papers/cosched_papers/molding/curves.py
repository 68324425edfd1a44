"""How long a job runs on how many nodes, in integers (molding.md, Jobs)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:  # a service beside a batch system does without arrays
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

MILLIONTHS = 10**6
NEAR = 1e-13  # more than the relative error of a run time in floating point


class Downey(NamedTuple):
    """A curve of Downey's model, in millionths: the average parallelism `a`, 1 or more, and its variance `sigma`."""

    a: int
    sigma: int

    @property
    def least(self) -> int:
        """It can run on any number of nodes."""
        return 1

    @property
    def most(self) -> int:
        """The least size on which the job is as fast as it can be."""
        end = self.a + self.a * self.sigma / Fraction(MILLIONTHS) - self.sigma
        return -(-(2 * self.a - MILLIONTHS if self.sigma <= MILLIONTHS else end) // MILLIONTHS)

    def speed_up(self, nodes: int) -> Fraction:
        """Return by what factor the job is faster on so many nodes than on one."""
        return Fraction(*_ratio(self, nodes))

    def times(self, ideal: int, run: int, most: int) -> Ints:
        """Return the run times on 1, 2, ... `most` nodes of a job that runs for `run` s on `ideal`.

        They are computed in floating point, and exactly only where that does not tell how they are rounded.
        """
        import numpy as np

        rising = most if self.sigma else min(most, self.a // MILLIONTHS + 1)  # it is as fast on all after these
        seconds = run * float(self.speed_up(ideal)) / _speed_ups(self, np.arange(1, rising + 1))
        found = np.maximum(1, np.floor(seconds + 0.5)).astype(np.int64)
        top, bottom = _ratio(self, ideal)
        doubtful = np.abs(seconds + 0.5 - np.rint(seconds + 0.5)) <= NEAR * (seconds + 1)
        for place in np.flatnonzero(doubtful).tolist():
            faster, slower = _ratio(self, place + 1)
            found[place] = half_up(run * top * slower, bottom * faster)
        return np.append(found, np.full(most - rising, found[-1]))


@dataclass(frozen=True, slots=True)
class Measured:
    """A table of run times on `least`, `least` + 1, ... nodes, in s; none is longer than on fewer nodes."""

    least: int
    seconds: tuple[int, ...]

    @classmethod
    def of(cls, table: Mapping[int, int]) -> Self:
        """Return the table of these sizes and run times; ValueError: a size is missing, or a larger one is slower."""
        sizes = sorted(table)
        for size, following in pairwise(sizes):
            if following > size + 1:
                raise ValueError(f"{size + 1} nodes are missing: give a run time on each of {sizes[0]} to {sizes[-1]}")
            if table[following] > table[size]:
                slower = f"{table[following]} s on {following} nodes are more than {table[size]} s on {size}"
                raise ValueError(f"{slower}: let the table end with {size} nodes")
        return cls(sizes[0], tuple(table[size] for size in sizes))

    @property
    def most(self) -> int:
        """The largest size."""
        return self.least + len(self.seconds) - 1

    def speed_up(self, nodes: int) -> Fraction:
        """Return by what factor the job is faster on so many nodes than on `least`."""
        return Fraction(self.seconds[0], self.seconds[nodes - self.least])

    def times(self, ideal: int, run: int, most: int) -> Ints:
        """See Downey; those below `least`, which the job never has, are that on `least`."""
        import numpy as np

        known = self.seconds[: most - self.least + 1]
        found = np.array([half_up(run * seconds, self.seconds[ideal - self.least]) for seconds in known], np.int64)
        return np.append(np.full(self.least - 1, found[0]), found)


def working_set(curve: Downey | Measured, least: int, most: int) -> int:
    """Return N_PWS: of these sizes the one with the greatest S(n)^2 / n, the smallest of equal ones."""
    return min(range(least, most + 1), key=lambda nodes: (-(curve.speed_up(nodes) ** 2) / nodes, nodes))


def _ratio(curve: Downey, nodes: int) -> tuple[int, int]:
    """Return top and bottom of the speed-up, which nobody has reduced."""
    a, sigma, n = curve.a, curve.sigma, nodes
    if sigma > MILLIONTHS:
        if n * MILLIONTHS**2 <= a * MILLIONTHS + a * sigma - sigma * MILLIONTHS:
            return n * a * (sigma + MILLIONTHS), sigma * ((n - 1) * MILLIONTHS + a) + a * MILLIONTHS
    elif n * MILLIONTHS <= a:
        return 2 * a * n, 2 * a + sigma * (n - 1)
    elif n * MILLIONTHS <= 2 * a - MILLIONTHS:
        return 2 * MILLIONTHS * a * n, sigma * (2 * a - MILLIONTHS) + MILLIONTHS * n * (2 * MILLIONTHS - sigma)
    return a, MILLIONTHS


def _speed_ups(curve: Downey, nodes: Ints) -> Floats:
    """Return the speed-up on each of these numbers of nodes, in floating point; where two cases meet both say so."""
    import numpy as np

    a, sigma = curve.a / MILLIONTHS, curve.sigma / MILLIONTHS
    if sigma > 1:
        return np.where(nodes <= a + a * sigma - sigma, nodes * a * (sigma + 1) / (sigma * (nodes - 1 + a) + a), a)
    low = a * nodes / (a + sigma * (nodes - 1) / 2)
    high = a * nodes / (sigma * (a - 0.5) + nodes * (1 - sigma / 2))
    return np.where(nodes <= a, low, np.where(nodes <= 2 * a - 1, high, a))


def half_up(top: int, bottom: int) -> int:
    """Return the quotient as whole seconds, at least 1."""
    return max(1, (2 * top + bottom) // (2 * bottom))
