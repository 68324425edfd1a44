"""Connects a domain and its resource manager: carries out orders, reads reports, and finds jobs after a restart."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any, Protocol, TypeVar

from cosched.core.job import JobState
from cosched.core.protocol import EndedBy, JobId
from cosched.service.domain.changes import Cancel, Order
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.cancelling import Cancellations
from cosched.service.tasks import Tasks
from cosched_adapters.loading import ResourceManager
from cosched_adapters.manager import End, Ended, ManagerError, UnknownJobError
from cosched_adapters.slices import Slices

SECOND = 1_000_000_000  # ns
_LOG = logging.getLogger(__name__)
_Order = TypeVar("_Order", contravariant=True)
_Report = TypeVar("_Report", contravariant=True)


class Work(Protocol[_Order, _Report]):
    """The part of a runner that depends on the kind of its manager: `Launches` or `Offers`."""

    @property
    def problem(self) -> str:
        """Return why orders wait; empty if none does."""

    async def carry_out(self, order: _Order) -> None:
        """Carry out an order of the domain; ManagerError."""

    def hear(self, report: _Report) -> None:
        """Tell the domain what the manager reports."""

    async def cancel(self, job: JobId) -> None:
        """End a job; a report follows. ManagerError."""

    async def take_up(self, found: Mapping[str, Any], running: Collection[JobId]) -> None:
        """After a restart, compare the jobs that the manager has `found` with ours, of which `running` should run."""


class Runner:
    """The jobs of a domain in its resource manager."""

    def __init__(self, domain: LiveDomain, manager: ResourceManager, work: Work[Any, Any], tasks: Tasks) -> None:
        """`tasks` end with the service; orders that wait are recorded."""
        self._manager, self.work, self._tasks = manager, work, tasks
        self._cancellations = Cancellations(domain, work.cancel, tasks)

    async def order(self, order: Order) -> None:
        """Carry out an order. If the manager cannot, its reports show it."""
        if isinstance(order, Cancel):
            self._cancellations.begin(order.job)
            return
        try:
            await self.work.carry_out(order)
        except UnknownJobError as error:
            _LOG.info("job %s: %s", order.job, error)
        except ManagerError as error:
            _LOG.warning("job %s: %s", order.job, error)

    async def cancelled(self, job: JobId, patience: float) -> bool:
        """Return whether the manager takes an order to end a job within `patience` seconds."""
        return await self._cancellations.taken(job, patience)

    async def reconcile(self, found: Mapping[str, Any], running: Collection[JobId]) -> None:
        """After a restart, take up the manager's jobs (see `Work.take_up`); then repeat recorded cancellations."""
        await self.work.take_up(found, running)
        self._cancellations.resume(lambda record: record.cancelled_by is not None)

    def start(self) -> None:
        """Start reading the manager's reports."""
        self._tasks.run(self._read())

    async def _read(self) -> None:
        slices = Slices()  # a look may find thousands of jobs
        async for report in self._manager.reports():
            self.work.hear(report)
            await slices.pause()

    async def forget(self, job: JobId) -> None:
        """Let the manager drop its records of an ended job."""
        await forget(self._manager, job)


def tell_end(domain: LiveDomain, end: Ended) -> None:
    """Tell the domain that a job has ended."""
    if end.how is End.UNSTARTED:
        domain.metrics.launch_failures.inc()
    by = EndedBy.ITSELF if end.reason else EndedBy.OWNER  # the manager says why, or it has only done as it was told
    domain.end(end.job_id, _state_of(end), _explained(end), end.exit_code, _measured(end), by)


def _state_of(end: Ended) -> JobState:
    if end.succeeded:
        return JobState.COMPLETED
    return JobState.CANCELLED if end.how is End.CANCELLED else JobState.FAILED


def _measured(end: Ended) -> int | None:
    """Return for how many seconds it ran, rounded half up."""
    return None if end.started_at is None else (end.at - end.started_at + SECOND // 2) // SECOND


def _explained(end: Ended) -> str:
    """Return why it ended, for people; empty for a plain success."""
    if end.reason:
        return end.reason
    if end.how is End.SIGNALLED:
        return f"ended by signal {end.signal}"
    return f"exit code {end.exit_code}" if end.how is End.EXITED and end.exit_code else ""


async def forget(manager: ResourceManager, job: JobId) -> None:
    """Let the manager drop its records of a job whose end we have recorded."""
    try:
        await manager.forget(job)
    except ManagerError as error:
        _LOG.warning("job %s: %s", job, error)
