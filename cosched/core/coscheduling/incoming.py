"""What peers ask of the jobs of this domain (Tang et al., Algorithm 1, from the other side), and the answers.

A peer's mutating call is carried out once. A late copy of an earlier call is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.answers import REFUSED, Answers
from cosched.core.coscheduling.bookings import Bookings
from cosched.core.coscheduling.groups.grouping import Grouping
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob
from cosched.core.coscheduling.mates import UNSUBMITTED, Mates, no_pair
from cosched.core.effects import Answer, Effect, HasMate, Try, Wanted
from cosched.core.events import Asked, Tried
from cosched.core.job import JobState
from cosched.core.protocol import (
    NO_HOLD,
    Domain,
    GetMateJobId,
    GetMateStatus,
    JobId,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    MutatingRequest,
    ProposeStart,
    SettleStart,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.core.story import What, Why

STATUS: dict[JobState, Status] = {
    JobState.PENDING: Status.UNSUBMITTED,
    JobState.QUEUED: Status.QUEUING,
    JobState.READY: Status.HOLDING,  # it has nodes and waits, if only for its own RunJob
    JobState.HOLDING: Status.HOLDING,
    JobState.RUNNING: Status.RUNNING,
    JobState.COMPLETED: Status.ENDED,
    JobState.FAILED: Status.FAILED,
    JobState.CANCELLED: Status.CANCELLED,
}
STARTED = (JobState.RUNNING, JobState.COMPLETED)
UNKNOWN = MateStatus(Status.UNKNOWN, 0, None)


@dataclass
class Incoming:
    """The requests of peers."""

    ledger: Ledger
    mates: Mates
    allocations: Allocations
    answers: Answers
    bookings: Bookings
    grouping: Grouping
    trying: dict[JobId, tuple[Domain, TryStartMate]] = field(default_factory=dict)  # who waits for the outcome of a Try

    def asked(self, event: Asked, now: int) -> list[Effect]:
        """A peer's request."""
        peer, request = event.peer, event.request
        match request:
            case GetMateJobId():
                return self._asked_for_mate(peer, request)
            case GetMateStatus():
                return [Answer(peer, request, self.mate_status(peer, request))]
            case TryStartMate() | StartJob() | ProposeStart() | SettleStart():
                return self._asked_to_change(peer, request, now)
            case _:
                return self.grouping.asked(peer, request, now)

    # Questions

    def _asked_for_mate(self, peer: Domain, request: GetMateJobId) -> list[Effect]:
        job = self.mates.find(peer, request)
        named = job.mate if job is not None else None
        answer = Answer(peer, request, self.mate_job_id(peer, request))
        if job is None or job.mate == named:
            return [answer]
        self.ledger.changed[job.id] = None
        return [*self.ledger.note(job, What.LINKED, mate=job.mate, peer=peer), HasMate(job.id), answer]

    def mate_job_id(self, peer: Domain, request: GetMateJobId) -> MateJobId:
        """Answer GetMateJobId; a job here that names no id yet takes the caller's."""
        if not self.ledger.settings.enabled:
            return no_pair(MateProblem.OFF)
        answer = self.mates.answer(peer, request)
        takes_group_for_pair = answer is UNSUBMITTED and self.grouping.members.is_pair_of(peer, request)
        return no_pair(MateProblem.OTHER_DOMAINS) if takes_group_for_pair else answer

    def mate_status(self, peer: Domain, request: GetMateStatus) -> MateStatus:
        """Answer GetMateStatus; UNKNOWN for any job that is not the caller's mate."""
        about = peer, request.caller, request.job
        if not (self.mates.is_mate(*about) or self.grouping.members.is_member(*about)):
            return UNKNOWN
        job = self.ledger.jobs[request.job]
        if job.state is READY and not job.disclosed:
            job.disclosed = True
            self.ledger.changed[job.id] = None
        may_book = job.group is not None and self._may_have_slot(job) and self.ledger.settled_by is None
        return MateStatus(STATUS[job.state], job.generation + (job.state is READY), job.started_at, may_book)

    def _may_have_slot(self, job: PairedJob) -> bool:
        """Whether the job queues, has been ready once, and this domain gives slots."""
        return self.ledger.settings.slots and job.state is QUEUED and job.ready_at is not None

    # Calls that change something

    def _asked_to_change(self, peer: Domain, request: MutatingRequest, now: int) -> list[Effect]:
        answer = self.answers.known(peer, request)
        if answer is None and not self.mates.is_mate(peer, request.caller, request.job):
            answer = REFUSED[type(request)]
        if answer is not None:
            return [Answer(peer, request, answer)]
        self.ledger.changed[request.job] = None
        match request:
            case ProposeStart():
                return self.bookings.propose(peer, request, now)
            case SettleStart():
                return self.bookings.settle(peer, request, now)
            case StartJob(slot_generation=slot) if slot:
                return self.bookings.start(peer, request, now)
            case StartJob(generation=generation) if generation == NO_HOLD and self._is_deciding(request.job):
                return []  # it is repeated
            case TryStartMate() | StartJob():
                return self._asked_to_start(peer, request, now)
            case _:
                assert_never(request)

    def _is_deciding(self, job: JobId) -> bool:
        """Whether the local scheduler is about to say if the job starts for an earlier call."""
        return job in self.trying or job in self.bookings.claims

    def _asked_to_start(self, peer: Domain, request: TryStartMate | StartJob, now: int) -> list[Effect]:
        job = self.ledger.jobs[request.job]
        if job.state is QUEUED and type(request) is TryStartMate and self.ledger.settled_by is None:
            tried_already = job.id in self.trying  # a retry, while the local scheduler still tries
            self.trying[job.id] = peer, request
            job.wanted = True
            return [] if tried_already else [Try(job.id, request.hold_until, request.start_at)]
        if self._may_start(job, request):
            started = self.allocations.start(job, now, Why.ASKED_BY_PEER, request.start_at, asked_by=peer)
            return self._reply(job, peer, request, True, started, request.start_at)
        return self._reply(job, peer, request, job.state in STARTED, [])

    @staticmethod
    def _may_start(job: PairedJob, request: TryStartMate | StartJob) -> bool:
        """Whether the job has nodes; for StartJob, those of the hold that the peer was told of."""
        if type(request) is StartJob:
            generation = job.generation + (job.state is READY)
            return job.state in (READY, HOLDING) and request.generation == generation
        return job.state in (READY, HOLDING)

    def tried(self, job: PairedJob, event: Tried, now: int) -> list[Effect]:
        """The local scheduler has tried to start the job, which may have started or ended in another way meanwhile."""
        if job.id not in self.trying:
            raise IllegalEvent(f"Tried, but nobody asked for job {job.id}")
        peer, request = self.trying.pop(job.id)
        at = event.at
        effects: list[Effect] = []
        if event.allocation is not None and job.state is QUEUED:
            job.allocation = event.allocation
            effects = self.allocations.runs(job, now, Why.ASKED_BY_PEER, event.at, asked_by=peer)
        elif job.state in (READY, HOLDING) and self.mates.is_mate(peer, request.caller, job.id):  # it has nodes since
            at = request.start_at
            effects = self.allocations.start(job, now, Why.ASKED_BY_PEER, at, asked_by=peer)
        elif job.state is QUEUED and request.hold_until > now:
            effects = [Wanted(job.id, request.hold_until)]
        return self._reply(job, peer, request, job.state in STARTED, effects, at)

    def _reply(
        self,
        job: PairedJob,
        peer: Domain,
        request: TryStartMate | StartJob,
        yes: bool,
        effects: list[Effect],
        at: float | None = None,
    ) -> list[Effect]:
        if type(request) is StartJob:
            return self.answers.reply(job, peer, request, MateStarted(yes, at), effects)
        return self.answers.reply(job, peer, request, MateTried(yes, at, self._may_have_slot(job)), effects)
