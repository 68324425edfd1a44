"""The register of jobs that name a mate. squeue's rows and the hooks' messages change it; changes become reports."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from cosched.core.protocol import MateProblem, Named
from cosched_adapters import register
from cosched_adapters.batch_job import SECOND, Phase
from cosched_adapters.batch_system import BatchReport, Gone, JobOutlook, Resized, Withdrawn
from cosched_adapters.manager import End, Ended, Started
from cosched_adapters.slices import Slices, in_slices
from cosched_adapters.slurm import states
from cosched_adapters.slurm.arrays import Arrays
from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.commands import JobRow, number
from cosched_adapters.slurm.comments import ARRAY, HET, CommentError, find, of_task
from cosched_adapters.slurm.hook_protocol import HookEnd, Offer
from cosched_adapters.slurm.places import Waiting, places, waiting_jobs
from cosched_adapters.slurm.states import Stage

PROBLEMS = {ARRAY: MateProblem.ARRAY, HET: MateProblem.HETEROGENEOUS}  # by the reason why a job can have no mate
_LOG = logging.getLogger(__name__)


class Hooks(Protocol):
    """The part of the hook server that the register uses."""

    def start(self, job_id: str, at: float | None = None) -> bool:
        """Let a job start, at an instant (seconds since 1970) if given. False: no hook waits."""

    def end(self, job_id: str) -> bool:
        """End a stale hook. False: no hook waits."""


class Register(register.Register[BatchJob]):
    """Reports go to `report`; `clock` is the loop's; `waits` says whether a job's hook has noted that it waits."""

    def __init__(
        self, report: Callable[[BatchReport], None], clock: Callable[[], float], waits: Callable[[JobRow], bool]
    ) -> None:
        super().__init__(report, clock)
        self.unseen: dict[str, Offer] = {}  # offers of jobs that we have to look up first
        self.hooks: Hooks
        self._waits = waits
        self.arrays = Arrays()
        self._misled: list[BatchJob] = []  # Slurm does not launch them, or has queued them again after their end
        self._waiting_jobs: list[Waiting] = []  # of all jobs that wait, by the last look

    # Rows of squeue

    async def unknown(self, rows: Sequence[JobRow]) -> list[str]:
        """Return the jobs whose details have to be queried; works in slices, as `see`."""
        found, slices = [], Slices()
        for row in rows:
            await slices.pause()
            job = self.jobs.get(row.job_id)
            if job is not None and row.submitted_at > job.submitted and row.restarts <= job.restarts:
                self._lose(job)  # with slurmctld's state; another job has its id now
            if row.job_id not in self.jobs and self._others.get(row.job_id) != row.submitted_at:
                found.append(row.job_id)
        return found

    def learn(self, row: JobRow) -> None:
        """Add a job from a row with its comment."""
        if row.job_id in self.jobs:
            return
        named = self._named(row)
        if named is not None and row.array is not None and not self.arrays.note(row):
            return
        offer = self.unseen.pop(row.job_id, None)
        if named is None:
            self._others[row.job_id] = row.submitted_at
            if offer is not None:
                self.hooks.start(row.job_id)
            return
        job = self.add(
            BatchJob(
                job_id=row.job_id, owner=row.user, named=named, nodes=row.nodes, can_yield=row.can_yield,
                appeared=row.submitted_at, submitted=row.submitted_at, restarts=row.restarts,
                name=row.name, time_limit=row.time_limit, account=row.account, queue=row.partitions, task=row.task,
                het=row.het is not None,
                phase=Phase.CHOSEN if states.stage(row.state) is Stage.CHOSEN else Phase.QUEUED,
                changed=self._clock(), told_nodes=row.nodes,
            )
        )  # fmt: skip
        self._follow(job, row)
        if offer is not None:
            self._take_offer(job, offer)

    def tell_arrays(self) -> bool:
        """Report the arrays with more tasks that are jobs of their own; return whether there are any."""
        told = self.arrays.untold()
        for array in told:
            self._refused[array.job_id] = self._clock()  # by its own id it is not a job that has a mate
            self._report(array)
        return bool(told)

    async def see(self, rows: Iterable[JobRow], began: float) -> list[JobRow]:
        """Process all rows of a look at the queue that began at `began` by the loop's clock, in slices.

        Returns the jobs that Slurm has requeued although their hooks waited, were about to connect, or were killed.
        """
        known, slices, requeued = {row.job_id: row for row in rows}, Slices(), []
        self._waiting_jobs = await in_slices(waiting_jobs(known.values()))
        for job in list(self.jobs.values()):
            await slices.pause()
            if self.jobs.get(job.job_id) is not job:  # it has gone meanwhile
                continue
            waited = job.hook_disconnected or job.phase in (Phase.CHOSEN, Phase.OFFERED, Phase.UNLAUNCHED)
            if job.job_id not in known:
                self._miss(job, began)
            elif job.changed < began:
                self._follow(job, known[job.job_id])
            if waited and job.phase is Phase.QUEUED and not job.hook_disconnected:
                requeued.append(known[job.job_id])
        self._others = {job: submitted for job, submitted in self._others.items() if job in known}
        self._drop_refused(known.values())
        return requeued

    def _drop_refused(self, rows: Collection[JobRow]) -> None:
        """Forget those that have ended."""
        there = [row for row in rows if self._refused and states.stage(row.state) is not Stage.ENDED]
        for name in self._refused.keys() - {name for row in there for name in (row.job_id, row.array, row.het)}:
            del self._refused[name]
            self.arrays.forget(name)
            self._report(Gone(name))

    def _follow(self, job: BatchJob, row: JobRow) -> None:
        now = states.stage(row.state)
        if now is not Stage.BETWEEN:  # on a requeue Slurm counts the restart first, and notes the submission later
            job.submitted, job.restarts = row.submitted_at, row.restarts
        job.reason, job.eligible = row.reason, float(row.eligible_at or 0)
        job.nodes, job.can_yield, job.account, job.queue = row.nodes, row.can_yield, row.account, row.partitions
        job.expected = row.started_at if now is Stage.QUEUED else None
        if job.phase is Phase.ENDED:
            if now is Stage.QUEUED:
                self._note_uncancelled(job, row)
            return
        if now is Stage.QUEUED:
            self._queued(job)
        elif now is Stage.RUNNING:
            self._running(job, row)
        elif now is Stage.ENDED:
            started = job.started or (row.started_at if row.state != "CANCELLED" else None)
            at = float(row.ended_at or time.time())
            self._ended(job, states.ended(job.job_id, row.state, row.exit_code, row.signal, at, started))
        job.moved.set()

    def _queued(self, job: BatchJob) -> None:
        before, job.phase, job.hook_disconnected = job.phase, Phase.QUEUED, False
        if before is Phase.OFFERED:
            self.hooks.end(job.job_id)  # Slurm has requeued the job, and calls no new hook while this one lives
        if before in (Phase.CHOSEN, Phase.OFFERED) or job.started is not None:
            self._report(Withdrawn(job.job_id))
        job.started = None

    def _running(self, job: BatchJob, row: JobRow) -> None:
        if self._is_unlaunched(job, row):
            self._note_unlaunched(job, row)
        elif job.phase not in (Phase.OFFERED, Phase.RUNNING):  # offered: we are about to notice that its hook has ended
            self._started(job, row)
        if job.phase is Phase.RUNNING:
            self._tell_size(job, row.nodes)

    def _tell_size(self, job: BatchJob, nodes: int) -> None:
        """Of a job that asks for a range of nodes squeue shows a guess, until Slurm has chosen."""
        if nodes != job.told_nodes:
            job.told_nodes = nodes
            self._report(Resized(job.job_id, nodes))

    def _is_unlaunched(self, job: BatchJob, row: JobRow) -> bool:
        """Return whether Slurm will not launch a job that it shows as running.

        Hooks are killed when slurmctld is stopped: by Slurm 25.05.7, 25.11.4 and later, and by systemd with any
        version. Slurm takes this for permission to start, and saves the job as running, but never launches it on the
        nodes. It cannot requeue jobs that must not yield: jobs of srun and salloc do run then.
        """
        if not row.can_yield or job.let_go == row.restarts:
            return False
        gave_up = job.phase is Phase.GIVING_BACK and job.offer is not None and job.offer.restarts == row.restarts
        unseen = job.offer is None and job.phase is not Phase.RUNNING  # no service was connected to its hook
        return job.killed == row.restarts or gave_up or (unseen and self._waits(row))

    def _note_unlaunched(self, job: BatchJob, row: JobRow) -> None:
        if job.phase is not Phase.UNLAUNCHED:
            if job.phase is Phase.CHOSEN:
                self._report(Withdrawn(job.job_id))
            job.phase, job.killed = Phase.UNLAUNCHED, row.restarts
            self._misled.append(job)
            _LOG.warning("job %s is requeued: Slurm has killed its hook (a restart of slurmctld?)", job.job_id)

    def _note_uncancelled(self, job: BatchJob, row: JobRow) -> None:
        """Note a job that was cancelled as it gave its turn up, and that Slurm has requeued since its hook failed.

        Nobody else has: it is in the turn that follows.
        """
        if job.end is not None and job.end.how is End.CANCELLED and job.given_back == row.restarts - 1:
            job.given_back = None
            self._misled.append(job)
            _LOG.warning("job %s is cancelled again: Slurm has requeued it, as it just gave its turn up", job.job_id)

    def _started(self, job: BatchJob, row: JobRow) -> None:
        if job.phase is not Phase.TOLD_TO_START and job.named is not None:
            _LOG.warning("job %s has started without permission", job.job_id)
        job.phase, job.hook_disconnected = Phase.RUNNING, False
        if job.started is None or (row.started_at or 0) > job.started + 1:  # Slurm was late
            job.started = float(row.started_at or time.time())
        self._report(Started(job.job_id, round(job.started * SECOND)))

    def _miss(self, job: BatchJob, began: float) -> None:
        if job.phase is Phase.ENDED:
            del self.jobs[job.job_id]
        elif job.changed < began:
            self._lose(job)

    def _lose(self, job: BatchJob) -> None:
        del self.jobs[job.job_id]
        if job.phase is Phase.OFFERED:
            self.hooks.end(job.job_id)  # it may be that of another job with this id: Slurm offers that again
        if job.phase is not Phase.ENDED:
            self._end(job, job.lost("Slurm does not know it any more"))

    def _ended(self, job: BatchJob, end: Ended) -> None:
        """Note an end, and end the hook that still waits.

        Slurm kills no hook that it was just about to call when the job was cancelled. It would requeue the job if the
        hook failed.
        """
        if job.phase is Phase.OFFERED:
            self.hooks.start(job.job_id)
        self._end(job, end)

    def _end(self, job: BatchJob, end: Ended) -> None:
        job.phase, job.end = Phase.ENDED, end
        job.moved.set()
        self._report(end)

    def outlooks(self) -> dict[str, JobOutlook]:
        """Return what Slurm expects of the jobs that wait."""
        queued = self._those_queued()
        found = places(self._waiting_jobs, (job.job_id for job in queued))
        return {
            job.job_id: JobOutlook(
                job.expected, "" if job.reason == "None" else job.reason, *found.get(job.job_id, (0, 0))
            )
            for job in queued
        }

    def take_misled(self) -> list[BatchJob]:
        """Return the jobs, found since the last call, that `Sequences.set_right` has to see to."""
        found, self._misled = self._misled, []
        return found

    # Messages of hooks

    def offered(self, offer: Offer) -> bool:
        """Note that a hook waits. False: the job's details have to be queried first."""
        job = self.jobs.get(offer.first)
        if job is None:
            self.unseen[offer.job_id] = offer
            return False
        if offer.first == offer.job_id:
            self._take_offer(job, offer)
        else:  # nothing of it runs before the first one's hook has ended
            self.hooks.start(offer.job_id)
        return True

    def _take_offer(self, job: BatchJob, offer: Offer) -> None:
        job.hook_disconnected, job.killed, job.let_go = False, None, None  # they concerned an earlier hook
        if not self._keeps_its_mate(job, offer):
            return
        let_go_before = job.started is not None and job.offer is not None
        if let_go_before and job.offer is not None and offer.restarts == job.offer.restarts:
            self.hooks.start(job.job_id, job.started)  # slurmctld was restarted before it got the answer
            return
        if let_go_before:
            self._report(Withdrawn(job.job_id))
        self._enter(job, Phase.OFFERED)
        job.offer = offer = replace(offer, nodes=job.nodes) if job.het else offer
        job.nodelist, job.started = offer.nodelist, None
        job.number = next(self._numbers)
        job.moved.set()
        if job.wanted is not None and not job.wanted.done():
            self._tell_size(job, offer.nodes)
        self._tell_offer(job)

    def report_offer(self, job: BatchJob) -> None:
        """Report the job's offer, if it has one."""
        if job.offer is not None and job.phase is Phase.OFFERED:
            job.told_nodes = job.offer.nodes
            self._report(replace(job.as_offer(), nodes=job.offer.nodes))

    def _keeps_its_mate(self, job: BatchJob, offer: Offer) -> bool:
        """Return whether the job's present comment still names a mate; if not, let the job start."""
        if job.phase is Phase.ENDED:
            _LOG.warning("job %s was requeued after its end: it starts alone", job.job_id)
            self.hooks.start(job.job_id)
            return False
        try:
            named = find(offer.comment)
            named = None if named is None else of_task(named, job.task)
        except CommentError as error:
            self.relink(job, None)
            self.refuse(job.job_id, offer.user, str(error))
            self.hooks.start(offer.job_id)
            return False
        if named != job.named:
            self.relink(job, named)
        return True

    def withdrawn(self, job_id: str) -> None:
        """Note that a hook has gone before it got an answer."""
        self.unseen.pop(job_id, None)
        job = self.jobs.get(job_id)
        if job is not None and job.phase is Phase.OFFERED:
            self._enter(job, Phase.QUEUED)
            job.hook_disconnected = True
            job.moved.set()
            self._report(Withdrawn(job_id))

    def starting(self, job_id: str, restarts: int) -> None:
        """Note that a hook lets its job start, with or without our answer. The job was requeued `restarts` times.

        If we have let it go, it begins now, or at its gate; squeue may say later that it did not.
        """
        if (job := self.jobs.get(job_id)) is not None:
            job.let_go = restarts
            if job.phase is Phase.TOLD_TO_START:
                job.started = max(time.time(), job.started or 0.0)
                self._report(Started(job_id, round(job.started * SECOND)))

    def killed(self, offer: Offer) -> None:
        """Note that a hook was killed before it let its job start, with or without our answer."""
        job = self.jobs.get(offer.job_id)
        if job is not None and job.offer is not None and job.offer.restarts == offer.restarts:
            job.killed = offer.restarts

    def ended(self, end: HookEnd) -> bool:
        """Note that a job has ended or was requeued. True: the caller should look at the queue."""
        job = self.jobs.get(end.job_id)
        if job is None or job.phase is Phase.ENDED:
            return False
        if end.state == "PENDING":
            return self._requeued(job, end.ended_at)
        if end.state in states.UNCERTAIN:
            return True
        if end.submitted_at is not None and end.submitted_at < job.appeared:
            return False  # an earlier job with this id
        code, _, signal = end.exit_code.partition(":")
        started = job.started or (end.started_at if end.state != "CANCELLED" else None)
        at = float(end.ended_at or time.time())
        self._ended(job, states.ended(job.job_id, end.state, number(code), number(signal), at, started))
        return False

    def _requeued(self, job: BatchJob, at: int | None) -> bool:
        ran = job.started is not None and at is not None and at >= int(job.started)
        if job.phase is not Phase.GIVING_BACK and not ran:
            return True  # this may be a late message about an earlier turn: squeue knows
        self._queued(job)
        job.reason, job.changed = "", self._clock()
        job.moved.set()
        return False

    # Mates

    def _named(self, row: JobRow) -> Named | None:
        """Return the mate that a job names; None also if the job cannot be coscheduled."""
        if row.is_part:
            return None
        try:
            named = find(row.comment or "")
            strays = [other for other in map(find, row.others) if other not in (None, named)]
        except CommentError as error:
            named, reason = None, str(error)
        else:
            named = None if row.array in self.arrays.alone else named
            alone = row.array is not None and named is not None and not named.name
            reason = ARRAY if alone else HET if strays else ""
            named = next(iter(strays), None) if named is None else named
        if not reason:
            return None if named is None else of_task(named, row.task)
        if states.stage(row.state) is not Stage.ENDED:
            self.refuse(row.array or row.het or row.job_id, row.user, reason, named, PROBLEMS.get(reason))
        return None
