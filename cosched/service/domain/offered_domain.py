"""A domain whose resource manager schedules: what it reports becomes events of the core, and orders follow.

See `adapters.batch_system`. The core decides as ever; here is no queue of ours (`core.scheduling.external`).
"""

from __future__ import annotations

import zlib
from typing import Any

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.mates import WAITING
from cosched.core.effects import PassOver, Release, Start, Yield
from cosched.core.events import Linked, NodesLost, Requeued, Started, Submitted, Tried, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import Domain, GetMateJobId, JobId, MateProblem, TryStartMate
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.story import Noted
from cosched.service.store import JobRecord

GIVE_BACK = (Yield, Release, PassOver)


class OfferedDomain(LiveDomain):
    """The state of one such domain; constructed as `DecidingDomain`. Only jobs that name a mate are known to it."""

    cluster: ExternalScheduler

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.giving_back: set[JobId] = set()  # of which the manager has been told, and is at it

    def _make_cluster(self, settings: ClusterSettings) -> ExternalScheduler:
        return ExternalScheduler(settings.nodes)

    def _settle(self) -> None:
        super()._settle()
        self._changes.orders += self.cluster.take_orders()
        self.giving_back.update(order.job for order in self._changes.orders if type(order) in GIVE_BACK)

    def unsettled(self) -> list[JobId]:
        """Those too whose nodes are just being given back."""
        return sorted({*super().unsettled(), *self.giving_back}, key=int)

    def state(self, job: JobId) -> JobState | None:
        """The job's state; None: it is not coscheduled."""
        return self.core.jobs[job].state if job in self.jobs else None

    def _problem_on_record(self, peer: Domain, request: GetMateJobId) -> MateProblem:
        """The manager has jobs that are not known here: those that name no mate."""
        problem = super()._problem_on_record(peer, request)
        return MateProblem.NOT_WAITING if problem is MateProblem.UNKNOWN else problem

    # What the manager reports

    def submitted(self, record: JobRecord, *, or_alone: bool = False) -> None:
        """The manager has a new job that names a mate; `or_alone`: it starts alone if there is no such mate."""
        self._inside(lambda: self._submitted(record, or_alone))

    def _submitted(self, record: JobRecord, or_alone: bool) -> None:
        job = str(record.id)
        if job in self.jobs:
            return
        if (ended := self.core.jobs.get(job)) is not None:  # the manager has given its id to another job
            self.core.forget(ended)
        taken = self.core.mates.taken(record.peer or "", record.owner, record.pair, record.mate)
        if taken is not None:
            self._refused(job, f"its pair is that of job {taken} already")
            return
        self._changes.found.append(record)
        self._take_up(record)
        self.feed(Submitted(job, record.peer or "", record.pair, record.mate, record.owner, or_alone))
        self.enqueue(record)

    def refused(self, job: JobId, why: str) -> None:
        """The manager starts a job alone, though it names a mate."""
        self._inside(lambda: self._refused(job, why))

    def _refused(self, job: JobId, why: str) -> None:
        self.note(None, Noted.STARTS_ALONE, of=job, why=why)

    def offered(self, job: JobId, nodes: int, *, can_yield: bool) -> None:
        """The manager has chosen the job and its nodes: the paper's RunJob."""
        self._inside(lambda: self._offered(job, nodes, can_yield))

    def _offered(self, job: JobId, nodes: int, can_yield: bool) -> None:
        state = self.state(job)
        if state is None or state not in WAITING:  # not coscheduled, or it was to start before
            started = self.core.jobs.get(job)
            self._changes.orders.append(Start(job, started.start_at if started is not None else None))
        elif state is JobState.QUEUED and job not in self.cluster.trying:
            record = self.jobs[job]
            if self.cluster.offer(job, nodes, self.now, can_yield=can_yield) and record.nodes != nodes:
                record.nodes = nodes
                self.save(record)
        # Else it is ready or holds already, and its offer came back after a restart; or `tried` tells of it.

    def withdrawn(self, job: JobId) -> None:
        """The manager has taken the job's nodes and queued it again."""
        self._inside(lambda: self._withdrawn(job))

    def _withdrawn(self, job: JobId) -> None:
        state = self.state(job)
        if state in (JobState.READY, JobState.HOLDING):
            self.cluster.requeue(job)
            self.feed(NodesLost(job))
        elif state is JobState.RUNNING:
            self.cluster.requeue(job)
            self.feed(Requeued(job))

    def started(self, job: JobId) -> None:
        """The manager has started a job, told to or not."""
        self._inside(lambda: self._started(job))

    def _started(self, job: JobId) -> None:
        if self.state(job) in WAITING:
            self.cluster.start(job, self.now)
            self.feed(Started(job))

    def end(self, job: JobId, how: JobState, why: str = "", exit_code: int | None = None) -> None:
        """A job ends; only in a turn. It may have run unseen."""
        if self.state(job) in WAITING:
            if how is JobState.COMPLETED:
                self._started(job)
            else:
                how = JobState.CANCELLED
        super().end(job, how, why, exit_code)

    def relinked(
        self, job: JobId, peer: Domain, pair: str | None, mate: JobId | None, *, or_alone: bool = False
    ) -> None:
        """The job names another mate than before, or (`peer` empty) none; `or_alone` as of `submitted`."""
        self._inside(lambda: self._relinked(job, peer, pair, mate, or_alone))

    def _relinked(self, job: JobId, peer: Domain, pair: str | None, mate: JobId | None, or_alone: bool) -> None:
        if self.state(job) not in WAITING:
            return
        local = self.core.jobs[job]
        if not peer or self.core.mates.taken(peer, local.owner, pair, mate) not in (None, job):
            if local.peer:
                self.feed(Unlinked(job))
        else:
            self.feed(Linked(job, peer, pair, mate, or_alone))

    # Tries, which take a while

    def tried(self, job: JobId, offered: bool) -> None:
        """What came of a try: the manager offers the job, or does not for now."""
        self._inside(lambda: self._tried(job, offered))

    def _tried(self, job: JobId, offered: bool) -> None:
        if job in self.cluster.trying:
            self._end_try(job, offered)
        elif offered and job in self.jobs:  # that try was given up
            self._offered(job, self.jobs[job].nodes, can_yield=True)

    def give_way(self, job: JobId) -> None:
        """A try takes long. It ends if a job of ours stands in its way which comes first.

        That job is ready and waits for the same peer to try its mate, for which the caller may stand in the way: both
        would wait for nothing. Both domains see the same order of the two pairs, which is another one each minute.
        """
        self._inside(lambda: self._give_way(job))

    def _give_way(self, job: JobId) -> None:
        tried = self.core.jobs.get(job)
        if tried is None or job not in self.cluster.trying:
            return
        rivals = (paired for paired in self.core.jobs.values() if self._tries_mate(paired, tried.peer))
        if any(self._rank(rival) < self._rank(tried) for rival in rivals):
            self._end_try(job, False)

    @staticmethod
    def _tries_mate(job: PairedJob, peer: Domain) -> bool:
        return job.state is JobState.READY and job.peer == peer and type(job.call) is TryStartMate

    def _rank(self, job: PairedJob) -> int:
        minute = self.clock.to_wall(self.now) // 60
        pair = sorted([(self.name, job.id), (job.peer, job.mate or "")])
        return zlib.crc32(f"{pair} {minute}".encode())

    def _end_try(self, job: JobId, offered: bool) -> None:
        tried = self.cluster.trying.pop(job)
        if job not in self.core.jobs:
            return
        starts = offered and self.state(job) is JobState.QUEUED
        at = self._outside.agreed_start(tried.start_at, job) if starts else None
        self._do_all(self.policy.tried(Tried(job, offered, at), self.now))
