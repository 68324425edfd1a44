"""Between a domain and its resource manager: launches, cancellations, reports, and jobs found again after a restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from cosched.adapters.launcher import JobSpec, Launcher, NodesBusyError, NoRoomError
from cosched.adapters.manager import End, Ended, ManagerError, Report
from cosched.core.job import JobState
from cosched.core.protocol import Domain, GetMateJobId, JobId
from cosched.service.domain.changes import Cancel, Order
from cosched.service.manager.cancelling import Cancellations
from cosched.service.metrics import Metrics
from cosched.service.store import EventRecord, JobRecord, JobScript, StoreError
from cosched.v1.domain_pb2 import EVENT_KIND_ENDED

BUSY_PATIENCE = 30  # seconds that a launch waits for nodes which the manager still cleans up
TRY_AGAIN = 1.0  # seconds between the attempts to launch a job while there is no room for it
HOST_RESTARTED = "the host was restarted before it is known to have started"
UNSTARTED = "before its processes were started"
_LOG = logging.getLogger(__name__)


class _Domain(Protocol):
    """What is needed of a LiveDomain."""

    jobs: dict[JobId, JobRecord]
    metrics: Metrics

    def ended(self, job: JobId, how: JobState, why: str = "", exit_code: int | None = None) -> None:
        """See LiveDomain."""

    def script(self, job: JobRecord) -> JobScript | None:
        """See LiveDomain."""

    async def durable(self) -> None:
        """See LiveDomain."""


def spec_of(record: JobRecord, script: JobScript) -> JobSpec:
    """What the manager is to run."""
    return JobSpec(
        job_id=str(record.id),
        nodes=record.nodes,
        walltime=record.time_limit,
        directory=script.directory,
        command=script.arguments,
        script=script.script,
        name=record.name,
        environment=script.environment,
        user=record.owner,
        mate=f"{record.peer}:{record.mate}" if record.mate is not None else None,
        pair=record.pair,
    )


def state_of(end: Ended) -> JobState:
    """The final state of a job that ended so."""
    if end.succeeded:
        return JobState.COMPLETED
    return JobState.CANCELLED if end.how is End.CANCELLED else JobState.FAILED


class Runner:
    """The jobs of a domain in its manager."""

    def __init__(self, domain: _Domain, manager: Launcher) -> None:
        self._domain = domain
        self._manager = manager
        self._reader: asyncio.Task[None] | None = None
        self._cancellations = Cancellations(domain, self._cancel)
        self._delayed: dict[JobId, asyncio.Task[None]] = {}  # launches that wait for room on the disk
        self._no_room = ""

    def check(self, spec: JobSpec) -> None:
        """Whether the manager would take this job; ManagerError."""
        self._manager.check(spec)

    @property
    def problem(self) -> str:
        """Why launches wait; empty if none does."""
        return self._no_room if self._delayed else ""

    start_lead: float | None = None  # no job of such a manager starts at an exact instant

    async def look_for_mate(self, peer: Domain, question: GetMateJobId) -> bool:  # noqa: ARG002
        """A peer asks for a job: all jobs of such a manager are known."""
        return True

    async def order(self, order: Order) -> None:
        """What the domain wants: its scheduler is its own, so that its manager has to start and end jobs only."""
        if isinstance(order, Cancel):
            self._cancellations.begin(order.job)
        elif (record := self._domain.jobs.get(order.job)) is not None:
            await self.launch(record)

    async def launch(self, record: JobRecord) -> None:
        """Start a job. One that cannot be started has failed; but while a disk or descriptors are short it waits."""
        try:
            await self._try(record)
        except NoRoomError as error:
            if not self._delayed:  # however many jobs wait
                _LOG.error("stalled: %s; it is tried again until it can be written", error)
            if (job := str(record.id)) not in self._delayed:
                self._no_room = str(error)
                self._delayed[job] = asyncio.create_task(self._launch_later(record))
                self._delayed[job].add_done_callback(lambda _: self._delayed.pop(job))

    async def _launch_later(self, record: JobRecord) -> None:
        while True:
            await asyncio.sleep(TRY_AGAIN)
            with suppress(NoRoomError):
                await self._try(record)
                return

    async def _try(self, record: JobRecord) -> None:
        """Start a job; one that cannot be started has failed. NoRoomError."""
        job = str(record.id)
        if record.cancelled_by is not None:
            self._domain.ended(job, JobState.CANCELLED, UNSTARTED)
            return
        try:
            await self._launch(spec_of(record, self._script(record)))
        except NoRoomError:
            raise
        except ManagerError as error:
            _LOG.warning("job %s cannot be started: %s", job, error)
            self._domain.metrics.launch_failures.inc()
            self._domain.ended(job, JobState.FAILED, f"it could not be started: {error}")

    def _script(self, record: JobRecord) -> JobScript:
        try:
            script = self._domain.script(record)
        except StoreError as error:
            raise ManagerError(f"its script cannot be read: {error.reason}") from error
        if script is None:
            raise ManagerError("its script is not on record")
        return script

    async def _launch(self, spec: JobSpec) -> None:
        for _ in range(BUSY_PATIENCE):
            try:
                await self._manager.launch(spec)
            except NodesBusyError:
                await asyncio.sleep(1)
            else:
                return
        await self._manager.launch(spec)

    async def cancelled(self, job: JobId, patience: float) -> bool:
        """Whether the manager has taken an order to end a job, within so many seconds."""
        return await self._cancellations.taken(job, patience)

    async def _cancel(self, job: JobId) -> None:
        """End a running job's processes; its end is reported. ManagerError."""
        if job in self._delayed:
            self._delayed[job].cancel()
            self._domain.ended(job, JobState.CANCELLED, UNSTARTED)
            return
        await self._manager.cancel(job)

    async def reconcile(self, found: Mapping[str, Report | None], running: Iterable[JobId]) -> None:
        """After a restart: what the manager has `found`, against the jobs that should be `running`."""
        for job in running:
            record = self._domain.jobs.get(job)
            if record is None or job in found:
                continue
            if self._manager.may_have_forgotten:  # it may have run: it does not run twice
                self._domain.ended(job, JobState.FAILED, HOST_RESTARTED)
            else:
                await self.launch(record)  # its launch was on record here, but not carried out yet
        for job, report in found.items():
            if isinstance(report, Ended):
                self._report(report)
            elif job not in self._domain.jobs:
                _LOG.error("the manager runs job %s, which is not on record as running here", job)
        self._cancellations.resume()

    def start(self) -> None:
        """Listen to the manager's reports."""
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Listen no more, and leave launches and cancellations that wait: they are on record."""
        await self._cancellations.close()
        tasks = [*self._delayed.values(), *([self._reader] if self._reader is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> None:
        async for report in self._manager.reports():
            self._report(report)

    def _report(self, report: Report) -> None:
        if not isinstance(report, Ended):
            return
        if report.job_id in self._domain.jobs:
            if report.how is End.UNSTARTED:
                self._domain.metrics.launch_failures.inc()
            self._domain.ended(report.job_id, state_of(report), explained(report), report.exit_code)
        else:  # its end has been written already
            asyncio.get_running_loop().create_task(self._forget_durably(report.job_id))

    async def _forget_durably(self, job: JobId) -> None:
        await self._domain.durable()
        await self.forget(job)

    @staticmethod
    def over(events: Sequence[EventRecord]) -> list[JobId]:
        """Jobs that have ended, and that is on record."""
        return [str(event.job) for event in events if event.kind == EVENT_KIND_ENDED]

    async def forget(self, job: JobId) -> None:
        """Let the manager drop what it keeps of a job that has ended."""
        try:
            await self._manager.forget(job)
        except ManagerError as error:
            _LOG.warning("job %s: %s", job, error)


def explained(end: Ended) -> str:
    """Why it ended, for people; empty for a plain success."""
    if end.reason:
        return end.reason
    if end.how is End.SIGNALLED:
        return f"ended by signal {end.signal}"
    if end.how is End.EXITED and end.exit_code:
        return f"exit code {end.exit_code}"
    return ""
