"""What jobs that are not linear may be, and how fast they are on how many processors (fluid.md, The work of a job)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosched.core.allocation import Table
from cosched_papers.fluid.kernels.speeds import share_of_unit

Ints = NDArray[np.int64]
MAX_RUN, MAX_IDEAL = 1 << 24, 1 << 20  # of jobs that are not linear: seconds, processors
MAX_WORK = 1 << 62  # of any job
MAX_RATIO = 1 << 20  # of the longest time in a table to the shortest
MAX_TIME = 1 << 60  # in a table
BITS_OF_TIMES = 2  # at a time: these leave room for no more


class Curves(NamedTuple):
    """The speeds of all sizes of jobs that have told their times, one job after the other in one array.

    `costs`: beside each speed, the seconds that a resize from this size takes.
    """

    speeds: Ints
    costs: Ints


def told(tables: Iterable[Table]) -> Curves:
    """Return the speeds by these tables: UNIT x the shortest time / the time, rounded up. There may be none."""
    speeds, costs = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for table in tables:
        times = np.array(table.times, np.int64)
        speeds.append(share_of_unit(times.min(), times, BITS_OF_TIMES))
        costs.append(np.array(table.costs, np.int64))
    return Curves(np.concatenate(speeds), np.concatenate(costs))
