"""The two forms of a job log: the log as read, and the jobs that one machine can run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched.schedulers.column import UNKNOWN as UNKNOWN

Ints = NDArray[np.int64]
Values = NDArray[Any]  # int64; object, if what a column has is not a whole number
JobIds = NDArray[np.int64] | NDArray[np.str_]

LEAST = "min"  # the column of the fewest nodes (in a TraceLog processors) that a job runs on


def node_seconds(nodes: Ints, seconds: Ints) -> int:
    """Return the exact sum of nodes x seconds, in Python integers if 64 bits might not suffice."""
    if nodes.size == 0:
        return 0
    if float(nodes.max()) * float(seconds.max()) * nodes.size < 2**62:
        return int(nodes @ seconds)
    return sum(n * s for n, s in zip(nodes.tolist(), seconds.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class TraceLog:
    """A job log as read: one row a job in file order, times in seconds, `UNKNOWN` where the log says nothing.

    `allocated` and `requested_procs` count processors; `status` and `user` are the SWF columns 11 and 12.
    `header` holds the facts about the machine that the file states (for SWF its `; Key: value` lines).
    `line` is the line number of each row, for messages. `columns`: what else the log says, for some schedulers.
    `remarks`: what a user should know of how the log was read. `local_times`: the time zone of the times that
    name none; empty if there are no such times.
    """

    source: str
    job_id: JobIds
    submit: Ints
    wait: Ints
    run: Ints
    allocated: Ints
    requested_procs: Ints
    requested_time: Ints
    status: Ints
    user: Ints
    line: Ints
    header: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Values] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    local_times: str = ""

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.job_id)


@dataclass(frozen=True, slots=True)
class Workload:
    """The jobs that one machine can run: one row a job in trace order, whole nodes, seconds, run <= requested.

    `rejected` counts the jobs left out, by reason. `left_out_ids` are their ids: they tell a pair that names such
    a job from one that names an unknown job. `first_rejected_line` is the line of the first job left out, by
    reason. `stated_nodes` is the number of nodes that the log states, if sizes here are its processors. `columns`:
    what the machine's scheduler knows of the jobs beyond that. `remarks`: what a user should know of how the log was
    read, and its jobs adapted to the machine.
    """

    source: str
    job_id: JobIds
    submit: Ints
    run: Ints
    nodes: Ints
    requested: Ints
    rejected: Mapping[str, int] = field(default_factory=dict)
    left_out_ids: frozenset[int | str] = frozenset()
    first_rejected_line: Mapping[str, int] = field(default_factory=dict)
    stated_nodes: int | None = None
    columns: Mapping[str, Values] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.job_id)

    @property
    def least_nodes(self) -> Ints:
        """The fewest nodes that each job runs on; a hold keeps so many."""
        return self.columns.get(LEAST, self.nodes)
