"""Between a domain and its resource manager: orders go out, reports come in, and jobs are found after a restart."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from cosched.adapters.loading import ResourceManager
from cosched.adapters.manager import ManagerError, UnknownJobError
from cosched.core.protocol import JobId
from cosched.service.domain.changes import Cancel, Order
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.cancelling import Cancellations
from cosched.service.manager.ends import forget
from cosched.service.manager.work import Work
from cosched.service.tasks import Tasks

_LOG = logging.getLogger(__name__)


class Runner:
    """The jobs of a domain in its resource manager."""

    def __init__(self, domain: LiveDomain, manager: ResourceManager, work: Work, tasks: Tasks) -> None:
        self._domain = domain
        self._manager = manager
        self._work = work
        self._tasks = tasks
        self._cancellations = Cancellations(domain, work.cancel)

    @property
    def start_lead(self) -> float | None:
        """See Work."""
        return self._work.start_lead

    @property
    def problem(self) -> str:
        """See Work."""
        return self._work.problem

    async def order(self, order: Order) -> None:
        """Tell the manager. What it cannot do shows in its reports."""
        if isinstance(order, Cancel):
            self._cancellations.begin(order.job)
            return
        try:
            await self._work.orders[type(order)](order)
        except UnknownJobError as error:
            _LOG.info("job %s: %s", order.job, error)
        except ManagerError as error:
            _LOG.warning("job %s: %s", order.job, error)

    async def cancelled(self, job: JobId, patience: float) -> bool:
        """Whether the manager has taken an order to end a job, within so many seconds."""
        return await self._cancellations.taken(job, patience)

    async def reconcile(self, found: Mapping[str, Any], running: Collection[JobId]) -> None:
        """After a restart: see `Work.take_up`; then jobs that are to end are cancelled again."""
        await self._work.take_up(found, running)
        self._cancellations.resume()

    def start(self) -> None:
        """Listen to the manager's reports."""
        self._tasks.run(self._read())

    async def _read(self) -> None:
        async for report in self._manager.reports():
            self._work.reports[type(report)](report)

    async def close(self) -> None:
        """Listen no more, and leave orders that wait: they are on record."""
        await self._cancellations.close()
        await self._tasks.close()

    async def forget(self, job: JobId) -> None:
        """Let the manager drop what it keeps of a job that has ended."""
        await forget(self._manager, job)
