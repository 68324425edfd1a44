"""How fast jobs are on how many processors, in integers (fluid.md, The work of a job)."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cosched.core.scheduling.primitives.codes import NONE

Ints = NDArray[np.int64]
UNIT = 1 << 38  # the work that a parabolic job does in a second on its ideal number of processors
MAX_RUN, MAX_IDEAL = 1 << 24, 1 << 20  # of parabolic jobs: seconds, processors
MAX_WORK = 1 << 62  # of any job


@cache
def parabolic(ideal: int) -> Ints:
    """Return the speeds on 0, 1, ... `ideal` processors: T(P) = RT (ideal^2 + P^2) / (2 ideal P), rounded up."""
    speeds = [-(-UNIT * 2 * ideal * procs // (ideal**2 + procs**2)) for procs in range(ideal + 1)]
    return np.array(speeds, np.int64)


class Curves:
    """The speeds of all sizes of parabolic jobs, one after the other in one array."""

    def __init__(self) -> None:
        self.speeds = np.zeros(1, np.int64)
        self._begin: dict[int, int] = {}

    def of(self, ideal: Ints, is_parabolic: NDArray[np.bool_]) -> Ints:
        """Return where the speeds of each job begin; NONE: it is linear."""
        for size in np.unique(ideal[is_parabolic]).tolist():
            if size not in self._begin:
                self._begin[size] = len(self.speeds)
                self.speeds = np.concatenate((self.speeds, parabolic(size)))
        begin = [self._begin.get(size, NONE) for size in ideal.tolist()]
        return np.where(is_parabolic, np.array(begin, np.int64), NONE)
