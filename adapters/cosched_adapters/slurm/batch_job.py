"""A job of Slurm that names a mate, as its register keeps it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cosched_adapters import batch_job
from cosched_adapters.batch_system import LoneJob
from cosched_adapters.slurm import comments
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.hook_protocol import Offer
from cosched_adapters.slurm.states import Stage, stage


@dataclass(eq=False, kw_only=True)
class BatchJob(batch_job.BatchJob):
    """A job that names a mate. Its `submitted` and `restarts` are squeue's."""

    appeared: int  # when it was submitted first
    restarts: int  # how often it was requeued
    task: int | None = None  # its number, if it is one of an array
    het: bool = False  # it is a heterogeneous job: its id, and its offer, are those of its first component
    reason: str = ""  # why it waits, by squeue
    expected: int | None = None  # when Slurm's backfilling expects to start it while it waits
    eligible: float = 0.0  # it does not start earlier
    kept_back: float = 0.0  # until when we keep it back
    offer: Offer | None = None  # the latest offer
    hook_disconnected: bool = False  # its hook hung up without an answer; what Slurm does with the job is not known yet
    killed: int | None = None  # the turn (`restarts`) whose hook was killed
    let_go: int | None = None  # the turn whose hook has said that it lets the job start
    given_back: int | None = None  # the turn that it was last told to give up
    told_nodes: int = 0  # how many it has by what was reported last
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # set when something changes

    @property
    def first_submitted(self) -> int:
        """See the class above."""
        return self.appeared


def can_name(row: JobRow) -> bool:
    """Return whether a job can be given a mate now."""
    return stage(row.state) is Stage.QUEUED and row.array is None and not row.is_part


def lone(row: JobRow) -> LoneJob:
    """Return what decides whether a job may be given a mate."""
    return LoneJob(row.user, comments.is_adoptable(row.comment or ""), row.reason.startswith("JobHeld"))
