"""One call of an algorithm: which jobs it is to place on which resources, and what it answers.

Jobs of a class are alike, so that tables have a row a class. Times and instants are whole seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cosched_papers.heterogeneous.kernels.placing import CANNOT as CANNOT

Ints = NDArray[np.int64]


class Placement(NamedTuple):
    """A job runs on a resource from `start` to `end`. Resources: machines, then clusters, in the order of the call."""

    job: int
    resource: int
    start: int
    end: int


@dataclass(slots=True)
class Call:
    """`classes`: of each job, in order of submission. Each class can run on some machine.

    `seq`: expected times, one row a class, one column a machine; `par`: one column a cluster. `members`: the machines
    of each cluster, and in `avail` when each is free. Where options are equal, what comes first in order is taken.
    """

    classes: Sequence[int]
    seq: Ints
    par: Ints
    members: Sequence[Ints]
    avail: Ints


def total(placements: Iterable[Placement]) -> int:
    """Return the sum of completions; job times are smaller by the submissions, which no placement changes."""
    return sum(placement.end for placement in placements)
