"""How fast jobs are on how many processors, in integers (fluid.md, The work of a job)."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cosched.core.allocation import Table
from cosched.core.scheduling.primitives.codes import NONE

Ints = NDArray[np.int64]
# The work that a job does in a second, a parabolic one on its ideal number of processors, one with a table where it is
# fastest.
UNIT = 1 << 38
MAX_RUN, MAX_IDEAL = 1 << 24, 1 << 20  # of jobs that are not linear: seconds, processors
MAX_WORK = 1 << 62  # of any job
MAX_RATIO = 1 << 20  # of the longest time in a table to the shortest


@cache
def parabolic(ideal: int) -> Ints:
    """Return the speeds on 0, 1, ... `ideal` processors: T(P) = RT (ideal^2 + P^2) / (2 ideal P), rounded up."""
    speeds = [-(-UNIT * 2 * ideal * procs // (ideal**2 + procs**2)) for procs in range(ideal + 1)]
    return np.array(speeds, np.int64)


def tabled(table: Table) -> list[int]:
    """Return the speeds on each size of a table: UNIT x the shortest time / the time, rounded up."""
    shortest = min(table.times)
    return [-(-UNIT * shortest // time) for time in table.times]


class Curves:
    """The speeds of all sizes of jobs that are not linear, one after the other in one array.

    `costs`: beside each speed, the seconds that a resize from this size takes, where a table says so.
    """

    def __init__(self) -> None:
        self.speeds, self.costs = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._begin: dict[int | tuple[int, Table], int] = {}

    def of(self, ideal: Ints, is_parabolic: NDArray[np.bool_]) -> Ints:
        """Return where the speeds of each job begin; NONE: it is linear."""
        for size in np.unique(ideal[is_parabolic]).tolist():
            if size not in self._begin:
                self._begin[size] = self._append(parabolic(size), np.zeros(size + 1, np.int64))
        begin = [self._begin.get(size, NONE) for size in ideal.tolist()]
        return np.where(is_parabolic, np.array(begin, np.int64), NONE)

    def of_table(self, least: int, table: Table) -> int:
        """Return where the speeds of a job with this table begin."""
        if (least, table) not in self._begin:
            speeds, costs = ([0] * least + column for column in (tabled(table), [*table.costs]))
            self._begin[least, table] = self._append(np.array(speeds, np.int64), np.array(costs, np.int64))
        return self._begin[least, table]

    def _append(self, speeds: Ints, costs: Ints) -> int:
        begin = len(self.speeds)
        self.speeds, self.costs = np.concatenate((self.speeds, speeds)), np.concatenate((self.costs, costs))
        return begin
