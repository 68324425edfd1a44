"""What is known of the jobs that name a mate: looks at the queue and the gates' questions change it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from cosched.core.protocol import Named
from cosched_adapters import register
from cosched_adapters.batch_job import SECOND, Phase
from cosched_adapters.batch_system import BatchReport, JobOutlook, Withdrawn
from cosched_adapters.gridengine.batch_job import BatchJob
from cosched_adapters.gridengine.commands import JobRow
from cosched_adapters.gridengine.gates import Gate
from cosched_adapters.gridengine.records import Records
from cosched_adapters.manager import Started
from cosched_adapters.slices import Slices

ARRAY = "a job array cannot have a mate: its tasks start one by one"
_UNASKED = 90.0  # seconds for which a job has slots before it counts as started without a prolog
_LOG = logging.getLogger(__name__)


class Register(register.Register[BatchJob]):
    """Reports go to `report`; `clock` is the loop's."""

    def __init__(self, report: Callable[[BatchReport], None], clock: Callable[[], float], records: Records) -> None:
        super().__init__(report, clock)
        self._records = records
        self._queue: list[str] = []  # jobs that wait, in the order of the last look

    # Looks at the queue

    async def see(self, rows: Sequence[JobRow], began: float) -> None:
        """Process all jobs that have not ended, as a look that began at `began` found them, in slices."""
        self._queue = [row.job_id for row in rows if row.pending]
        seen, deleted, slices = {row.job_id for row in rows}, {row.job_id for row in rows if row.deleted}, Slices()
        leaving = [job for job in self.jobs.values() if job.deleted or job.job_id in deleted]
        for row in rows:
            await slices.pause()
            job = self.jobs.get(row.job_id)
            if self._is_new(row.job_id):
                if not any(_has_its_mate_yet(job, row) for job in leaving):
                    self.learn(row)
            elif job is not None and job.changed < began and job.phase is not Phase.ENDED and not job.order.locked():
                self._follow(job, row)
        self._drop_unseen(seen, began)

    def knows(self, job_id: str) -> bool:
        """Return whether a look has found this job."""
        return job_id in self.jobs or job_id in self._others or job_id in self._refused

    def learn(self, row: JobRow) -> BatchJob | None:
        """Take up a job that was not known; None: it names no mate, or cannot have one."""
        named = self._named(row)
        if named is None:
            self._others[row.job_id] = row.submitted_at
            return None
        job = self.add(
            BatchJob(
                job_id=row.job_id, owner=row.owner, named=named, words=dict(row.words), nodes=row.slots,
                submitted=row.submitted_at, name=row.name, time_limit=row.time_limit, account=row.account,
            )
        )  # fmt: skip
        self._records.keep(job)
        self._follow(job, row)
        return job

    def _follow(self, job: BatchJob, row: JobRow) -> None:
        job.missed = None
        job.submitted = row.submitted_at or job.submitted
        job.account, job.time_limit = row.account, row.time_limit
        self.follow_words(job, row)
        if row.deleted and not job.deleted:
            job.deleted = True
            self._records.keep(job)
        if row.pending and job.phase is not Phase.QUEUED:
            self.withdraw(job)
        elif not row.pending and row.state and job.phase is Phase.QUEUED:
            if not row.turn or row.turn != job.given_back:  # else its execd has not found yet that its prolog has ended
                self._chosen(job)
        elif job.phase is Phase.CHOSEN and self._clock() > job.changed + _UNASKED:
            self._unasked(job)

    def _chosen(self, job: BatchJob) -> None:
        self._enter(job, Phase.CHOSEN)
        if job.run:  # this run was let go by an earlier service; if it is another one, its prolog will tell
            job.phase = Phase.RUNNING
            self.tell_started(job)

    def _unasked(self, job: BatchJob) -> None:
        _LOG.warning("job %s has started without permission: no prolog has asked", job.job_id)
        self.let_go(job, "unasked", time.time())
        self.tell_started(job)

    def tell_started(self, job: BatchJob) -> None:
        """Report that a job runs."""
        self._report(Started(job.job_id, round((job.started or time.time()) * SECOND)))

    def follow_words(self, job: BatchJob, row: JobRow) -> None:
        """Note whom the job names now."""
        if job.words != row.words:
            job.words = dict(row.words)
            named = self._named(row)
            self._records.keep(job)
            if named != job.named:
                self.relink(job, named)

    def withdraw(self, job: BatchJob) -> None:
        """Note that a job has lost its slots, and is queued again."""
        told = job.phase is not Phase.QUEUED
        self._enter(job, Phase.QUEUED)
        if job.run:
            job.run, job.started = "", None
            self._records.keep(job)
        if told:
            self._report(Withdrawn(job.job_id))

    def _enter(self, job: BatchJob, phase: Phase) -> None:
        super()._enter(job, phase)
        job.gate = None

    def forget(self, job_id: str) -> bool:
        """See the class above: its record goes, too."""
        forgotten = super().forget(job_id)
        if forgotten:
            self._records.drop(job_id)
        return forgotten

    def outlooks(self) -> dict[str, JobOutlook]:
        """Return the places of the jobs that wait; Grid Engine expects nothing else."""
        places = {job_id: place for place, job_id in enumerate(self._queue, 1)}
        queued = (job.job_id for job in self._those_queued() if job.job_id in places)
        return {id: JobOutlook(place=places[id], queued=len(places)) for id in queued}

    # Gates

    def offered(self, job: BatchJob, gate: Gate) -> None:
        """Note that a job's prolog waits."""
        if job.phase is Phase.RUNNING and job.run == gate.run:  # the answer was lost
            gate.start(job.started, job.finding)
            return
        if job.phase is Phase.ENDED:
            gate.requeue()  # Grid Engine has given it up, but its prolog has not heard
            return
        if job.named is None:
            gate.start()
            return
        if job.phase in (Phase.RUNNING, Phase.OFFERED):
            self.withdraw(job)
        self._enter(job, Phase.OFFERED)
        job.gate, job.nodelist, job.nodes, job.number = gate, gate.hosts, gate.slots, next(self._numbers)
        self._tell_offer(job)

    def gone(self, gate: Gate) -> BatchJob | None:
        """Note that a prolog has ended without an answer, or lost its connection; it asks again then."""
        job = self.jobs.get(gate.job_id)
        if job is None or job.gate is not gate:
            return None
        self.withdraw(job)
        return job

    def let_go(self, job: BatchJob, run: str, at: float) -> None:
        """Note on disk, and then here, that this run of a job starts."""
        job.run, job.started = run, at
        self._records.keep(job)
        self._enter(job, Phase.RUNNING)

    # Mates

    def put(self, job: BatchJob, named: Named | None, words: Mapping[str, str]) -> None:
        """Note that a job names another mate, or none, by our words."""
        self.name(job, named)
        job.words = {name: value for name, value in {**job.words, **words}.items() if value}
        self._records.keep(job)

    def _named(self, row: JobRow) -> Named | None:
        """Return the mate that a job names; None also if it cannot have one."""
        return self.find(row.job_id, row.owner, row.words, ARRAY if row.array else "")


def _has_its_mate_yet(job: BatchJob, row: JobRow) -> bool:
    """Return whether a job that was deleted, and is not gone yet, has a new one's mate: that appears after its end."""
    return job.phase is not Phase.ENDED and job.owner == row.owner and job.words == row.words
