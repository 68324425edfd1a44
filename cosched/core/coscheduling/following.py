"""Running jobs follow others: they end with them, or are queued again with them (life.md).

A running job that hears that another one has changed asks how that one stands, and acts on the answer only. What
follows is on record before the hint is acknowledged: who tells that it is queued again may count on that.

The run that the rules have ended is over when the job has ended, or is queued again. Until then the order stands
(`PairedJob.ending`): no later one replaces it, the job starts for nobody, and after a restart it is given again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cosched.core.coscheduling.ledger import CONTINUE, Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOTHING, Heard
from cosched.core.coscheduling.standing import DID_NOT_COMPLETE, WAITS, has_ended
from cosched.core.effects import Answer, Call, CancelJob, Effect, EndRun, SetTimer, Timer
from cosched.core.events import CallFailed, CheckDue, Finished, Requeued
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import (
    NO_TERMS,
    Domain,
    EndedBy,
    Found,
    GetMateStatus,
    JobId,
    MateJobId,
    MateStatus,
    MemberTold,
    Reply,
    Request,
    Status,
    TellMember,
)
from cosched.core.settings import OnMemberRequeued
from cosched.core.story import What, Why

STATES = {  # in which a job ends whose run was ended for such a reason
    Why.MATE_ENDED: JobState.COMPLETED,
    Why.MATE_FAILED: JobState.FAILED,
    Why.MATE_REQUEUED: JobState.CANCELLED,
}


@dataclass
class Following:
    """What running jobs do when others have changed. `hints`: which are acknowledged once it is known what follows."""

    ledger: Ledger
    hints: dict[tuple[JobId, Domain], TellMember] = field(default_factory=dict)
    unanswered: dict[JobId, None] = field(default_factory=dict)  # jobs whose question got no answer
    holding: dict[tuple[JobId, Domain], int] = field(default_factory=dict)  # since when they hear that one holds

    # Another one has changed

    def hears(self, job: PairedJob, peer: Domain, request: TellMember, now: int) -> list[Effect]:
        """A running job hears that the member there has changed. It asks, if that may matter; else nothing follows."""
        asked = self.changed(job, peer, now)
        return [*self.note_hint(job, peer, request), *asked] if asked else []

    def note_hint(self, job: PairedJob, peer: Domain, request: TellMember) -> list[Effect]:
        """Acknowledge the hint later; one that it supersedes counts no more."""
        earlier, self.hints[job.id, peer] = self.hints.get((job.id, peer), request), request
        return [] if earlier == request else [Answer(peer, earlier, MemberTold(False))]

    def changed(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:  # noqa: ARG002
        """The member there may have changed: a running job asks, if that may matter."""
        known = peer in membership(job).jobs
        return self._ask(job, peer) if known and job.ending is None and self.may_follow(job, peer) else []

    def may_follow(self, job: PairedJob, peer: Domain) -> bool:
        """Return whether it may matter to the job what becomes of the member there."""
        return membership(job).terms.follows(peer) or self._if_requeued(job) is not CONTINUE

    @staticmethod
    def _is_bound(job: PairedJob, peer: Domain) -> bool:
        """Return whether the two know each other, and that domain knows what this job does at the other's end."""
        group = membership(job)
        return group.is_bound(peer) and (peer in group.jobs or group.is_pair)

    def _ask(self, job: PairedJob, peer: Domain) -> list[Effect]:
        """Ask how the member there stands, once its domain knows of this job what it needs."""
        group = membership(job)
        request: Request = group.lookup(job.id, job.owner, peer)
        if self._is_bound(job, peer):
            request = GetMateStatus(group.jobs[peer], job.id)
        group.checks = {**group.checks, peer: request}
        return [Call(peer, job.id, request)]

    def _if_requeued(self, job: PairedJob) -> OnMemberRequeued:
        return membership(job).terms.if_requeued or self.ledger.settings.on_member_requeued

    # Answers

    def told(self, job: PairedJob, peer: Domain, answer: Reply, now: int) -> list[Effect]:
        """How the member there stands; or which it is, now that its domain knows more of this job."""
        group = membership(job)
        if isinstance(answer, MateJobId) and answer.found is Found.BUSY:
            asked_who, pause = group.lookup(job.id, job.owner, peer), self.ledger.settings.long_pause
            return self._ask_later(job, peer, asked_who, now, pause)
        if isinstance(answer, MateJobId):
            group.bind(peer)
            if answer.job is not None and peer not in group.jobs:
                group.know(peer, answer.job)
            return self.changed(job, peer, now) or self._acknowledge(job, peer)
        assert isinstance(answer, MateStatus)
        if answer.status is Status.HOLDING and answer.runs and self._may_be_starting(job, peer, now):
            asked = GetMateStatus(group.jobs[peer], job.id)
            return self._ask_later(job, peer, asked, now, self.ledger.settings.retry_interval)
        self.holding.pop((job.id, peer), None)
        followed = [] if job.ending is not None else self._follow(job, peer, answer, now)
        return self._acknowledge(job, peer, followed)

    def _may_be_starting(self, job: PairedJob, peer: Domain, now: int) -> bool:
        """Return whether a member with nodes may just be starting with this job, and await an answer."""
        if job.ending is not None or self._if_requeued(job) is CONTINUE:
            return False
        since = self.holding.setdefault((job.id, peer), now)
        return now < since + 2 * self.ledger.settings.long_pause

    def _follow(self, job: PairedJob, peer: Domain, status: MateStatus, now: int) -> list[Effect]:
        if status.status in WAITS:
            return self._follow_requeued(job, peer, status, now) if status.runs else []
        terms = membership(job).terms
        if not has_ended(status):
            return []
        if terms.fail_together and status.status in DID_NOT_COMPLETE and status.ended_by is not EndedBy.MATE:
            return self._end(job, peer, Why.MATE_FAILED)
        return self._end(job, peer, Why.MATE_ENDED) if peer in terms.ends_with else []

    def _follow_requeued(self, job: PairedJob, peer: Domain, status: MateStatus, now: int) -> list[Effect]:
        """The member there has run, and waits again."""
        choice, terms = self._if_requeued(job), membership(job).terms
        if choice is OnMemberRequeued.END:
            return self._end(job, peer, Why.MATE_REQUEUED)
        if choice is CONTINUE:
            return []
        assert job.started_at is not None
        runs = max(job.runs, status.runs)
        too_late = terms.together_for is not None and now > job.started_at + terms.together_for
        if too_late or runs > self.ledger.settings.max_requeues:
            return self.ledger.note(job, What.RUNS_ON, Why.MATE_REQUEUED, peer=peer, runs=runs)
        membership(job).know_of_start = ()
        return self._end(job, peer, Why.MATE_REQUEUED, again=True)

    def _end(self, job: PairedJob, peer: Domain, why: Why, *, again: bool = False) -> list[Effect]:
        job.ending, job.again = why, again
        return [*self.ledger.note(job, What.RUN_ENDS, why, peer=peer), EndRun(job.id, why, again)]

    def _acknowledge(self, job: PairedJob, peer: Domain, followed: Sequence[Effect] = ()) -> list[Effect]:
        """Acknowledge a hint, since what has followed from it is on record; the story tells of the hint first."""
        if (request := self.hints.pop((job.id, peer), None)) is None:
            return [*followed]
        group = membership(job)
        group.heard = {**group.heard, peer: Heard(request.caller, request.number)}
        told = self.ledger.note(job, What.HEARS_OF_MATE, peer=peer)
        return [*told, *followed, Answer(peer, request, MemberTold(True))]

    def acknowledge_all(self, job: PairedJob) -> list[Effect]:
        """Nothing follows for this run, or none is left."""
        peers = [peer for id, peer in self.hints if id == job.id and job.group is not None]
        return [effect for peer in peers for effect in self._acknowledge(job, peer)]

    # No answer

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer: nobody ends by that. It is asked again until there is one."""
        return self._ask_later(job, event.peer, event.request, now, self.ledger.settings.long_pause)

    def _ask_later(self, job: PairedJob, peer: Domain, request: Request, now: int, pause: int) -> list[Effect]:
        group = membership(job)
        group.checks = {**group.checks, peer: request}
        self.unanswered[job.id] = None
        return [SetTimer(job.id, Timer.CHECK, now + pause)]

    def ask_again(self, job: PairedJob, _: CheckDue, now: int) -> list[Effect]:  # noqa: ARG002
        """It is time to ask those again that gave no answer."""
        self.unanswered.pop(job.id, None)
        return [] if job.group is None else [Call(peer, job.id, asked) for peer, asked in job.group.checks.items()]

    def peer_there(self, peer: Domain) -> list[Effect]:
        """The peer is there again: jobs ask what it has not answered."""
        jobs = [self.ledger.jobs[id] for id in self.unanswered if id in self.ledger.jobs]
        asked = [(job.id, job.group.checks.get(peer)) for job in jobs if job.group is not None]
        return [Call(peer, id, request) for id, request in asked if request is not None]

    # A run begins, and is over

    def begins(self, job: PairedJob, now: int) -> list[Effect]:  # noqa: ARG002
        """The job has started: those whose end it follows know that by now, or are told."""
        group = job.group
        if job.ending is not None:  # its resource manager has been faster
            return [EndRun(job.id, job.ending, job.again)]
        if group is None or (group.terms is NO_TERMS and self.ledger.continues):
            return []
        unbound = [peer for peer in group.partners if self.may_follow(job, peer) and not self._is_bound(job, peer)]
        return [effect for peer in unbound for effect in self._ask(job, peer)]

    def ends(self, job: PairedJob) -> list[Effect]:
        """The run is over: what was still to be asked of others does not matter any more."""
        if job.group is not None:
            job.group.checks = NOTHING
        if self.unanswered:
            self.unanswered.pop(job.id, None)
        if self.holding:
            self.holding = {key: since for key, since in self.holding.items() if key[0] != job.id}
        return self.acknowledge_all(job) if self.hints else []

    @staticmethod
    def finished(job: PairedJob, event: Finished) -> Finished:
        """Return how the job has ended: as the rules say, if they have ended its run for good."""
        if job.ending is None or job.again:
            return event
        return replace(event, how=STATES[job.ending] if job.state not in WAITING else event.how, by=EndedBy.MATE)

    @staticmethod
    def requeued(job: PairedJob, event: Requeued) -> tuple[Requeued, list[Effect]]:
        """Return why the job is queued again, and what follows: one that was to end for good still is."""
        if job.ending is None:
            return event, []
        if not job.again:
            return event, [CancelJob(job.id, job.ending)]
        why = job.ending
        job.ending, job.again = None, False
        return replace(event, why=why), []

    @staticmethod
    def runs_on(job: PairedJob) -> bool:
        """The job cannot be queued again; return whether the rules had ended its run for that."""
        had_to = job.again
        if had_to:
            job.ending, job.again = None, False
        return had_to

    def recover(self, job: PairedJob, now: int) -> list[Effect]:
        """Repeat an order after a restart. A running job asks what has become of the others meanwhile."""
        if job.ending is not None:
            waits = job.state in WAITING
            return [CancelJob(job.id, job.ending) if waits else EndRun(job.id, job.ending, job.again)]
        if job.group is None or job.state is not JobState.RUNNING:
            return []
        return [effect for peer in job.group.jobs for effect in self.changed(job, peer, now)]
