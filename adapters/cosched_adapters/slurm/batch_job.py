"""A job of Slurm that names a mate, as its register keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cosched.core.protocol import Named
from cosched_adapters.batch_system import Known, LoneJob
from cosched_adapters.manager import Ended
from cosched_adapters.slurm import comments
from cosched_adapters.slurm.commands import JobRow
from cosched_adapters.slurm.hook_protocol import Offer
from cosched_adapters.slurm.states import SECOND, Stage, stage


class Phase(Enum):
    """Where a job is."""

    QUEUED = "queued"
    CHOSEN = "chosen"  # it had nodes before we knew it; its hook will connect soon, perhaps again
    OFFERED = "offered"  # its hook waits for our answer
    GIVING_BACK = "giving back"  # its hook was told to yield, and Slurm has not requeued it yet
    LET_GO = "let go"  # its hook was told to start it
    RUNNING = "running"
    UNLAUNCHED = "unlaunched"  # its hook was killed: Slurm shows it as running, but never launches it
    ENDED = "ended"


@dataclass
class BatchJob:
    """A job that names a mate. Times are in seconds since 1970, but `changed` is by the event loop's clock."""

    job_id: str
    owner: str
    named: Named | None
    nodes: int
    can_yield: bool
    first_submitted: int
    submitted: int  # by squeue: when it was last submitted or requeued, and how often it was requeued
    restarts: int
    name: str = ""
    time_limit: int = 0  # seconds; 0: none
    account: str = ""
    task: int | None = None  # its number, if it is one of an array
    partitions: str = ""  # in which it may run, or that in which it runs
    phase: Phase = Phase.QUEUED
    reason: str = ""  # why it waits, by squeue
    expected: int | None = None  # when Slurm's backfilling expects to start it while it waits
    eligible: float = 0.0  # it does not start earlier
    kept_back: float = 0.0  # until when we keep it back
    offer: Offer | None = None  # the latest
    number: int = 0  # of that offer
    started: float | None = None  # when it started, or is to start
    finding: Mapping[str, str] = field(default_factory=dict)  # variables for its tasks
    hung_up: bool = False  # its hook hung up without an answer; what Slurm does with the job is not known yet
    killed: int | None = None  # the turn (`restarts`) whose hook was killed
    let_go: int | None = None  # the turn whose hook has said that it lets the job start
    end: Ended | None = None
    changed: float = 0.0  # when a hook, or we, last changed its phase: ignore older rows
    told_nodes: int = 0  # how many it has by what was reported last
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # set when something changes
    sequence: asyncio.Lock = field(default_factory=asyncio.Lock)  # one sequence of commands at a time
    wanted: asyncio.Future[None] | None = None  # while a caller waits for the offer: it goes there, not into a report

    @property
    def offered_as(self) -> int:
        """The number of the offer that it has; 0: none."""
        return self.number if self.phase is Phase.OFFERED else 0

    def known(self) -> Known:
        """Return what `open` of the manager tells of it."""
        offered, running = self.phase in (Phase.CHOSEN, Phase.OFFERED), self.phase is Phase.RUNNING
        submitted = self.job_id, self.first_submitted, self.nodes, self.owner, self.named, self.name
        began = round(self.started * SECOND) if running and self.started is not None else None
        return Known(*submitted, self.time_limit, self.account, self.partitions, offered, running, self.end, began)


def can_name(row: JobRow) -> bool:
    """Whether a job can be given a mate now."""
    return stage(row.state) is Stage.QUEUED and row.array is None and row.het is None


def lone(row: JobRow) -> LoneJob:
    """Return what decides whether a job may be given a mate."""
    return LoneJob(row.user, comments.is_adoptable(row.comment or ""), row.reason.startswith("JobHeld"))
