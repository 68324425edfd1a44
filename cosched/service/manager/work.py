"""The part of a runner's work that depends on the kind of its resource manager."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Protocol

from cosched.core.protocol import JobId

Orders = Mapping[type, Callable[[Any], Awaitable[None]]]  # how each is carried out; cancellations are the runner's
Reports = Mapping[type, Callable[[Any], None]]  # what each is for the domain


class Work(Protocol):
    """What a runner does that depends on the kind of its manager: `Launches` or `Offers`."""

    orders: Orders
    reports: Reports

    @property
    def start_lead(self) -> float | None:
        """Seconds that a job needs at least to start at an exact instant; None: it cannot."""

    @property
    def problem(self) -> str:
        """Why orders wait; empty if none does."""

    async def cancel(self, job: JobId) -> None:
        """End a job; its end is reported. ManagerError."""

    async def take_up(self, found: Mapping[str, Any], running: Collection[JobId]) -> None:
        """After a restart: compare what the manager has `found` with the jobs, of which these should be running."""
