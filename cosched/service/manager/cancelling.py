"""Orders to end jobs, or runs. Each is in its job's record, and is repeated until the manager has taken it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from cosched.core.protocol import JobId
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks
from cosched_adapters.manager import ManagerError, UnknownJobError

AGAIN = 1.0  # seconds until an order that the manager did not take is repeated, doubled each time,
AT_MOST = 60.0  # up to this
_LOG = logging.getLogger(__name__)


class Cancellations:
    """The orders of one kind of one domain: to cancel jobs, or to end runs. Belongs to one asyncio loop."""

    def __init__(self, domain: LiveDomain, cancel: Callable[[JobId], Awaitable[None]], tasks: Tasks) -> None:
        """`cancel` gives the order to the manager; ManagerError."""
        self._domain, self._cancel, self._tasks = domain, cancel, tasks
        self._under_way: dict[JobId, asyncio.Task[None]] = {}

    def begin(self, job: JobId) -> None:
        """Begin to end a job, whose record has the order."""
        known = self._under_way.get(job)
        if known is None or known.done():
            self._under_way[job] = self._tasks.run(self._repeat(job))
            self._under_way[job].add_done_callback(lambda task: self._forget(job, task))

    def _forget(self, job: JobId, task: asyncio.Task[None]) -> None:
        if self._under_way[job] is task:
            del self._under_way[job]

    def resume(self, is_ordered: Callable[[JobRecord], bool]) -> None:
        """After a restart, give all recorded orders again."""
        for job, record in self._domain.jobs.items():
            if is_ordered(record):
                self.begin(job)

    async def taken(self, job: JobId, patience: float) -> bool:
        """Wait up to `patience` seconds for the manager to take an order just recorded; return whether it did."""
        await self._domain.turns.durable()  # the order has been given by then
        task = self._under_way.get(job)
        if task is not None:
            await asyncio.wait([task], timeout=patience)
        return task is None or task.done()

    async def _repeat(self, job: JobId) -> None:
        pause, said = AGAIN, ""
        while job in self._domain.jobs:
            try:
                await self._cancel(job)
            except UnknownJobError:
                problem = "its resource manager does not know it yet"
            except ManagerError as error:
                problem = str(error)
            else:
                return
            if problem != said:
                _LOG.warning("job %s cannot be ended: %s; it is tried again until it can be", job, problem)
                said = problem
            await asyncio.sleep(pause)
            pause = min(2 * pause, AT_MOST)
