"""How long a job runs on how many nodes, in integers (molding.md, Jobs)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
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


@lru_cache(1 << 16)
def speed_up(curve: Downey, nodes: int) -> Fraction:
    """Return by what factor the job is faster on so many nodes than on one."""
    a, sigma, n = Fraction(curve.a, MILLIONTHS), Fraction(curve.sigma, MILLIONTHS), nodes
    if sigma > 1:
        return n * a * (sigma + 1) / (sigma * (n + a - 1) + a) if n <= a + a * sigma - sigma else a
    if n <= a:
        return a * n / (a + sigma * (n - 1) / 2)
    return a * n / (sigma * (a - Fraction(1, 2)) + n * (1 - sigma / 2)) if n <= 2 * a - 1 else a


def simple_time(ideal: int, run: int, nodes: int) -> int:
    """Return the run time of a job that runs for `run` s on `ideal` nodes: its speed-up is linear between three sizes.

    It is 0.4 ideal on half of `ideal`, 0.65 ideal on `ideal`, and 0.8 ideal on twice as many.
    """
    work = 13 * ideal * run
    return half_up(work, 3 * ideal + 10 * nodes if nodes <= ideal else 10 * ideal + 3 * nodes)


def downey_time(curve: Downey, ideal: int, run: int, nodes: int) -> int:
    """Return the run time of a job with this curve that runs for `run` s on `ideal` nodes."""
    time = run * speed_up(curve, ideal) / speed_up(curve, nodes)
    return half_up(time.numerator, time.denominator)


def half_up(top: int, bottom: int) -> int:
    """Return the quotient as whole seconds, at least 1."""
    return max(1, (2 * top + bottom) // (2 * bottom))
