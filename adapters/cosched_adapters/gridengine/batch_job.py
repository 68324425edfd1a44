"""What is known of one job that names a mate."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from cosched.core.protocol import Named
from cosched_adapters.gridengine.gates import Gate
from cosched_adapters.gridengine.records import Kept
from cosched_adapters.manager import Ended


class Phase(Enum):
    """Where a job is."""

    QUEUED = "queued"
    CHOSEN = "chosen"  # it has slots, and its prolog is about to ask
    OFFERED = "offered"  # its prolog waits
    RUNNING = "running"  # it was let go, or has started without us
    ENDED = "ended"


@dataclass(eq=False)
class BatchJob:
    """A job that names a mate; instants by the loop's clock, but for those on record."""

    kept: Kept
    named: Named | None
    phase: Phase = Phase.QUEUED
    gate: Gate | None = None  # while its prolog waits
    hosts: str = ""
    number: int = 0  # of its latest offer
    end: Ended | None = None
    changed: float = 0.0  # when a gate, or we, last changed its phase: older looks do not count
    missed: float | None = None  # when a look first missed it
    ending: bool = False  # it is about to be gone, and looked for until it is
    wanted: asyncio.Future[None] | None = None  # while a caller waits for the offer: it goes there, not into a report
    coming: asyncio.Task[None] | None = None  # ends our hold after its backoff
    order: asyncio.Lock = field(default_factory=asyncio.Lock)  # one order at a time
    finding: Mapping[str, str] = field(default_factory=dict)  # variables by which it finds its mates

    @property
    def job_id(self) -> str:
        """Its id."""
        return self.kept.job_id

    @property
    def offered_as(self) -> int:
        """The number of the offer that it has; 0: none."""
        return self.number if self.phase is Phase.OFFERED else 0
