"""What schedulers read of jobs beyond size, time and owner: columns of a CSV log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cosched.schedulers.column import Column
from cosched_sim.workload.jobs import Ints, Values, Workload

if TYPE_CHECKING:  # it reads settings; a look at a trace does without
    from cosched.schedulers.kind import SchedulerKind

Columns = Mapping[str, Values]  # by name, one row a job; UNKNOWN where the log says nothing
# What is stated, and the jobs' sizes -> all that a scheduler wants to know.
Complete = Callable[[Columns, Ints], Columns]


class Reading(NamedTuple):
    """How a scheduler reads a log."""

    columns: Sequence[Column] = ()  # that it reads
    implied: Mapping[str, str] = MappingProxyType({})  # columns that a log need not have, and what jobs then have there
    complete: Complete = lambda columns, _: columns
    adapt: Callable[[Workload, int, int], Workload] = lambda workload, *_: workload  # to so many nodes, with a seed
    size: int | None = None  # the number of nodes, if the scheduler knows it


def reading_of(kind: SchedulerKind, keys: Any) -> Reading:
    """Return how a scheduler of this kind, with these keys of its domain, reads a log."""
    complete, adapt = partial(kind.complete, keys), partial(kind.adapted, keys)
    return Reading(kind.columns(), kind.implied, complete, adapt, kind.size(keys))


def least_nodes(ideal: Ints, stated: Ints, share: Fraction) -> Ints:
    """Return the fewest nodes on which each job runs: as stated; where nothing is, a share of `ideal`, half up."""
    top, bottom = share.numerator, share.denominator
    sizes, place = np.unique(ideal, return_inverse=True)
    least = [max(1, (2 * size * top + bottom) // (2 * bottom)) for size in sizes.tolist()]
    return np.where(stated > 0, stated, np.array(least, np.int64)[place])


def taken(columns: Columns, rows: Any) -> Columns:
    """Return these rows of all columns."""
    return {name: column[rows] for name, column in columns.items()}
