"""The jobs of a resource manager that schedules (see `adapters.batch_system`): what it reports becomes events.

The core decides as always; there is no queue of ours (`core.scheduling.external`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cosched.core.batch_reports import BatchReports
from cosched.core.events import Linked, Unlinked
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import JobId, Named
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.story import Why
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.story import Noted
from cosched.service.domain.turns import in_turn
from cosched.service.store import JobRecord


class Told(NamedTuple):
    """What may have changed since a job appeared: who is charged for it, and what is on record of its queue."""

    account: str
    columns: str | None


class OfferedJobs:
    """The jobs of one such domain; only those that name a mate are known to it."""

    def __init__(
        self, domain: LiveDomain, scheduler: ExternalScheduler, agreed: Callable[[float | None, JobId], float | None]
    ) -> None:
        """`scheduler`: the domain's. `agreed`: when our job starts if a peer proposes an instant; None: at once."""
        self.domain, self.scheduler = domain, scheduler
        self.turns = domain.turns
        self._agreed = agreed
        self._reports = BatchReports(domain.policy, scheduler)
        self._core = domain.core
        self._decisions = domain.decisions
        self._journal = domain.journal

    # What the manager reports, beside starts and ends

    @in_turn
    def submitted(self, record: JobRecord) -> None:
        """Note that the manager has a new job that names a mate."""
        job = str(record.id)
        if job in self.domain.jobs:
            return
        if (ended := self._core.jobs.get(job)) is not None:  # the manager has given its id to another job
            self._core.forget(ended)
        if (taken := self._core.names.taken(record.named, record.owner)) is not None:
            of_group = f"job {taken} is the member of its group here already"
            self.refused(job, f"its pair is that of job {taken} already" if record.named.is_pair else of_group)
            return
        self._journal.changes.found.append(record)
        self.domain.records.take_up(record)
        self.domain.admit(record)
        self.domain.enqueue(record)

    @in_turn
    def refused(self, job: JobId, why: str) -> None:
        """Note that the manager starts a job alone, though it names a mate."""
        self._journal.note(None, Noted.STARTS_ALONE, of=job, why=why)

    @in_turn
    def wrong_group(self, job: JobId, why: str) -> None:
        """Note that another domain says that the job's group cannot be."""
        if self.domain.state(job) in WAITING:
            self._journal.note(job, Noted.WRONG_GROUP, why=why)
            self.domain.records.set_reason(job, Why.MATE_UNKNOWN)

    @in_turn
    def offered(self, job: JobId, nodes: int, *, can_yield: bool, number: int, told: Told | None = None) -> None:
        """Note that the manager has chosen the job and its nodes: the paper's RunJob. `told`: None: as before."""
        record, now = self.domain.jobs.get(job), self._journal.now
        if record is not None and told is not None and told != (record.account, record.columns):
            record.account, record.columns = told
            self._journal.save(record)
        self._decisions.do(self._reports.offered(job, nodes, now, can_yield=can_yield, number=number))
        self._has_size(job)

    @in_turn
    def withdrawn(self, job: JobId) -> None:
        """Note that the manager has taken the job's nodes and queued it again, as it was told to or not."""
        if (record := self.domain.jobs.get(job)) is not None and record.preempted_at is not None:
            record.preempted_at = None
            self._journal.save(record)
        self._decisions.do(self._reports.withdrawn(job, self._journal.now))

    @in_turn
    def resized(self, job: JobId, nodes: int) -> None:
        """Note how many nodes a job has, or will have if it is offered to a try; its story does not tell that."""
        self._reports.resized(job, nodes)
        if self._has_size(job) and self.domain.state(job) is JobState.RUNNING:
            self._journal.note(job, Noted.RESIZED, nodes=nodes)

    def _has_size(self, job: JobId) -> bool:
        """Put the nodes on record that a job has, or asks for; whether that is news."""
        record = self.domain.jobs.get(job)
        if record is None or job not in self.scheduler or record.nodes == (nodes := self.scheduler.job(job).nodes):
            return False
        record.nodes = nodes
        self._journal.save(record)
        return True

    @in_turn
    def relinked(self, job: JobId, named: Named | None) -> None:
        """The job names another mate than before, or none. A group counts at submission only: there the job stays."""
        if self.domain.state(job) not in WAITING:
            return
        local = self._core.jobs[job]
        if named is not None and local.peers and (not named.is_pair or not local.is_pair):
            self._journal.note(job, Noted.STAYS)
        elif named is not None and self._core.names.taken(named, local.owner) in (None, job):
            self._decisions.feed(Linked(job, named))
        elif local.peers:
            self._decisions.feed(Unlinked(job))

    # Tries, which take a while

    @in_turn
    def tried(self, job: JobId, offer: int) -> None:
        """Note what came of a try: the manager offers the job, by this number, or does not for now (0)."""
        at = self._agreed(self._reports.proposed_start(job), job) if offer else None
        self._decisions.do(self._reports.tried(job, offer, at, self._journal.now))

    @in_turn
    def give_way(self, job: JobId) -> None:
        """Note that a try takes long. It ends if a job of ours stands in its way which comes first."""
        if self._reports.gives_way(job, self.domain.clock.to_wall(self._journal.now)):
            self.tried(job, 0)
