"""What a job says of itself beside its size and time, and what a running one predicts, as its record says."""

from __future__ import annotations

import json
from collections.abc import Mapping

from cosched.schedulers.column import LEAST_NODES
from cosched.service.store import JobRecord

APPLICATION, PROBLEM_SIZE = "application", "problem_size"  # what it runs, where the domain chooses nodes for that
QUEUE = "queue"  # of a batch system, or its partition
NODELIST = "nodelist"  # and on which nodes it must run, joined by commas: of any scheduler that gives nodes by name
OF_NODES = frozenset({NODELIST, APPLICATION, PROBLEM_SIZE})  # what a domain reads, whatever its scheduler does


def said_of(record: JobRecord) -> Mapping[str, str]:
    """Return what the job says, by `Column.asked`; empty: nothing."""
    said: Mapping[str, str] = {} if record.columns is None else json.loads(record.columns)
    return said


def names_in(columns: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of nodes that a job must have, by its columns; empty: any will do."""
    return tuple(filter(None, columns.get(NODELIST, "").split(",")))


def is_sized(record: JobRecord) -> bool:
    """Return whether the size of the job may change while it runs."""
    return LEAST_NODES in said_of(record)


def least_of(record: JobRecord) -> int:
    """Return the fewest nodes on which the job runs."""
    return int(said_of(record).get(LEAST_NODES, record.nodes))
