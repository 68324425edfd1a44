"""How jobs of a log may change their size, where the log does not say it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from cosched.workload.jobs import UNKNOWN, Ints, Malleable


def unknown_malleable(jobs: int) -> Malleable:
    """Return rows of which nothing is known."""
    return Malleable(*(np.full(jobs, UNKNOWN, np.int64) for _ in range(4)))


def as_stated(stated: Malleable, *, parabolic: bool, fixed: int) -> Malleable:
    """Return how jobs change their size: as stated; where nothing is, by this model and at this `fixed` cost."""
    return Malleable(
        stated.least,
        np.where(stated.parabolic == UNKNOWN, int(parabolic), stated.parabolic),
        np.where(stated.fixed == UNKNOWN, fixed, stated.fixed),
        np.maximum(stated.data, 0),
    )


def least_nodes(ideal: Ints, stated: Ints, share: Fraction) -> Ints:
    """Return the fewest nodes on which each job runs: as stated; where nothing is, a share of `ideal`, half up."""
    top, bottom = share.numerator, share.denominator
    sizes, place = np.unique(ideal, return_inverse=True)
    least = [max(1, (2 * size * top + bottom) // (2 * bottom)) for size in sizes.tolist()]
    return np.where(stated > 0, stated, np.array(least, np.int64)[place])
