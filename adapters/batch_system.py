"""The protocol of resource managers that schedule by themselves (Slurm, PBS): what they report, what they are told.

A batch system chooses a job and its nodes, and offers it: that is the paper's RunJob (Tang et al., 2011, Algorithm 1).
How the core's effects map to it: `Start` is `start`; `Hold` is to let the offer wait; `Yield` is `give_back`; `Release`
is `release`; `Try` is `try_start`, followed by `start`. Its reports become the core's events: `Offered` is Ready,
`Withdrawn` NodesLost or Requeued, `Started` (unless it was told to) Started, `Ended` Finished.

Only jobs that name a mate are known here; all others are none of cosched's business.

To add one: a package beside `slurm` whose manager implements `BatchSystem`, an entry point, and its name in
`BATCH_SYSTEMS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cosched.adapters.manager import Ended, Manager, Started

BATCH_SYSTEMS = frozenset({"slurm"})  # the kinds of managers that schedule by themselves


@dataclass(frozen=True, slots=True)
class Link:
    """The mate that a job names: job `mate` of the domain `peer`, or whichever job carries the same `pair` name.

    `or_alone`: the job starts alone if there is no such mate.
    """

    peer: str = ""
    mate: str | None = None
    pair: str | None = None
    or_alone: bool = False


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that names a mate is new here. The first report of each job, unless it is Refused."""

    job_id: str
    submitted_at: int  # seconds since 1970; it may change whenever the job is requeued
    nodes: int
    owner: str
    link: Link | None  # None, of one that is Known: it names none any more
    name: str = ""
    time_limit: int = 0  # seconds; 0: none


@dataclass(frozen=True, slots=True)
class Refused:
    """A job (array, heterogeneous job) starts alone, though it asks for a mate."""

    job_id: str
    owner: str
    reason: str  # one line for its owner


@dataclass(frozen=True, slots=True)
class Relinked:
    """A job names another mate than before, or none."""

    job_id: str
    link: Link | None


@dataclass(frozen=True, slots=True)
class Offered:
    """The manager has chosen the job and its nodes, and keeps these for the job until it is told."""

    job_id: str
    submitted_at: int
    nodes: int
    nodelist: str
    owner: str
    link: Link | None
    can_yield: bool  # else it can only hold: the manager would cancel it


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The job has no nodes any more, without having given them back: offered or running before, it is queued again."""

    job_id: str


BatchReport = Submitted | Refused | Relinked | Offered | Withdrawn | Started | Ended


@dataclass(frozen=True, slots=True)
class Known(Submitted):
    """A job that names a mate, as it is known now."""

    offered: bool = False  # it has nodes, and the manager waits to be told, or soon will: Offered or Withdrawn follows
    running: bool = False  # it has started and not ended
    end: Ended | None = None  # how it ended, if it has


@runtime_checkable
class BatchSystem(Manager[Known, BatchReport], Protocol):
    """A `Manager` that schedules. `open` finds the jobs that name a mate, also those that ended not long ago."""

    @property
    def start_lead(self) -> float:
        """Seconds from `start` on that a job needs at least to start at an exact instant."""

    async def look(self, age: float = 0.0) -> bool:
        """Look at the queue now, unless that was done `age` seconds ago at most. All that is new has been read by then.

        False: the manager does not answer.
        """

    async def start(self, job_id: str, at: float | None = None) -> bool:
        """Let an offered job start, at an instant (seconds since 1970, at most 10 s ahead) if given.

        False: it is not offered (any more); then a report says so.
        """

    async def give_back(self, job_id: str, backoff: float | None = None) -> bool:
        """Yield: the job is queued again, and is not offered for `backoff` seconds (None: as configured).

        Returns when that is so. False: it is not offered (any more).
        """

    async def release(self, job_id: str) -> bool:
        """End a hold by force: the nodes are offered to all others first; what is left may be offered to it again."""

    async def try_start(self, job_id: str, patience: float | None = None) -> bool:
        """Have the manager schedule, and wait for the job's offer (None: as configured). True: it is offered now.

        That offer is not reported. One that comes later is.
        """

    async def hasten(self, job_id: str) -> None:
        """Have the manager consider a queued job that it keeps back; its offer is reported."""

    async def adopt(self, job_id: str, link: Link, owner: str) -> None:
        """Have a queued job of this owner that names no mate name this one; all that is new has been read by then.

        Does nothing where there is no such job. ValueError: the manager's jobs cannot name this mate.
        """

    async def relink(self, job_id: str, link: Link) -> None:
        """Have a job that names a mate name this one instead. That is not reported. ValueError as of `adopt`."""

    async def part(self, job_id: str) -> None:
        """Have a job name no mate any more. That is not reported."""
