"""Jobs, their states, and the transitions that are legal."""

from __future__ import annotations

from enum import IntEnum


class JobState(IntEnum):
    """The life of a job in its own policy domain; the numbers are those of the kernels' job records."""

    PENDING = 0  # not submitted yet
    QUEUED = 1
    READY = 2  # selected, nodes assigned, its RunJob awaits an answer
    HOLDING = 3  # keeps its nodes and waits for its mate
    RUNNING = 4
    COMPLETED = 5
    FAILED = 6
    CANCELLED = 7

    final: bool  # nothing follows this state

    def __init__(self, number: int) -> None:
        self.final = number >= 5


WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)  # it has not started


class SlotMoves(IntEnum):
    """When the slot of a queued job may become an earlier one; the numbers are those of the kernels' slot records."""

    BY_ITSELF = 0  # if the job itself could be earlier
    WITH_GROUP = 1  # if its group could be, though perhaps not this job
    NEVER = 2


TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.PENDING: frozenset({JobState.QUEUED, JobState.CANCELLED}),
    JobState.QUEUED: frozenset({JobState.READY, JobState.RUNNING, JobState.CANCELLED}),
    JobState.READY: frozenset({JobState.QUEUED, JobState.HOLDING, JobState.RUNNING, JobState.CANCELLED}),
    JobState.HOLDING: frozenset({JobState.QUEUED, JobState.READY, JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset({JobState.QUEUED, JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED}),
    JobState.COMPLETED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}


def may_become(old: JobState, new: JobState) -> bool:
    """Return whether a job in state `old` may enter state `new`."""
    return new in TRANSITIONS[old]
