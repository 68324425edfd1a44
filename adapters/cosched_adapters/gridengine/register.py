"""What is known of the jobs that name a mate: looks at the queue and the gates' questions change it."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from cosched.core.protocol import MateProblem, Named
from cosched_adapters.batch_system import (
    Appeared,
    BatchReport,
    Gone,
    JobOutlook,
    Known,
    Offered,
    Refused,
    Relinked,
    Withdrawn,
)
from cosched_adapters.gridengine.batch_job import BatchJob, Phase
from cosched_adapters.gridengine.commands import JobRow
from cosched_adapters.gridengine.ends import SECOND
from cosched_adapters.gridengine.gates import Gate
from cosched_adapters.gridengine.records import Kept, Records
from cosched_adapters.manager import Ended, Started
from cosched_adapters.mate_fields import WordError, find

ARRAY = "a job array cannot have a mate: its tasks start one by one"
# Seconds for which a job has slots before it counts as started without a prolog. An execd that was started anew takes
# 60 to find that prologs have ended: until then, a job that was given back looks as one that runs.
_UNASKED = 90.0
_LOG = logging.getLogger(__name__)


class Register:
    """Reports go to `report`; `clock` is the loop's."""

    def __init__(self, report: Callable[[BatchReport], None], clock: Callable[[], float], records: Records) -> None:
        self.jobs: dict[str, BatchJob] = {}
        self._report = report
        self._clock = clock
        self._records = records
        self._others: set[str] = set()  # queued jobs that name no mate
        self._refused: dict[str, float] = {}  # jobs that cannot have their mates, and when that was reported
        self._queue: list[str] = []  # jobs that wait, in the order of the last look
        self._numbers = itertools.count(1)  # of offers

    # Looks at the queue

    def missing(self, rows: Iterable[JobRow], began: float) -> list[BatchJob]:
        """Return the jobs that a look which began at `began` did not find among those that have not ended."""
        seen = {row.job_id for row in rows}
        waiting = (job for job in self.jobs.values() if job.phase is not Phase.ENDED)
        return [job for job in waiting if job.job_id not in seen and job.changed < began]

    def see(self, rows: Sequence[JobRow], began: float) -> None:
        """Process all jobs that have not ended, as a look that began at `began` found them."""
        self._queue = [row.job_id for row in rows if row.pending]
        seen = {row.job_id for row in rows}
        for row in rows:
            job = self.jobs.get(row.job_id)
            if job is None and not self._has_its_mate_yet(row):
                self.learn(row)
            elif job is not None and job.changed < began and job.phase is not Phase.ENDED and not job.order.locked():
                self._follow(job, row)
        self._others &= seen
        for gone in [id for id, at in self._refused.items() if id not in seen and at < began]:
            del self._refused[gone]
            self._report(Gone(gone))

    def knows(self, job_id: str) -> bool:
        """Whether a look has found this job."""
        return job_id in self.jobs or job_id in self._others or job_id in self._refused

    def _has_its_mate_yet(self, row: JobRow) -> bool:
        """Whether a job that was deleted, and is not gone yet, has the mate of a new one: it appears after that end."""
        return any(
            job.kept.deleted and job.phase is not Phase.ENDED and job.kept.owner == row.owner
            and job.kept.words == row.words
            for job in self.jobs.values()
        )  # fmt: skip

    def learn(self, row: JobRow) -> BatchJob | None:
        """Take up a job that was not known; None: it names no mate, or cannot have one."""
        named = self._named(row)
        if named is None:
            self._others.add(row.job_id)
            return None
        told = row.slots, row.submitted_at, row.name, row.time_limit, row.account
        job = self.take_up(Kept(row.job_id, row.owner, dict(row.words), *told), named)
        self._records.keep(job.kept)
        self._others.discard(row.job_id)
        self._report(Appeared(*_told(job)))
        self._follow(job, row)
        return job

    def take_up(self, kept: Kept, named: Named | None) -> BatchJob:
        """Add a job that is on record."""
        job = self.jobs[kept.job_id] = BatchJob(kept, named)
        return job

    def _follow(self, job: BatchJob, row: JobRow) -> None:
        kept, job.missed = job.kept, None
        kept.submitted = row.submitted_at or kept.submitted
        kept.account, kept.time_limit = row.account, row.time_limit
        self.follow_words(job, row)
        if row.deleted and not kept.deleted:
            kept.deleted = True
            self._records.keep(kept)
        if row.pending and job.phase is not Phase.QUEUED:
            self.withdraw(job)
        elif not row.pending and row.state and job.phase is Phase.QUEUED:
            self._chosen(job)
        elif job.phase is Phase.CHOSEN and self._clock() > job.changed + _UNASKED:
            self._unasked(job)

    def _chosen(self, job: BatchJob) -> None:
        job.phase, job.changed = Phase.CHOSEN, self._clock()
        if job.kept.run:  # this run was let go by an earlier service; if it is another one, its prolog will tell
            job.phase = Phase.RUNNING
            self.tell_started(job)

    def _unasked(self, job: BatchJob) -> None:
        _LOG.warning("job %s has started without permission: no prolog has asked", job.job_id)
        self.let_go(job, "unasked", time.time())
        self.tell_started(job)

    def tell_started(self, job: BatchJob) -> None:
        """Report that a job runs."""
        self._report(Started(job.job_id, round((job.kept.started or time.time()) * SECOND)))

    def follow_words(self, job: BatchJob, row: JobRow) -> None:
        """Note whom the job names now."""
        if job.kept.words != row.words:
            job.kept.words = dict(row.words)
            named = self._named(row)
            self._records.keep(job.kept)
            if named != job.named:
                job.named = named
                self._report(Relinked(job.job_id, named))

    def withdraw(self, job: BatchJob) -> None:
        """Note that a job has lost its slots, and is queued again."""
        told = job.phase is not Phase.QUEUED
        job.phase, job.gate, job.changed = Phase.QUEUED, None, self._clock()
        if job.kept.run:
            job.kept.run, job.kept.started = "", None
            self._records.keep(job.kept)
        if told:
            self._report(Withdrawn(job.job_id))

    def ended(self, job: BatchJob, end: Ended) -> None:
        """Note a job's end."""
        if job.phase is not Phase.ENDED:
            job.phase, job.gate, job.end, job.changed = Phase.ENDED, None, end, self._clock()
            self._report(end)

    def forget(self, job_id: str) -> None:
        """Drop a job that has ended; one that has not stays."""
        if job_id in self.jobs and self.jobs[job_id].phase is Phase.ENDED:
            del self.jobs[job_id]
            self._records.drop(job_id)

    def outlooks(self) -> dict[str, JobOutlook]:
        """Return the places of the jobs that wait; Grid Engine expects nothing else."""
        places = {job_id: place for place, job_id in enumerate(self._queue, 1)}
        queued = (job.job_id for job in self.jobs.values() if job.phase is Phase.QUEUED)
        return {id: JobOutlook(place=places[id], queued=len(places)) for id in queued if id in places}

    # Gates

    def offered(self, job: BatchJob, gate: Gate) -> None:
        """Note that a job's prolog waits."""
        if job.phase is Phase.RUNNING and job.kept.run == gate.run:  # the answer was lost
            gate.start(job.kept.started, job.finding)
            return
        if job.phase is Phase.ENDED:
            gate.requeue()  # Grid Engine has given it up, but its prolog has not heard
            return
        if job.named is None:
            gate.start()
            return
        if job.phase in (Phase.RUNNING, Phase.OFFERED):
            self.withdraw(job)
        job.phase, job.gate, job.hosts, job.changed = Phase.OFFERED, gate, gate.hosts, self._clock()
        job.kept.nodes, job.number = gate.slots, next(self._numbers)
        if job.wanted is not None and not job.wanted.done():
            job.wanted.set_result(None)
        else:
            self.report_offer(job)

    def gone(self, gate: Gate) -> BatchJob | None:
        """Note that a prolog has ended without an answer, or lost its connection; it asks again then."""
        job = self.jobs.get(gate.job_id)
        if job is None or job.gate is not gate:
            return None
        self.withdraw(job)
        return job

    def report_offer(self, job: BatchJob) -> None:
        """Report the job's offer, if it has one."""
        if job.phase is Phase.OFFERED:
            kept = job.kept
            on = kept.submitted, kept.nodes, job.hosts, kept.owner, job.named
            self._report(Offered(job.job_id, *on, can_yield=True, number=job.number, account=kept.account))

    def let_go(self, job: BatchJob, run: str, at: float) -> None:
        """Note on disk, and then here, that this run of a job starts."""
        job.kept.run, job.kept.started = run, at
        self._records.keep(job.kept)
        job.phase, job.changed = Phase.RUNNING, self._clock()

    # Mates

    def names_no_mate(self, job_id: str) -> bool:
        """Whether this is a queued job that names no mate at present."""
        job = self.jobs.get(job_id)
        return job_id in self._others if job is None else job.named is None and job.phase is Phase.QUEUED

    def name(self, job: BatchJob, named: Named | None, words: Mapping[str, str]) -> None:
        """Note that a job names another mate, or none, by our word."""
        job.named = named
        job.kept.words = {name: value for name, value in {**job.kept.words, **words}.items() if value}
        self._records.keep(job.kept)

    def _named(self, row: JobRow) -> Named | None:
        """Return the mate that a job names; None also if it cannot have one."""
        try:
            named = find(row.words)
        except WordError as error:
            self._refuse(row, str(error))
            return None
        if named is not None and row.array:
            self._refuse(row, ARRAY, named)
            return None
        return named

    def _refuse(self, row: JobRow, reason: str, named: Named | None = None) -> None:
        """Note that a job starts alone; `named`: those whom an array asks for."""
        known, self._refused[row.job_id] = row.job_id in self._refused, self._clock()
        if not known:
            _LOG.warning("job %s of %s starts alone: %s", row.job_id, row.owner, reason)
            problem = None if named is None else MateProblem.ARRAY
            self._report(Refused(row.job_id, row.owner, reason, named, problem))


def known(jobs: Iterable[BatchJob]) -> dict[str, Known]:
    """Return jobs and their states, for `open`."""
    found = {}
    for job in jobs:
        running, started = job.phase is Phase.RUNNING, job.kept.started
        offered = job.phase in (Phase.CHOSEN, Phase.OFFERED)
        began = round(started * SECOND) if running and started is not None else None
        found[job.job_id] = Known(*_told(job), offered=offered, running=running, end=job.end, began=began)
    return found


def _told(job: BatchJob) -> tuple[str, int, int, str, Named | None, str, int, str]:
    """Return the fields of Appeared."""
    kept = job.kept
    return kept.job_id, kept.submitted, kept.nodes, kept.owner, job.named, kept.name, kept.time_limit, kept.account
