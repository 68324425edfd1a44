"""What is known of one job that names a mate."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cosched.core.protocol import Named
from cosched_adapters.manager import Ended
from cosched_adapters.pbs import commands

Mate = tuple[str, str, tuple[tuple[str, str], ...]]  # the owner of jobs, and the name and the ids that they name


class Phase(Enum):
    """Where a job is."""

    QUEUED = "queued"
    OFFERED = "offered"  # PBS has chosen it and its nodes, and we keep these for it
    RUNNING = "running"
    ENDED = "ended"


@dataclass(eq=False)
class BatchJob:
    """A job that names a mate; instants by the loop's clock, but for `submitted` and `started`."""

    job_id: str
    owner: str
    named: Named | None
    nodes: int
    submitted: int  # seconds since 1970
    name: str = ""
    time_limit: int = 0
    account: str = ""
    queue: str = ""
    phase: Phase = Phase.QUEUED
    expected: int | None = None  # when PBS expects to start it while it waits
    comment: str = ""  # why it waits, in PBS's words
    vnodes: str = ""  # those that it was offered on; set by `put_on`
    chosen: frozenset[str] = frozenset()  # their names
    number: int = 0  # of its latest offer
    offline: bool = False  # they are offline, with the job on record
    admitted: bool = False  # we have called qrun: the hook lets it run
    turned_away: float = 0.0  # until then it is not offered
    by_us: float = float("-inf")  # when we have started it
    too_late: set[str] = field(default_factory=set)  # jobs that were refused its nodes since then
    started: float | None = None  # seconds since 1970
    end: Ended | None = None
    changed: float = 0.0  # when the hook, or we, last changed its phase: older looks do not count
    wanted: asyncio.Future[None] | None = None  # while a caller waits for the offer: it goes there, not into a report
    found_by: Mate | None = None
    order: asyncio.Lock = field(default_factory=asyncio.Lock)  # one order at a time
    finding: Mapping[str, str] = field(default_factory=dict)  # variables by which it finds its mates

    def put_on(self, vnodes: str) -> None:
        """Note the nodes on which it is offered; none: it is queued."""
        self.vnodes, self.chosen = vnodes, frozenset(commands.chunks(vnodes))

    @property
    def kept(self) -> frozenset[str]:
        """The nodes that are kept for it."""
        return self.chosen if self.phase is Phase.OFFERED else frozenset()

    @property
    def offered_as(self) -> int:
        """The number of the offer that it has; 0: none."""
        return self.number if self.phase is Phase.OFFERED else 0

    def keeps(self, vnodes: str) -> bool:
        """Return whether it is offered, and on these nodes."""
        return self.phase is Phase.OFFERED and self.vnodes == vnodes
