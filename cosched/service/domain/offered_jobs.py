"""The jobs of a resource manager that schedules (see `adapters.batch_system`): what it reports becomes events.

The core decides as ever; here is no queue of ours (`core.scheduling.external`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.mates import WAITING
from cosched.core.effects import Start, TryReady
from cosched.core.events import Linked, NodesLost, Requeued, Tried, TriedReady, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import GroupName, JobId, Named, TryStartMate
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.story import Why
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.story import Noted
from cosched.service.domain.turns import in_turn
from cosched.service.store import JobRecord


class OfferedJobs:
    """The jobs of one such domain; only those that name a mate are known to it."""

    def __init__(
        self,
        domain: LiveDomain,
        scheduler: ExternalScheduler,
        agreed: Callable[[float | None, JobId], float | None],
    ) -> None:
        """`scheduler`: the domain's. `agreed`: when our job starts if a peer proposes an instant; None: at once."""
        self.domain = domain
        self.scheduler = scheduler
        self.turns = domain.turns
        self._agreed = agreed
        self._core = domain.core
        self._decisions = domain.decisions
        self._journal = domain.journal

    # What the manager reports, beside starts and ends

    @in_turn
    def submitted(self, record: JobRecord, *, or_alone: bool = False) -> None:
        """The manager has a new job that names a mate; `or_alone`: it starts alone if there is no such mate."""
        job = str(record.id)
        if job in self.domain.jobs:
            return
        if (ended := self._core.jobs.get(job)) is not None:  # the manager has given its id to another job
            self._core.forget(ended)
        if (why := self._taken(record.named, record.owner)) is not None:
            self.refused(job, why)
            return
        self._journal.changes.found.append(record)
        self.domain.records.take_up(record)
        self.domain.admit(record, or_alone=or_alone)
        self.domain.enqueue(record)

    def _taken(self, named: Named, owner: str) -> str | None:
        """Why a new job of this owner cannot have the mate or the group that it names; None if it can."""
        if isinstance(named, GroupName):
            taken = self._core.members.taken(named.name, owner)
            return None if taken is None else f"job {taken} is the member of its group here already"
        taken = self._core.mates.taken(named, owner)
        return None if taken is None else f"its pair is that of job {taken} already"

    @in_turn
    def refused(self, job: JobId, why: str) -> None:
        """The manager starts a job alone, though it names a mate."""
        self._journal.note(None, Noted.STARTS_ALONE, of=job, why=why)

    @in_turn
    def wrong_group(self, job: JobId, why: str) -> None:
        """Another domain says that the job's group cannot be."""
        if self.domain.state(job) in WAITING:
            self._journal.note(job, Noted.WRONG_GROUP, why=why)
            self.domain.records.set_reason(job, Why.MATE_UNKNOWN)

    @in_turn
    def offered(self, job: JobId, nodes: int, *, can_yield: bool, number: int, account: str | None = None) -> None:
        """The manager has chosen the job and its nodes: the paper's RunJob. `account`: who pays; None: as before."""
        state = self.domain.state(job)
        self.scheduler.note_offer(job, number)
        if state is None or state not in WAITING:  # not coscheduled, or it was to start before
            started = self._core.jobs.get(job)
            self._journal.changes.orders.append(Start(job, started.start_at if started is not None else None))
        elif state is JobState.QUEUED and job not in self.scheduler.trying:
            record = self.domain.jobs[job]
            self._has_account(record, account)
            if self.scheduler.offer(job, nodes, self._journal.now, can_yield=can_yield) and record.nodes != nodes:
                record.nodes = nodes
                self._journal.save(record)
        # Else it is ready or holds already, and its offer came back after a restart; or `tried` tells of it.

    def _has_account(self, record: JobRecord, account: str | None) -> None:
        if account is not None and record.account != account:
            record.account = account
            self._journal.save(record)

    @in_turn
    def withdrawn(self, job: JobId) -> None:
        """The manager has taken the job's nodes and queued it again."""
        state = self.domain.state(job)
        self.scheduler.withdraw(job)
        if state in (JobState.READY, JobState.HOLDING):
            self.scheduler.requeue(job)
            self._decisions.feed(NodesLost(job))
        elif state is JobState.RUNNING:
            self.scheduler.requeue(job)
            self._decisions.feed(Requeued(job))

    @in_turn
    def resized(self, job: JobId, nodes: int) -> None:
        """A running job has so many nodes now."""
        record = self.domain.jobs.get(job)
        if record is None or record.state is not JobState.RUNNING or record.nodes == nodes:
            return
        record.nodes = nodes
        self._journal.save(record)
        self.scheduler.resize(job, nodes)
        self._journal.note(job, Noted.RESIZED, nodes=nodes)

    @in_turn
    def relinked(self, job: JobId, named: Named | None) -> None:
        """The job names another mate than before, or none. A group counts at submission only: there the job stays."""
        if self.domain.state(job) not in WAITING:
            return
        local = self._core.jobs[job]
        if isinstance(named, GroupName) or (named is not None and local.group is not None):
            self._journal.note(job, Noted.STAYS)
        elif named is not None and self._core.mates.taken(named, local.owner) in (None, job):
            self._decisions.feed(Linked(job, named))
        elif local.peers:
            self._decisions.feed(Unlinked(job))

    # Tries, which take a while

    @in_turn
    def tried(self, job: JobId, offer: int) -> None:
        """What came of a try: the manager offers the job, by this number, or does not for now (0)."""
        if job in self.scheduler.trying:
            self._end_try(job, offer)
        elif offer and job in self.domain.jobs:  # that try was given up
            self.offered(job, self.domain.jobs[job].nodes, can_yield=True, number=offer)

    @in_turn
    def give_way(self, job: JobId) -> None:
        """A try takes long. It ends if a job of ours stands in its way which comes first.

        That job is ready and waits for the same peer to try its mate, for which the caller may stand in the way: both
        would wait for nothing. Both domains see the same order of the two pairs, which is another one each minute.
        """
        tried = self._core.jobs.get(job)
        if tried is None or job not in self.scheduler.trying:
            return
        rivals = (paired for paired in self._core.jobs.values() if self._waits_for_try(paired, tried))
        if any(self._rank(rival) < self._rank(tried) for rival in rivals):
            self._end_try(job, 0)

    @staticmethod
    def _waits_for_try(job: PairedJob, tried: PairedJob) -> bool:
        """Whether a job has nodes and waits for a try: of any domain, if groups are concerned, which stand in circles.

        A pair that is tried for its mate waits only for a pair with the same peer.
        """
        if job.state is not JobState.READY or job is tried:
            return False
        if job.group is not None:
            proposal = job.group.proposal
            return proposal is not None and len(proposal.booked) < len(proposal.requests)
        return type(job.call) is TryStartMate and (tried.group is not None or job.peer == tried.peer)

    def _rank(self, job: PairedJob) -> int:
        minute = self.domain.clock.to_wall(self._journal.now) // 60
        if job.group is not None:
            return zlib.crc32(f"{job.group.turn} {minute}".encode())
        pair = sorted([(self.domain.name, job.id), (job.peer, job.mate or "")])
        return zlib.crc32(f"{pair} {minute}".encode())

    def _end_try(self, job: JobId, offer: int) -> None:
        tried = self.scheduler.trying.pop(job)
        if job not in self._core.jobs:
            return
        starts = offer > 0 and self.domain.state(job) is JobState.QUEUED
        if starts:
            self.scheduler.note_offer(job, offer)
        if isinstance(tried, TryReady):
            self._end_try_of_member(job, offer if starts else 0)
            return
        at = self._agreed(tried.start_at, job) if starts else None
        self._decisions.tried(Tried(job, offer > 0, at))

    def _end_try_of_member(self, job: JobId, offer: int) -> None:
        if self._core.jobs[job].group is not None:
            if offer:
                self.scheduler.keep(job)
            self._decisions.feed(TriedReady(job, offer > 0))
        elif offer:  # it has left its group meanwhile
            self.offered(job, self.domain.jobs[job].nodes, can_yield=True, number=offer)
