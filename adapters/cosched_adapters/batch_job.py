"""What adapters know of a job that names a mate, and that a batch system schedules."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cosched.core.protocol import Named
from cosched_adapters.batch_system import Known, Offered
from cosched_adapters.manager import End, Ended

SECOND = 1_000_000_000  # nanoseconds


def nanoseconds(at: float | None) -> int | None:
    """Return an instant in nanoseconds; None: it is not known."""
    return None if at is None else round(at * SECOND)


def end_of(
    job_id: str, how: End, at: float, started_at: float | None, code: int | None, signal: int | None, reason: str
) -> Ended:
    """Return the report of an end, with the code or the signal if that is `how`; instants in seconds since 1970."""
    code, signal = code if how is End.EXITED else None, signal if how is End.SIGNALLED else None
    return Ended(job_id, how, round(at * SECOND), nanoseconds(started_at), code, signal, reason)


class Phase(Enum):
    """Where a job is. A batch system may have no use for some of them."""

    QUEUED = "queued"
    CHOSEN = "chosen"  # it has nodes, and its hook is about to ask, perhaps again
    OFFERED = "offered"  # it has nodes, and waits for our answer
    GIVING_BACK = "giving back"  # its hook was told to yield, and the job is not queued yet
    TOLD_TO_START = "told to start"  # its hook was
    RUNNING = "running"
    UNLAUNCHED = "unlaunched"  # its hook was killed: it is shown as running, but is never launched
    ENDED = "ended"


@dataclass(eq=False, kw_only=True)
class BatchJob:
    """A job that names a mate. `changed` is by the loop's clock, other instants are seconds since 1970."""

    job_id: str
    owner: str
    named: Named | None
    nodes: int
    submitted: int  # or queued again
    name: str = ""
    time_limit: int = 0  # seconds; 0: none
    account: str = ""
    queue: str = ""  # or its partition
    can_yield: bool = True
    phase: Phase = Phase.QUEUED
    nodelist: str = ""  # the nodes on which it was offered last
    number: int = 0  # of its latest offer
    started: float | None = None  # when it started, or is to start
    end: Ended | None = None
    changed: float = 0.0  # when a hook, or we, last changed its phase: older looks do not count
    wanted: asyncio.Future[None] | None = None  # while a caller waits for the offer: it goes there, not into a report
    order: asyncio.Lock = field(default_factory=asyncio.Lock)  # one order at a time
    finding: Mapping[str, str] = field(default_factory=dict)  # variables by which it finds its mates

    @property
    def offered_as(self) -> int:
        """The number of the offer that it has; 0: none."""
        return self.number if self.phase is Phase.OFFERED else 0

    @property
    def first_submitted(self) -> int:
        """When it was submitted, if that is known apart from when it was queued again."""
        return self.submitted

    def as_offer(self) -> Offered:
        """Return the report of its offer."""
        of = self.job_id, self.submitted, self.nodes, self.nodelist, self.owner, self.named
        return Offered(*of, self.can_yield, self.number, self.account, self.queue)

    def told(self) -> tuple[str, int, int, str, Named | None, str, int, str, str]:
        """Return the fields of Appeared."""
        whose = self.job_id, self.first_submitted, self.nodes, self.owner, self.named
        return *whose, self.name, self.time_limit, self.account, self.queue

    def lost(self, reason: str) -> Ended:
        """Return the report of its end, which we have not seen."""
        return Ended(self.job_id, End.LOST, round(time.time() * SECOND), nanoseconds(self.started), reason=reason)

    def known(self) -> Known:
        """Return the job and its state, for `open`."""
        offered, running = self.phase in (Phase.CHOSEN, Phase.OFFERED), self.phase is Phase.RUNNING
        return Known(*self.told(), offered, running, self.end, nanoseconds(self.started) if running else None)
