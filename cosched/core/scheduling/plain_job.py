"""A job of a scheduler in plain Python, and the states in which it can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.scheduling.scheduler import ClusterJob

QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING


@dataclass(slots=True)
class PlainJob:
    """A job, and what has become of it; instants in s, as in ClusterJob."""

    asked: ClusterJob
    state: JobState  # changed by `_become` alone
    size: int  # the nodes on which it starts
    number: int = 0  # in which order jobs were submitted
    nodes: int = 0  # that it has
    passed_over: int = 0
    released: int = -1
    wanted_until: int = 0
    expected: int = FOREVER
    kept: dict[str, Any] = field(default_factory=dict)  # what others keep of it: plain values

    @property
    def lacks(self) -> int:
        """The nodes that others are to give when it starts."""
        return self.size - self.nodes
