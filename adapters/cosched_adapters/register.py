"""The register of jobs that name a mate: looks at the queue and hooks change it, and changes become reports."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Generic, TypeVar

from cosched.core.protocol import MateProblem, Named
from cosched_adapters.batch_job import BatchJob, Phase
from cosched_adapters.batch_system import Appeared, BatchReport, Gone, JobOutlook, Refused, Relinked
from cosched_adapters.manager import Ended, ManagerError
from cosched_adapters.mate_fields import WordError, find

_LOG = logging.getLogger(__name__)
Job = TypeVar("Job", bound=BatchJob)


class Register(Generic[Job]):
    """Reports go to `report`; `clock` is the loop's."""

    def __init__(self, report: Callable[[BatchReport], None], clock: Callable[[], float]) -> None:
        self.jobs: dict[str, Job] = {}
        self._report, self._clock = report, clock
        self._others: dict[str, int] = {}  # jobs that name no mate, and when they were submitted
        self._refused: dict[str, float] = {}  # jobs that cannot have their mates, and when that was found
        self._numbers = itertools.count(1)  # of offers
        self._before: frozenset[str] = frozenset()  # jobs that were known when the last look began

    def add(self, job: Job) -> Job:
        """Take up a job that was not known."""
        self.jobs[job.job_id] = job
        self._others.pop(job.job_id, None)
        self._report(Appeared(*job.told()))
        return job

    def outlooks(self) -> Mapping[str, JobOutlook]:
        """Return what is expected of the jobs that wait."""
        return {}

    def _those_queued(self) -> list[Job]:
        return [job for job in self.jobs.values() if job.phase is Phase.QUEUED]

    def _tell_offer(self, job: Job) -> None:
        """Tell the caller who waits for this job's offer, or else all."""
        if job.wanted is not None and not job.wanted.done():
            job.wanted.set_result(None)
        else:
            self.report_offer(job)

    def report_offer(self, job: Job) -> None:
        """Report the job's offer, if it has one."""
        if job.phase is Phase.OFFERED:
            self._report(job.as_offer())

    async def wait_for_offer(self, job: Job, patience: float, hasten: Callable[[], Awaitable[None]]) -> int:
        """Return the number of the offer that a job has within `patience` seconds, which `hasten` brings; 0: none."""
        if job.phase not in (Phase.QUEUED, Phase.CHOSEN, Phase.GIVING_BACK):
            return job.offered_as
        wanted = job.wanted = asyncio.get_running_loop().create_future()
        try:
            with suppress(TimeoutError, ManagerError):
                async with asyncio.timeout(patience):
                    await hasten()
                    await wanted
        except asyncio.CancelledError:
            if wanted.done() and not wanted.cancelled():
                self.report_offer(job)  # nobody waits for it any more
            raise
        finally:
            job.wanted = None
        return job.offered_as

    def forget(self, job_id: str) -> bool:
        """Drop a job that has ended; one that has not stays. False: nothing was dropped."""
        over = job_id in self.jobs and self.jobs[job_id].phase is Phase.ENDED
        if over:
            del self.jobs[job_id]
        return over

    # Looks at the queue

    def begin_look(self) -> float:
        """Note that a look begins; return the instant, by the loop's clock."""
        self._before = frozenset(self.jobs)
        return self._clock()

    def _is_new(self, job_id: str) -> bool:
        """Return whether a job is not known, and was not when the look began: else it has been forgotten meanwhile."""
        return job_id not in self.jobs and job_id not in self._before

    def missing(self, seen: Collection[str], began: float) -> list[Job]:
        """Return the jobs that a look which began at `began` did not find among those that have not ended."""
        waiting = (job for job in self.jobs.values() if job.phase is not Phase.ENDED)
        return [job for job in waiting if job.job_id not in seen and job.changed < began]

    def _drop_unseen(self, seen: Collection[str], began: float) -> None:
        """Forget other jobs, and those that were refused, if a look did not find them."""
        self._others = {job: submitted for job, submitted in self._others.items() if job in seen}
        for gone in [name for name, at in self._refused.items() if name not in seen and at < began]:
            del self._refused[gone]
            self._report(Gone(gone))

    def note_end(self, job: Job, end: Ended) -> None:
        """Note a job's end."""
        if job.phase is not Phase.ENDED:
            self._enter(job, Phase.ENDED)
            job.end = end
            self._report(end)

    def _enter(self, job: Job, phase: Phase) -> None:
        job.phase, job.changed = phase, self._clock()

    # Mates

    def names_no_mate(self, job_id: str) -> bool:
        """Return whether this is a queued job that names no mate at present."""
        job = self.jobs.get(job_id)
        return job_id in self._others if job is None else job.named is None and job.phase is Phase.QUEUED

    def name(self, job: Job, named: Named | None) -> None:
        """Note that a job names another mate, or none, by our word; a look that has begun does not know of it."""
        job.named, job.changed = named, self._clock()

    def relink(self, job: Job, named: Named | None) -> None:
        """Note that a job names another mate, or none."""
        self.name(job, named)
        self._report(Relinked(job.job_id, named))

    def find(self, job_id: str, owner: str, words: Mapping[str, str], why_not: str) -> Named | None:
        """Return the mate that a job's words name; None also if it cannot have one, for its words or for `why_not`."""
        try:
            named = find(words)
        except WordError as error:
            self.refuse(job_id, owner, str(error))
            return None
        if named is not None and why_not:
            self.refuse(job_id, owner, why_not, named)
            return None
        return named

    def refuse(
        self, name: str, owner: str, why: str, named: Named | None = None, kind: MateProblem | None = MateProblem.ARRAY
    ) -> None:
        """Note that a job starts alone; `named`: whom it asks for, if it can have no mate for a problem of `kind`."""
        known, self._refused[name] = name in self._refused, self._clock()
        if not known:
            _LOG.warning("job %s of %s starts alone: %s", name, owner, why)
            self._report(Refused(name, owner, why, named, None if named is None else kind))
