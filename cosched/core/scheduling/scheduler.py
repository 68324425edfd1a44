"""What a cluster scheduler is told, and what it says: its settings, its jobs, and those that are ready."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.policies.ordering import Ordering
from cosched.core.scheduling.pools import Partitions
from cosched.core.scheduling.primitives.codes import NONE

WITH_NODES = (JobState.READY, JobState.HOLDING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """A machine of `nodes` nodes and how its queue is scheduled; `partitions` None: a flat pool."""

    nodes: int
    ordering: Ordering
    backfilling: int
    partitions: Partitions | None = None
    wanted_first: bool = True


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """What the scheduler knows of a job; the fields after `state` are kept over a restart."""

    id: JobId
    nodes: int
    requested: int
    submitted: int
    alone: bool  # it has no mate, or coscheduling is off
    state: JobState = JobState.QUEUED
    block: int = NONE  # first unit of its nodes on a partitioned pool
    expected: int = NONE  # when its nodes are expected back
    boost: float = 0.0
    passed_over: int = 0
    wanted_until: int = 0
    released: int = 0


@dataclass(frozen=True, slots=True)
class ReadyJob:
    """A job that was selected; nodes are assigned to it."""

    id: JobId
    nodes: int
    hold_limit: int  # until when a hold may last at most without delaying a reserved job, or FOREVER
