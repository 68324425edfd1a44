"""Slurm's job states and ends, translated into ours."""

from __future__ import annotations

from enum import Enum

from cosched_adapters.batch_job import SECOND, end_of
from cosched_adapters.manager import End, Ended


class Stage(Enum):
    """The stage of a job, by its state in Slurm."""

    QUEUED = "queued"
    CHOSEN = "chosen"  # it has nodes, and its hook runs or will soon
    RUNNING = "running"
    BETWEEN = "between"  # between two stages; we draw no conclusion
    ENDED = "ended"


_ENDS = {
    "COMPLETED": (End.EXITED, ""),
    "FAILED": (End.EXITED, ""),
    "OUT_OF_MEMORY": (End.SIGNALLED, "it ran out of memory"),
    "TIMEOUT": (End.TIMEOUT, ""),
    "DEADLINE": (End.TIMEOUT, "its deadline was over"),
    "CANCELLED": (End.CANCELLED, ""),
    "PREEMPTED": (End.CANCELLED, "another job took its nodes"),
    "REVOKED": (End.CANCELLED, "another cluster of the federation has started it"),
    "NODE_FAIL": (End.LOST, "a node failed"),
    "BOOT_FAIL": (End.UNSTARTED, "a node could not be booted"),
    "LAUNCH_FAILED": (End.UNSTARTED, "it could not be launched"),
}
_STAGES = {
    **dict.fromkeys(("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"), Stage.QUEUED),
    "CONFIGURING": Stage.CHOSEN,
    **dict.fromkeys(("RUNNING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"), Stage.RUNNING),
    **dict.fromkeys(_ENDS, Stage.ENDED),
}

# Slurm reports these also when it requeues the job, or changes its size: only squeue tells whether it has ended.
UNCERTAIN = {"NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "PREEMPTED", "RESIZING"}


def stage(state: str) -> Stage:
    """Return the stage of a state that squeue shows; BETWEEN for an unknown state."""
    return _STAGES.get(state, Stage.BETWEEN)


def ended(job_id: str, state: str, code: int, signal: int, at: float, started_at: float | None) -> Ended:
    """Return the report of an end; `code` and `signal` are the first process's, times are in seconds since 1970.

    An unknown state counts as lost, to be on the safe side.
    """
    how, reason = _ENDS.get(state, (End.LOST, f"Slurm says {state[:32]!a}"))
    if how is End.EXITED and signal:
        how = End.SIGNALLED
    if started_at is None:
        return Ended(job_id, how, round(at * SECOND), reason=reason)
    return end_of(job_id, how, at, started_at, code, signal or None, reason)
