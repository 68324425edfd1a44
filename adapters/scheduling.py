"""The protocol of resource managers that schedule by themselves (Slurm, PBS): what they report, what they are told.

The manager chooses a job and its nodes, and offers it: that is the paper's RunJob (Tang et al., 2011, Algorithm 1).
How the core's effects map to it: `Start` is `start`; `Hold` is to let the offer wait; `Yield` is `give_back`; `Release`
is `release`; `Try` is `try_start`, followed by `start`. Its reports become the core's events: `Offered` is Ready,
`Withdrawn` NodesLost or Requeued, `Started` (unless it was told to) Started, `Ended` Finished.

Only jobs that name a mate are known here; all others are none of cosched's business.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cosched.adapters.manager import Ended, Started


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
    submitted_at: int  # seconds since 1970; it may be set anew whenever the job is requeued
    nodes: int
    owner: str
    link: Link
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
    """The manager has chosen the job and its nodes, and waits to be told."""

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


Report = Submitted | Refused | Relinked | Offered | Withdrawn | Started | Ended


class Known(Protocol):
    """A job that names a mate, as it is known now; as in `Submitted`."""

    @property
    def job_id(self) -> str:
        """Its id."""

    @property
    def submitted_at(self) -> int:
        """Seconds since 1970."""

    @property
    def nodes(self) -> int:
        """How many it has, or wants."""

    @property
    def owner(self) -> str:
        """Whose it is."""

    @property
    def name(self) -> str:
        """What its owner calls it."""

    @property
    def time_limit(self) -> int:
        """Seconds; 0: none."""

    @property
    def link(self) -> Link | None:
        """The mate that it names; None: none any more."""

    @property
    def offered(self) -> bool:
        """Whether it has nodes, and the manager waits to be told, or is about to: Offered or Withdrawn follows then."""

    @property
    def running(self) -> bool:
        """Whether it has started and not ended."""

    @property
    def end(self) -> Ended | None:
        """How it ended, if it has."""


@runtime_checkable
class SchedulingManager(Protocol):
    """One resource manager of one policy domain. All calls come from one event loop, `open` first and `close` last.

    Calls raise ManagerError if the manager cannot do what it is asked.
    """

    @property
    def nodes(self) -> int:
        """The size of the machine."""

    @property
    def start_lead(self) -> float:
        """Seconds from `start` on that a job needs at least to start at an exact instant."""

    async def open(self) -> Mapping[str, Known]:
        """Find the jobs that name a mate, those that the manager has not forgotten since their end among them.

        What happens from now on is reported.
        """

    def reports(self) -> AsyncIterator[Report]:
        """What happens from `open` on, as it happens, without end; for one reader."""

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

    async def cancel(self, job_id: str) -> None:
        """Cancel a job that names a mate; Ended follows, unless it has ended. UnknownJobError."""

    async def close(self) -> None:
        """Stop watching. What is offered waits, for as long as the manager is patient, and is offered again."""
