"""The work of a runner for a manager that runs what our scheduler has chosen: see `adapters.launcher`."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import assert_never

from cosched.core.allocation import Allocation, SizeChanged
from cosched.core.effects import Start
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import JobId
from cosched.service.domain.began import Waits
from cosched.service.domain.changes import LauncherOrder, Preempt
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import is_sized
from cosched.service.domain.story import why_cancelled
from cosched.service.manager.cancelling import Cancellations
from cosched.service.manager.resizes import Resizes
from cosched.service.manager.runner import Work, forget, tell_end
from cosched.service.peers.agreed_start import MAX_AHEAD
from cosched.service.store import JobRecord, JobScript, StoreError
from cosched.service.tasks import Tasks
from cosched_adapters.launcher import JobSpec, Launcher, NodesBusyError, NoRoomError, PlayingLauncher
from cosched_adapters.manager import End, Ended, ManagerError, Report, Started, UnknownJobError
from cosched_adapters.slices import Slices

BUSY_PATIENCE = 30  # tries of a launch that waits for nodes that the manager is still clearing
BUSY_PAUSE = 1.0  # seconds between them
TRY_AGAIN = 1.0  # seconds between attempts to launch a job while the disk is full, or others have its nodes
MAX_SECONDS = 1 << 31
SERVER = "COSCHED_SERVER"
HOST_RESTARTED = "the host was restarted before it is known to have started"
UNSTARTED = "before its processes were started"
_LOG = logging.getLogger(__name__)
Variables = Mapping[str, str]
NONE: Variables = MappingProxyType({})
Tell = Callable[[JobRecord], Variables]  # variables for a job's tasks; ManagerError: it cannot run


def spec_of(record: JobRecord, script: JobScript, finding: Variables = NONE, told: Variables = NONE) -> JobSpec:
    """Return what the manager is to run; `finding`: variables by which it finds its mates, `told`: others of ours."""
    allocation, job = record.allocation, record.job
    return JobSpec(
        job_id=str(record.id),
        nodes=record.nodes if allocation is None else allocation.nodes,
        walltime=record.time_limit if allocation is None else longest_run(record, allocation),
        where=None if allocation is None else allocation.where,
        directory=script.directory,
        command=script.arguments,
        script=script.script,
        name=record.name,
        environment={**script.environment, **told},
        user=record.owner,
        mate=f"{job.peer}:{mate}" if (mate := job.mate) is not None else None,
        pair=job.pair,
        group=None if job.is_pair else record.group_name,
        finding=_finding(record, finding),
    )


def longest_run(record: JobRecord, allocation: Allocation) -> int:
    """Return how long the job may run on this, in seconds: its time limit, until its scheduler has said otherwise."""
    if record.started_at is None:
        return record.time_limit
    return min(allocation.latest_end - record.started_at, MAX_SECONDS)


def _finding(record: JobRecord, finding: Variables) -> dict[str, str]:
    """Return the variables by which a job finds its mates, and its domain."""
    if record.job.group is not None:
        return {"COSCHED_MATES": known_mates(record), **finding}
    return {name: value for name, value in finding.items() if name == SERVER and is_sized(record)}


def known_mates(record: JobRecord) -> str:
    """Return what is known of a job's mates when it starts, as `cosched mates --json` prints it."""
    unknown = dict.fromkeys(("status", "nodelist", "host", "port", "ports"))
    return json.dumps([{"domain": domain, "job_id": job, **unknown} for domain, job in sorted(record.mates.items())])


class Launches(Work[LauncherOrder, Report]):
    """See Work. The domain has its own scheduler, so its manager only starts and ends jobs."""

    def __init__(
        self,
        domain: LiveDomain,
        launcher: Launcher,
        tasks: Tasks,
        finding: Variables = NONE,
        resizes: Resizes | None = None,
        tell: Tell | None = None,
    ) -> None:
        """`resizes`: of a manager whose running jobs get and lose nodes. `tell`: variables for each job."""
        self._finding, self._tell, self._domain = finding, tell, domain
        self._launcher, self._tasks, self.resizes = launcher, tasks, resizes
        self._delayed: dict[JobId, asyncio.Task[None]] = {}  # launches that wait for disk or descriptors
        self._no_room = ""
        self._starting: set[JobId] = set()  # those that are being started, perhaps once nodes are free,
        self._launching: set[JobId] = set()  # those of them that the manager is starting just now,
        self._runs: set[JobId] = set()  # and those that it has started, whose present run is not over
        self._over: set[JobId] = set()  # those whose preempted run has ended, and is to be forgotten
        self._preemptions = Cancellations(domain, self._end_run, tasks)

    @property
    def problem(self) -> str:
        """Return why launches wait; empty if none does."""
        return self._no_room if self._delayed else ""

    # Orders

    async def carry_out(self, order: LauncherOrder) -> None:
        match order:
            case Start():
                await self._start(order)
            case SizeChanged():
                await self._resize(order)
            case Preempt():
                self._preempt(order)
            case _:
                assert_never(order)

    async def _start(self, start: Start) -> None:
        if (record := self._domain.jobs.get(start.job)) is not None:
            await self._launch(record)
            if record.is_launched:
                self._play(start.job, start.allocation)

    async def _resize(self, resized: SizeChanged) -> None:
        if self.resizes is not None:
            await self.resizes.settle()
        self._play(resized.job, resized.allocation)

    def _preempt(self, order: Preempt) -> None:
        if isinstance(self._launcher, PlayingLauncher):
            self._launcher.requeue(order.job, keeps_work=order.keeps_work)
            self._run_over(order.job)
        elif self._launcher.preempts:
            self._preemptions.begin(order.job)
        else:
            self._domain.runs_on(order.job, "its resource manager cannot launch a job again")

    async def _end_run(self, job: JobId) -> None:
        """End a run whose job is queued again; ManagerError. Once nothing of it is left, it may be launched again."""
        record = self._domain.jobs.get(job)
        if record is None or record.preempted_at is None:
            return
        if job in self._launching:
            raise ManagerError("it is being launched")
        if job not in self._over:
            with suppress(UnknownJobError):  # it was never launched, or has been forgotten
                await self._launcher.preempt(job)
                if job not in self._over:
                    return  # its end is reported
        await self._launcher.forget(job)
        self._over.discard(job)
        self._run_over(job)

    def _run_over(self, job: JobId) -> None:
        self._runs.discard(job)
        self._domain.run_over(job)

    def _play(self, job: JobId, allocation: Allocation | None) -> None:
        if allocation is not None and isinstance(self._launcher, PlayingLauncher):
            self._launcher.play(job, allocation)

    async def _launch(self, record: JobRecord) -> None:
        """Start a job, or end it as failed if it cannot start.

        It waits until an agreed instant, while disk or descriptors are short, or while jobs that are to give up nodes
        for it have not answered.
        """
        if (at := record.job.start_at) is not None:
            await asyncio.sleep(min(at - time.time(), MAX_AHEAD))
        try:
            await self._try(record)
        except NoRoomError as error:
            if not self._no_room:  # log it once, however many jobs wait
                _LOG.error("stalled: %s; it is tried again until it can be written", error)
            self._no_room = str(error)
            self._delay(record, Waits.DISK_FULL)
        except NodesBusyError:
            self._delay(record, Waits.NODES_BUSY)

    def _delay(self, record: JobRecord, why: Waits) -> None:
        if (job := str(record.id)) not in self._delayed:
            self._domain.waits_to_begin(job, why)
            self._delayed[job] = self._tasks.run(self._launch_later(record))
            self._delayed[job].add_done_callback(lambda _: self._launched(job))

    def _launched(self, job: JobId) -> None:
        del self._delayed[job]
        if not self._delayed:
            self._no_room = ""

    async def _launch_later(self, record: JobRecord) -> None:
        while True:
            await (asyncio.sleep(TRY_AGAIN) if self.resizes is None else self.resizes.freed(TRY_AGAIN))
            with suppress(NoRoomError, NodesBusyError):
                return await self._try(record)

    async def _try(self, record: JobRecord) -> None:
        """Start a job, or end it as failed if it cannot start. NoRoomError; NodesBusyError if nodes can be resized."""
        job = str(record.id)
        if not record.is_launched or job in self._starting or job in self._runs:
            return  # it was preempted meanwhile; or what still waited for its nodes launches it for this start, too
        if record.cancelled_by is not None:
            self._domain.end(job, JobState.CANCELLED, UNSTARTED)
            return
        self._starting.add(job)
        try:
            await self._launch_when_free(record)
        except ManagerError as error:
            if isinstance(error, NoRoomError) or (self.resizes is not None and isinstance(error, NodesBusyError)):
                raise
            _LOG.warning("job %s cannot be started: %s", job, error)
            self._domain.metrics.launch_failures.inc()
            self._domain.end(job, JobState.FAILED, f"it could not be started: {error}")
        finally:
            self._starting.discard(job)

    def _script(self, record: JobRecord) -> JobScript:
        try:
            script = self._domain.store.script(record.id)
        except StoreError as error:
            raise ManagerError(f"its script cannot be read: {error.reason}") from error
        if script is None:
            raise ManagerError("its script is not stored")
        return script

    async def _launch_when_free(self, record: JobRecord) -> None:
        script = self._script(record)
        if self.resizes is not None:
            self.resizes.room(str(record.id), record.node_count)
            await self._launch_now(record, script)
            await self.resizes.settle()
            return
        patience = BUSY_PATIENCE
        while record.is_launched:
            try:
                await self._launch_now(record, script)
            except NodesBusyError:
                if patience == 0:
                    raise
                patience -= not any(other.preempted_at is not None for other in self._domain.jobs.values())
                await asyncio.sleep(BUSY_PAUSE)
            else:
                return

    async def _launch_now(self, record: JobRecord, script: JobScript) -> None:
        spec = spec_of(record, script, self._finding, NONE if self._tell is None else self._tell(record))
        self._launching.add(spec.job_id)
        try:
            await self._launcher.launch(spec)
            self._runs.add(spec.job_id)
        finally:
            self._launching.discard(spec.job_id)

    async def cancel(self, job: JobId) -> None:
        """See Work. A job whose run was preempted is cancelled when that has ended."""
        if self._domain.jobs[job].preempted_at is not None:
            return
        if job in self._delayed and job not in self._launching:  # else it may be there already
            self._delayed[job].cancel()
            self._domain.end(job, JobState.CANCELLED, UNSTARTED)
            return
        if self._domain.state(job) in WAITING:
            self._domain.end(job, JobState.CANCELLED, why_cancelled(self._domain.jobs[job].cancelled_by or ""))
            return
        await self._launcher.cancel(job)

    # Reports

    def hear(self, report: Report) -> None:
        match report:
            case Started():
                self._began(report)
            case Ended():
                self._ended(report)
            case _:
                assert_never(report)

    def _began(self, report: Started) -> None:
        """Note that a run has begun. If the scheduler has queued its job again, end it: it counts for no start."""
        record = self._domain.jobs.get(report.job_id)
        if record is None or record.preempted_at is None or record.job.again:
            self._domain.started(report.job_id, report.at)

    def _ended(self, report: Ended) -> None:
        if self.resizes is not None:
            self.resizes.forget(report.job_id)
            self.resizes.nodes_are_free()
            self._tasks.run(self.resizes.settle())
        record = self._domain.jobs.get(report.job_id)
        if record is not None and record.preempted_at is not None and report.how in (End.CANCELLED, End.LOST):
            self._over.add(report.job_id)
            self._preemptions.begin(report.job_id)
            return
        self._runs.discard(report.job_id)
        if record is not None:
            if report.started_at is not None and record.is_starting:
                self._domain.started(report.job_id, report.started_at)
            tell_end(self._domain, report)
        else:  # its end is recorded already
            self._tasks.run(self._forget_durably(report.job_id))

    async def _forget_durably(self, job: JobId) -> None:
        await self._domain.turns.durable()
        await forget(self._launcher, job)

    # After a restart

    async def take_up(self, found: Mapping[str, Report | None], running: Collection[JobId]) -> None:
        """See Work. Runs that were preempted are ended first: those that start may wait for their nodes."""
        self._preemptions.resume(lambda record: record.preempted_at is not None)
        slices = Slices()  # there may be thousands
        for job in running:
            await slices.pause()
            record = self._domain.jobs.get(job)
            if record is None or job in found or not record.is_launched:
                continue
            if self._launcher.may_have_forgotten:  # it may have run: do not run it twice
                self._domain.end(job, JobState.FAILED, HOST_RESTARTED)
            elif self.resizes is not None and record.job.start_at is None:
                await self._launch(record)  # its launch was recorded here, but not carried out yet
            else:
                self._tasks.run(self._launch(record))  # it may have to wait, until a run has ended too
        if self.resizes is not None:
            await self.resizes.settle()
            self._tasks.run(self.resizes.watch())
        for job, report in found.items():
            await slices.pause()
            if isinstance(report, Ended):
                self._ended(report)
            elif report is not None and job in self._domain.jobs:
                self._began(report)
            elif job not in self._domain.jobs:
                _LOG.error("the manager runs job %s, which is not recorded as running here", job)
