"""What a job says of itself beside its size and time, and what a running one predicts, as its record says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cosched.schedulers.kind import SchedulerKind
from cosched.service.domain.predictions import Prediction, as_told, counted
from cosched.service.store import JobRecord
from cosched.workload.column import LEAST_NODES

APPLICATION, PROBLEM_SIZE = "application", "problem_size"  # what it runs, where the domain chooses nodes for that
NODELIST = "nodelist"  # and on which nodes it must run, joined by commas: of any scheduler that gives nodes by name
OF_NODES = frozenset({NODELIST, APPLICATION, PROBLEM_SIZE})  # what a domain reads, whatever its scheduler does


def said_of(record: JobRecord) -> Mapping[str, str]:
    """Return what the job says, by `Column.asked`; empty: nothing."""
    said: Mapping[str, str] = {} if record.columns is None else json.loads(record.columns)
    return said


def columns_of(record: JobRecord, kind: SchedulerKind) -> Any:
    """Return what its scheduler reads of the job; also what a running one predicts of its sizes. ValueError."""
    columns = kind.read(said_of(record))
    return replace(columns, table=counted(told)) if (told := predictions_of(record)) else columns


def nodelist_of(record: JobRecord) -> tuple[str, ...]:
    """Return the names of nodes that the job must have; empty: any will do."""
    return names_in(said_of(record))


def names_in(columns: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of nodes that a job's columns have."""
    return tuple(filter(None, columns.get(NODELIST, "").split(",")))


def predictions_of(record: JobRecord) -> tuple[Prediction, ...]:
    """Return what the job predicts of its sizes, from its least to its ideal; empty: nothing."""
    return () if record.predictions is None else as_told(record.predictions)


def is_sized(record: JobRecord) -> bool:
    """Whether the size of the job may change while it runs."""
    return LEAST_NODES in said_of(record)


def least_of(record: JobRecord) -> int:
    """Return the fewest nodes on which the job runs."""
    return int(said_of(record).get(LEAST_NODES, record.nodes))
