"""The rules for jobs in groups: which part answers which event."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never, get_args

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, RUNNING, Allocations
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.groups.agreeing import Agreeing
from cosched.core.coscheduling.groups.gathering import Gathering
from cosched.core.coscheduling.groups.members import Members
from cosched.core.coscheduling.groups.promises import Promises
from cosched.core.coscheduling.groups.proposals import membership
from cosched.core.coscheduling.groups.reserving import Reserving
from cosched.core.coscheduling.groups.telling import Telling
from cosched.core.coscheduling.ledger import IllegalEvent, Ledger, PairedJob
from cosched.core.coscheduling.outgoing import Outgoing
from cosched.core.coscheduling.transitions import ForWhom, Transition, ignore
from cosched.core.effects import Answer, Call, ClearTimer, Effect, Reschedule, Timer
from cosched.core.events import (
    Answered,
    Booked,
    CallFailed,
    Claimed,
    Finished,
    JobEvent,
    LeaseOver,
    MateHeardOf,
    MayBeEarlier,
    NodesLost,
    PatienceOver,
    Quoted,
    Ready,
    ReleaseDue,
    Requeued,
    RetryDue,
    SlotDue,
    SlotLapsed,
    StartedUnasked,
    TellDue,
    TriedReady,
    Unlinked,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    AboutGroup,
    Domain,
    GetMateJobId,
    GetMateStatus,
    GetMember,
    GetProposal,
    MutatingRequest,
    ProposeGroupStart,
    SettleGroupStart,
)
from cosched.core.story import Detail, What, Why

WITH_NODES = (READY, HOLDING)
WAITING = (QUEUED, READY, HOLDING)
ANY = tuple(JobState)
LATE = (ReleaseDue, RetryDue, LeaseOver, PatienceOver, SlotDue, SlotLapsed)  # timers that may be due too late


@dataclass
class Grouping:
    """Jobs that are in groups."""

    ledger: Ledger
    members: Members
    allocations: Allocations
    asking: Asking
    telling: Telling
    agreeing: Agreeing
    gathering: Gathering
    reserving: Reserving
    promises: Promises
    outgoing: Outgoing  # of pairs; the beginning of Algorithm 1 is the same

    def __post_init__(self) -> None:
        self._table: dict[type, tuple[tuple[JobState, ...], Transition]] = {  # in which states an event counts
            Ready: ((QUEUED,), self._ready),
            Answered: (ANY, self._answered),
            CallFailed: (ANY, self.gathering.failed),
            RetryDue: (WAITING, self.gathering.retry),
            TellDue: (ANY, self.telling.handle),
            ReleaseDue: ((HOLDING,), self.promises.release),
            LeaseOver: (WAITING, self.promises.lease_over),
            TriedReady: (ANY, self.promises.tried),
            MayBeEarlier: ((QUEUED,), self.agreeing.may_be_earlier),
            Quoted: (ANY, ForWhom(self.agreeing.quoted, self.reserving.quoted)),
            Booked: (ANY, ForWhom(self.agreeing.booked, self.reserving.booked)),
            Claimed: (ANY, ForWhom(self.agreeing.at_slot.claimed, self.promises.claimed)),
            SlotDue: (WAITING, self.agreeing.due),
            SlotLapsed: (WAITING, self.agreeing.lapsed),
            PatienceOver: (WAITING, self._patience_over),
            StartedUnasked: (WAITING, partial(self._leave, self.allocations.started)),
            Requeued: ((RUNNING,), self._requeued),
            NodesLost: (WITH_NODES, partial(self._leave, self.allocations.lose_nodes)),
            Finished: ((*WAITING, RUNNING), partial(self._leave, self.allocations.finished)),
            Unlinked: (WAITING, self._unlinked),
            MateHeardOf: (ANY, self._heard),
        }
        self._answers: dict[type, Transition] = {  # by what was asked
            GetMember: self.gathering.answered,
            GetMateStatus: self.gathering.answered,
            ProposeGroupStart: self.gathering.voted,
            SettleGroupStart: self.agreeing.kept,
            GetProposal: self.promises.told,
            **dict.fromkeys((GetMateJobId, *get_args(MutatingRequest)), ignore),  # before the job joined its group
        }

    def handle(self, job: PairedJob, event: JobEvent, now: int) -> list[Effect]:
        """Carry out one event of a job that is in a group."""
        states, transition = self._table.get(type(event), ((), ignore))
        if job.state in states:
            return transition(job, event, now)
        if isinstance(event, LATE):
            return []
        raise IllegalEvent(f"{type(event).__name__} while job {job.id} of a group is {job.state.name}")

    def asked(self, peer: Domain, request: AboutGroup, now: int) -> list[Effect]:
        """What another member's domain asks."""
        match request:
            case ProposeGroupStart():
                return self.promises.propose(peer, request, now)
            case SettleGroupStart():
                return self.promises.settle(peer, request, now)
            case GetProposal():
                return self.promises.outcome(peer, request, now)
            case GetMember():
                return self._asked_for_member(peer, request)
            case _:
                assert_never(request)

    def _asked_for_member(self, peer: Domain, request: GetMember) -> list[Effect]:
        job = self.members.find(peer, request)
        known = membership(job).jobs.get(peer) if job is not None else None
        answer = self.members.answer(peer, request)
        if job is None or known == request.caller or answer.job is None:
            return [Answer(peer, request, answer)]
        self.ledger.changed[job.id] = None
        told: Detail = {"mate": request.caller, "peer": peer}
        if known is not None:
            told["was"] = f"{peer}:{known}"
        noted = [*self.ledger.note(job, What.LINKED, **told), Answer(peer, request, answer)]
        return noted if known is None else [*noted, *self._ask_this_one(job, peer, request)]

    @staticmethod
    def _ask_this_one(job: PairedJob, peer: Domain, request: GetMember) -> list[Effect]:
        """Ask about this member. A question under way may be about an earlier one, whose answer would come too late."""
        group = membership(job)
        if peer not in group.asked:
            return []
        group.again.pop(peer, None)
        group.asked[peer] = again = GetMateStatus(request.caller, job.id)
        return [Call(peer, job.id, again)]

    def _ready(self, job: PairedJob, event: Ready, now: int) -> list[Effect]:
        """Its turn has come. One that pauses leaves its nodes to others."""
        if now >= membership(job).pauses_until or event.cannot_yield:
            return self.outgoing.run_job(job, event, now)
        job.state = READY
        return self.allocations.give_back(job)

    # Answers and failures

    def _answered(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """An answer; what it says of the peer follows."""
        membership(job).unanswered.discard(event.peer)
        followed = self._answers[type(event.request)](job, event, now)
        return followed + self.asking.heard_of(event.peer, now)

    def _heard(self, job: PairedJob, event: MateHeardOf, now: int) -> list[Effect]:  # noqa: ARG002
        """Which job another member is, told when this one was submitted."""
        group, member = membership(job), event.answer.job
        if member is None or event.peer in group.jobs:
            return []
        group.jobs[event.peer] = member
        return self.ledger.note(job, What.LINKED, mate=member, peer=event.peer)

    # What else happens to the job

    def _patience_over(self, job: PairedJob, _: PatienceOver, now: int) -> list[Effect]:
        passed_from = self.ledger.passed_from(job)
        if passed_from is not None:  # the clock may have been set back
            return [Reschedule(job.id)] if now >= passed_from else self.allocations.patience(job, now)
        job.alone = True
        noted = self.ledger.note(job, What.PATIENCE_ENDED)
        if job.state is HOLDING and membership(job).promise is None:
            return noted + self.asking.ask_again(job, now)
        return [*noted, Reschedule(job.id)]

    def _leave(self, follow: Transition, job: PairedJob, event: Any, now: int) -> list[Effect]:
        """What follows for any job, once this one asks and promises no more."""
        left = [*self.gathering.stop_asking(job, now), *self.promises.end(job)]
        return left + follow(job, event, now)

    def _requeued(self, job: PairedJob, event: Requeued, now: int) -> list[Effect]:
        group = membership(job)
        group.started_by = ""
        return self.allocations.requeued(job, event, now)

    def _unlinked(self, job: PairedJob, _: Unlinked, now: int) -> list[Effect]:
        """The job leaves its group: with nodes it starts."""
        left = [*self.gathering.stop_asking(job, now), *self.promises.leave(job)]
        left += self.allocations.slots.drop(job, Why.MATE_CHANGED)
        noted = self.ledger.note(job, What.UNLINKED, group=membership(job).name)
        if self.ledger.given_instant(job) is not None:
            noted.append(ClearTimer(job.id, Timer.PATIENCE))
        self.members.leave(job)
        job.alone, job.problem = False, ""
        if job.state is not QUEUED:
            return [*left, *noted, *self.allocations.start(job, now, Why.UNLINKED)]
        return [*left, *noted, Reschedule(job.id)]

    # Restart

    def recover(self, job: PairedJob, now: int) -> list[Effect]:
        """What was undecided is dropped, what was decided is told again, and a promise waits for its outcome."""
        group = membership(job)
        effects = self.gathering.stop_asking(job, now)
        if job.state in WAITING and group.wanted_until > now:
            self.ledger.wanted[job.id] = None
        if group.promise is not None:
            effects += self.promises.recover(job, group.promise, now)
        elif job.state is READY:
            effects += self.asking.ask_for_mate(job, now)
        if job.slot is not None:
            effects += self.allocations.slots.await_it(job, now)
            effects += self.agreeing.keep(job) if job.proposes and not job.confirmed else []
        return effects
