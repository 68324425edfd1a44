"""Sequences of several steps in Slurm: a yield, a forced release.

The service may die at any step without losing the job. At each step the job waits in its hook, or is queued with a
start time. Either we have set this time, or Slurm has: two minutes ahead by default, which `mend` shortens. Priorities
and nice values never change: a change of nice would release a job that its user holds, and where priorities are small
it could not be undone exactly.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from cosched_adapters.batch_job import Phase
from cosched_adapters.manager import ManagerError, MustHoldError, NoRequeueError, UnknownJobError
from cosched_adapters.programs import until_it_answers
from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import JobRow, NotPendingError
from cosched_adapters.slurm.gates import SlurmGates
from cosched_adapters.slurm.hook_server import HookServer
from cosched_adapters.slurm.register import Register
from cosched_adapters.watch import Watch

_LOG = logging.getLogger(__name__)
_UNTOLD = 1.0  # seconds to wait for a hook's message before we ask squeue
_STILL_BUSY = 0.2  # seconds between two tries to move a start time
OTHERS_TURN = 60  # seconds that a released job is kept back at most, so that others get its nodes offered first
_MOST_LOOKS = 30  # at a released job
_LET_RUN = (Phase.TOLD_TO_START, Phase.RUNNING)
_NOT_CONSIDERED = ("", "None", "Cleaning")  # reasons of a job that Slurm has not looked at since its requeue
_CLOCK_TICKS = 2  # seconds by which Slurm's times may differ: it reads the clock more than once


class Sequences:
    """The sequences for one cluster, which keeps a requeued job back for `requeue_delay` seconds."""

    def __init__(
        self,
        slurm: Slurm,
        watch: Watch,
        hooks: HookServer | SlurmGates,
        register: Register,
        clock: Callable[[], float],
        requeue_delay: int,
    ) -> None:
        self._slurm, self._watch, self._hooks, self._register = slurm, watch, hooks, register
        self._clock, self._requeue_delay = clock, requeue_delay

    async def give_back(self, job: BatchJob, backoff: float, offer: int | None = None) -> bool:
        """Make a job yield, and keep it queued for `backoff` seconds.

        False: its hook does not wait, or another one than that of this offer. MustHoldError.
        """
        async with job.order:
            if not self._give_back(job, offer):
                return False
            if await self._requeued(job):
                await self._set_start(job, math.ceil(backoff))
            return True

    async def release(self, job: BatchJob, offer: int | None = None) -> bool:
        """Make a job yield, let Slurm offer its nodes to all other jobs, then let the job take part again.

        False: as of `give_back`. MustHoldError.
        """
        async with job.order:
            if not self._give_back(job, offer):
                return False
            if await self._requeued(job):
                await self._set_start(job, OTHERS_TURN)
                await self._considered(job)
                await self._set_start(job, 0)
            return True

    async def try_start(self, job: BatchJob, patience: float) -> int:
        """Make Slurm consider the queued job; return the offer that it has within `patience` seconds, 0 if none."""
        return await self._register.wait_for_offer(job, patience, lambda: self.hasten(job))

    async def mend(self, row: JobRow, delay: int) -> None:
        """Shorten the time that Slurm keeps a requeued job back to `delay` seconds."""
        job = self._register.jobs.get(row.job_id)
        if job is None:
            return
        async with job.order:
            if self._kept_back_by_slurm(job):
                await self._set_start(job, delay)

    async def set_right(self, job: BatchJob) -> None:
        """Requeue a job that Slurm shows as running but does not launch. Then `mend` lets it begin.

        Repeats the command until the queue shows the requeue: a slurmctld that is about to stop may forget it. Cancel
        a job again that Slurm has requeued after its end.
        """
        async with job.order:
            if job.phase is Phase.ENDED:
                await until_it_answers(lambda: self._slurm.cancel(job.job_id))
            while job.phase is Phase.UNLAUNCHED:
                try:
                    await until_it_answers(lambda: self._slurm.requeue(job.job_id))
                except UnknownJobError:
                    return
                except ManagerError as error:  # perhaps it was requeued before, and is still ending
                    _LOG.info("job %s is to be requeued: %s", job.job_id, error)
                await self._watch.fresh()

    async def end_run(self, job: BatchJob) -> None:
        """Queue a running job again, and let it begin as soon as it can. NoRequeueError; ManagerError: not now."""
        async with job.order:
            if job.phase not in _LET_RUN:
                return
            if not job.can_yield:
                why = "srun, salloc, --no-requeue or JobRequeue=0"
                raise NoRequeueError(f"job {job.job_id} cannot be queued again by Slurm ({why})")
            turn = job.restarts
            await self._slurm.requeue(job.job_id)
            while job.restarts == turn and job.phase is not Phase.ENDED:  # its run ends first
                await asyncio.sleep(_STILL_BUSY)
                await self._watch.fresh()
            await self._set_start(job, 0)

    def _give_back(self, job: BatchJob, offer: int | None) -> bool:
        if job.phase is not Phase.OFFERED or offer not in (None, job.number):
            return False
        if not job.can_yield:
            raise MustHoldError(f"job {job.job_id} cannot yield: Slurm would cancel it (srun, salloc or --no-requeue)")
        if not self._hooks.give_back(job.job_id):
            return False
        job.given_back = job.offer.restarts if job.offer is not None else None
        job.phase, job.changed, job.reason = Phase.GIVING_BACK, self._clock(), ""
        return True

    async def _requeued(self, job: BatchJob) -> bool:
        """Wait until the job is queued; False: it is offered again, or has ended."""
        while job.phase is Phase.GIVING_BACK:
            job.moved.clear()
            try:
                async with asyncio.timeout(_UNTOLD):
                    await job.moved.wait()
            except TimeoutError:
                await self._watch.fresh()
        return job.phase is Phase.QUEUED

    async def _considered(self, job: BatchJob) -> None:
        """Wait until Slurm has gone through the queue without this job, which its start time keeps back."""
        for _ in range(_MOST_LOOKS):
            if job.phase is not Phase.QUEUED or job.reason not in _NOT_CONSIDERED:
                return
            await self._watch.fresh()

    async def _set_start(self, job: BatchJob, delay: int) -> None:
        while job.phase is Phase.QUEUED:
            delay = self._launchable(job, delay)
            try:
                await until_it_answers(partial(self._slurm.set_start, job.job_id, delay))
                job.reason = ""
                job.eligible = job.kept_back = time.time() + delay
                return
            except NotPendingError:  # not yet, or no longer: a message of its hook, or the queue, will say
                self._watch.hint()
                await asyncio.sleep(_STILL_BUSY)
            except UnknownJobError:
                self._watch.hint()
                return
            except ManagerError as error:
                _LOG.error("job %s starts when Slurm likes, up to two minutes late: %s", job.job_id, error)
                return

    async def hasten(self, job: BatchJob) -> None:
        """Make Slurm consider the queued job now, unless its user wants it to begin later."""
        async with job.order:
            with suppress(NotPendingError):  # Slurm has chosen it, and its hook is about to connect
                if job.phase is Phase.QUEUED and not self.begins_later(job):
                    await self._slurm.set_start(job.job_id, self._launchable(job, 0))

    def _launchable(self, job: BatchJob, delay: int) -> int:
        """Return after how many seconds a job may start, no less than `delay`.

        In the second in which its last run ended nodes refuse it ("Job credential revoked"), and it fails.
        """
        return max(delay, math.ceil(job.submitted + 1 - time.time())) if job.restarts else delay

    def begins_later(self, job: BatchJob) -> bool:
        """Return whether its user has set a begin time that is still ahead."""
        by_us = abs(job.eligible - job.kept_back) <= _CLOCK_TICKS
        later = job.eligible > time.time() + _CLOCK_TICKS
        return later and not by_us and not self._kept_back_by_slurm(job)

    def _kept_back_by_slurm(self, job: BatchJob) -> bool:
        """Return whether Slurm keeps the job back because of its requeue."""
        return job.restarts > 0 and abs(job.eligible - job.submitted - self._requeue_delay) <= _CLOCK_TICKS
