"""How long a job runs on how many nodes, in integers (molding.md, Jobs)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

MILLIONTHS = 10**6


class Downey(NamedTuple):
    """A curve of Downey's model, in millionths: the average parallelism `a`, 1 or more, and its variance `sigma`."""

    a: int
    sigma: int

    @property
    def most(self) -> int:
        """The least size on which the job is as fast as it can be."""
        end = self.a + self.a * self.sigma / Fraction(MILLIONTHS) - self.sigma
        return -(-(2 * self.a - MILLIONTHS if self.sigma <= MILLIONTHS else end) // MILLIONTHS)


def speed_up(curve: Downey, nodes: int) -> Fraction:
    """Return by what factor the job is faster on so many nodes than on one."""
    return Fraction(*_ratio(curve, nodes))


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


def downey_times(curve: Downey, ideal: int, run: int, most: int) -> tuple[int, ...]:
    """Return the run times on 1, 2, ... `most` nodes of a job with this curve that runs for `run` s on `ideal`."""
    top, bottom = _ratio(curve, ideal)
    speeds = (_ratio(curve, nodes) for nodes in range(1, most + 1))
    return tuple(half_up(run * top * slower, bottom * faster) for faster, slower in speeds)


def half_up(top: int, bottom: int) -> int:
    """Return the quotient as whole seconds, at least 1."""
    return max(1, (2 * top + bottom) // (2 * bottom))
