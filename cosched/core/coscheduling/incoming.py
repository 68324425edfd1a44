"""What peers ask of the jobs of this domain (Tang et al., Algorithm 1, from the other side), and the answers.

A peer's mutating call is carried out once. A late copy of an earlier call is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.answers import REFUSED, Answers
from cosched.core.coscheduling.hearing import Hearing
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import all_but
from cosched.core.coscheduling.names import Names, no_pair
from cosched.core.coscheduling.starts.gathering import Gathering
from cosched.core.coscheduling.starts.promises import Promises
from cosched.core.coscheduling.successors import Successors
from cosched.core.effects import Answer, Call, Effect, HasMate, Try, Wanted
from cosched.core.events import Tried
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import (
    NO_HOLD,
    Domain,
    Found,
    GetMateJobId,
    GetMateStatus,
    GetMember,
    GetProposal,
    JobId,
    Lookup,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    MutatingRequest,
    ProposeGroupStart,
    Reply,
    Request,
    SettleGroupStart,
    StartJob,
    Status,
    TellMember,
    TryStartMate,
)
from cosched.core.story import Detail, What, Why

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
    names: Names
    allocations: Allocations
    answers: Answers
    gathering: Gathering
    promises: Promises
    hearing: Hearing
    successors: Successors
    trying: dict[JobId, tuple[Domain, TryStartMate]] = field(default_factory=dict)  # who waits for the outcome of a Try

    def requests(self) -> dict[type, Callable[[Domain, Any, int], list[Effect]]]:
        """Kind of a peer's request -> what follows."""
        return {
            GetMateJobId: self._asked_who,
            GetMember: self._asked_who,
            GetMateStatus: self._asked_how,
            TryStartMate: self._asked_to_change,
            StartJob: self._asked_to_change,
            ProposeGroupStart: self.promises.propose,
            SettleGroupStart: self.promises.settle,
            GetProposal: self.promises.outcome,
            TellMember: self.hearing.told,
        }

    # Questions

    def known(self, peer: Domain, request: Request) -> Reply | None:
        """Return the answer to a question that changes nothing here; None: `asked` has to tell."""
        if type(request) is GetMateStatus:
            job = self.ledger.jobs.get(request.job)
            told = job is None or job.state is not READY or job.disclosed
            return self.mate_status(peer, request) if told else None
        if not isinstance(request, GetMateJobId | GetMember):
            return None
        found = self.names.find(peer, request)
        if found is None:  # a job that is named by its id may become a member
            is_member = isinstance(request, GetMember) and request.member is not None
            return None if is_member else self.names.answer(peer, request)
        knows = found.group is not None and found.group.jobs.get(peer) == request.caller
        if not self.names.knows_bond(found, peer, request) or (found.state in WAITING and not knows):
            return None  # the caller may become its mate, or member
        return self.names.answer(peer, request)

    def _asked_who(self, peer: Domain, request: GetMateJobId | GetMember, now: int) -> list[Effect]:
        """Return which job here starts with the caller: it knows the caller from now on."""
        job = self.names.find(peer, request)
        adopts = job is None or job.group is None
        known = None if job is None or job.group is None else job.group.jobs.get(peer)
        answer = self.names.answer(peer, request)
        if answer.problem is MateProblem.TAKEN and job is not None and self._is_claim(job, peer, request):
            return self._claimed(job, peer, request, now)
        if answer.job is None or known == request.caller:
            return [Answer(peer, request, answer)]
        if job is None:
            job = self.ledger.jobs[answer.job]
        self.ledger.changed[job.id] = None
        told: Detail = {"mate": request.caller, "peer": peer}
        if adopts:
            told["adopted"] = True
        if known is not None:
            told["was"] = f"{peer}:{known}"
        noted = self.ledger.note(job, What.LINKED, **told)
        if job.is_pair:
            return [*noted, HasMate(job.id), Answer(peer, request, answer)]
        if adopts:
            joins = self.ledger.note(job, What.LINKED, group=membership(job).name, others=list(job.peers))
            patience = self.allocations.patience(job, now)
            return [*joins, *noted, HasMate(job.id), *patience, Answer(peer, request, answer)]
        asked = [] if known is None else self._ask_this_one(job, peer, request)
        return [*noted, Answer(peer, request, answer), *asked]

    # The place of one that has ended

    @staticmethod
    def _is_claim(job: PairedJob, peer: Domain, request: Lookup) -> bool:
        """Return whether the caller wants the place of another job there, which starts with this one."""
        of_pair = isinstance(request, GetMateJobId)
        if isinstance(request, GetMember) and request.member not in (None, job.id):
            return False
        return job.group is not None and job.group.is_pair is of_pair and peer in job.group.jobs

    def _claimed(self, job: PairedJob, peer: Domain, request: Lookup, now: int) -> list[Effect]:
        """Give the caller that place if the job before it has ended; else ask whether it has, and say so."""
        group = membership(job)
        self.ledger.changed[job.id] = None
        may_come, lives = self.successors.may_come(job, peer), group.claimed.get(peer, False)
        if may_come is None and not lives:
            group.claimed = {**group.claimed, peer: False}
            asked = self.hearing.doubt(job, peer)
            return [*asked, Answer(peer, request, MateJobId(Found.BUSY, None))]
        if not may_come:
            group.claimed = all_but(peer, group.claimed)
            return [Answer(peer, request, no_pair(MateProblem.TAKEN))]
        before = group.jobs[peer]
        answer = self.names.joins(job, peer, request)
        if answer.job is None:
            return [Answer(peer, request, answer)]
        self.answers.last.pop((peer, before), None)
        job.hinted = True
        taken = self.gathering.replaced(job, peer, before)
        return [*taken, Answer(peer, request, answer), *self.hearing.ask(job, now)]

    def _asked_how(self, peer: Domain, request: GetMateStatus, now: int) -> list[Effect]:  # noqa: ARG002
        return [Answer(peer, request, self.mate_status(peer, request))]

    def mate_status(self, peer: Domain, request: GetMateStatus) -> MateStatus:
        """Answer GetMateStatus; UNKNOWN for any job that is not the caller's mate."""
        if (job := self.names.starting_with(peer, request.caller, request.job)) is None:
            return UNKNOWN
        if job.state is READY and not job.disclosed:
            job.disclosed = True
            self.ledger.changed[job.id] = None
        may_book = not job.is_pair and self._may_book(job)  # a mate is asked to start first
        generation, by = job.generation + (job.state is READY), job.ended_by
        if job.again:  # whatever is left of its run
            return MateStatus(Status.QUEUING, generation, None, may_book, job.runs)
        return MateStatus(STATUS[job.state], generation, job.started_at, may_book, job.runs, job.ended_at, by)

    def _may_book(self, job: PairedJob) -> bool:
        """Return whether the job queues, has been ready once, and this domain gives slots."""
        gives = self.ledger.settings.slots and self.ledger.settled_by is None
        return gives and job.state is QUEUED and job.ready_at is not None

    @staticmethod
    def _ask_this_one(job: PairedJob, peer: Domain, request: GetMateJobId | GetMember) -> list[Effect]:
        """What is being asked about that member may be about one before it, whose answer would come too late."""
        group = membership(job)
        if peer not in group.asked:
            return []
        group.again = all_but(peer, group.again)
        again = GetMateStatus(request.caller, job.id)
        group.asked = {**group.asked, peer: again}
        return [Call(peer, job.id, again)]

    # Calls that change something

    def _asked_to_change(self, peer: Domain, request: MutatingRequest, now: int) -> list[Effect]:
        job, answer = self.names.starting_with(peer, request.caller, request.job), self.answers.known(peer, request)
        if answer is None and (job is None or not job.is_pair):
            answer = REFUSED[type(request)]
        if answer is not None:
            return [Answer(peer, request, answer)]
        self.ledger.changed[request.job] = None
        if isinstance(request, StartJob) and request.generation == NO_HOLD and request.job in self.trying:
            return []  # the local scheduler is about to say if it starts for an earlier call: this one is repeated
        return self._asked_to_start(peer, request, now)

    def _asked_to_start(self, peer: Domain, request: TryStartMate | StartJob, now: int) -> list[Effect]:
        job = self.ledger.jobs[request.job]
        if job.ending is not None:
            return self._reply(job, peer, request, False, [])
        may_try = self.ledger.settled_by is None and _knows_runs(job, request)
        if job.state is QUEUED and type(request) is TryStartMate and may_try:
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
        """Return whether the job has nodes, for no start under way; for StartJob, those of the hold that was told."""
        if job.group is not None and (job.group.proposal is not None or job.group.promise is not None):
            return False
        if job.state not in (READY, HOLDING) or not _knows_runs(job, request):
            return False
        return isinstance(request, TryStartMate) or request.generation == job.generation + (job.state is READY)

    def tries_in_vain(self, job: JobId) -> bool:
        """Return whether the try of a job is of a run that is over, or a copy of the call has started the job since."""
        waiting = self.trying.get(job)
        if waiting is None:
            return False
        return not _knows_runs(self.ledger.jobs[job], waiting[1]) or self.answers.known(*waiting) is not None

    def tried(self, job: PairedJob, event: Tried, now: int) -> list[Effect]:
        """The local scheduler has tried to start the job, which may have started or ended in another way meanwhile."""
        if job.id not in self.trying:
            raise IllegalEvent(f"Tried, but nobody asked for job {job.id}")
        peer, request = self.trying.pop(job.id)
        if event.allocation is None and (answer := self.answers.known(peer, request)) is not None:
            return [Answer(peer, request, answer)]  # a copy has come when the job had nodes
        at = event.at
        effects: list[Effect] = []
        if event.allocation is not None and job.state is QUEUED:
            job.allocation = event.allocation
            left = [*self.gathering.stop_asking(job, now), *self.promises.end(job)]
            effects = left + self.allocations.runs(job, now, Why.ASKED_BY_PEER, at, asked_by=peer)
        elif self._may_start(job, request) and self.names.is_mate(peer, request.caller, job.id):  # it has nodes since
            at = request.start_at
            effects = self.allocations.start(job, now, Why.ASKED_BY_PEER, at, asked_by=peer)
        elif job.state is QUEUED and request.hold_until > now:
            effects = [Wanted(job.id, request.hold_until)]
        started = job.state in STARTED and job.ending is None
        return self._reply(job, peer, request, started, effects, at)

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
        return self.answers.reply(job, peer, request, MateTried(yes, at, not yes and self._may_book(job)), effects)


def _knows_runs(job: PairedJob, request: TryStartMate | StartJob) -> bool:
    """Return whether the caller knows all runs that the job has begun; if not, its call may be of one that is over."""
    return request.runs is None or job.runs <= request.runs
