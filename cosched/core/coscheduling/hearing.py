"""News of others: a job hears that one with which it starts, or has started, has changed, and asks again (life.md).

What is heard is a hint, which carries no facts. A job that holds becomes ready on the nodes that it has, and asks. One
that is ready, booked, or waits for an answer notes the hint, and asks when that is over. A queued one asks without
nodes: it may only be cancelled, or wait. One that runs asks how the other stands (`following`).

A hint may get lost. So a job that holds asks now and then whether its mates still wait (`hold_check`). The check
decides nothing: any other answer makes the job ask as a hint does, and so does any answer of one that gave none before.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, RUNNING
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.following import Following
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOTHING, Heard, all_but
from cosched.core.coscheduling.successors import LOST
from cosched.core.effects import Answer, Call, Effect, SetTimer, Timer
from cosched.core.events import Answered, CallFailed, CheckDue, ReleaseDue, SuccessorDue
from cosched.core.job import WAITING
from cosched.core.protocol import Domain, GetMateStatus, MateStatus, MemberTold, Request, Status, TellMember
from cosched.core.story import What

STILL_WAITS = (Status.HOLDING, Status.QUEUING)


@dataclass
class Hearing:
    """What our jobs hear of others."""

    ledger: Ledger
    asking: Asking
    following: Following

    def told(self, peer: Domain, request: TellMember, now: int) -> list[Effect]:
        """A peer says that a member there has changed. A copy, or an older word, changes nothing."""
        job = self.ledger.jobs.get(request.job)
        group = None if job is None else job.group
        known = group is not None and peer in group.others and group.jobs.get(peer, request.caller) == request.caller
        if job is None or group is None or not known:
            return [Answer(peer, request, MemberTold(False))]
        last = group.heard.get(peer)
        if last is not None and last.caller == request.caller and request.number <= last.number:
            return [Answer(peer, request, MemberTold(request.number == last.number))]
        self.ledger.changed[job.id] = None
        if job.state is RUNNING and (asked := self.following.hears(job, peer, request, now)):
            return asked
        if self._may_start(job) and self.following.may_follow(job, peer):
            job.hinted = True
            return self.following.note_hint(job, peer, request)
        group.heard = {**group.heard, peer: Heard(request.caller, request.number)}
        if job.state.final:
            return [Answer(peer, request, MemberTold(True))]
        noted = self.ledger.note(job, What.HEARS_OF_MATE, peer=peer)
        job.hinted = job.state is not RUNNING  # it asks as soon as it can: see `ask`
        return [*noted, Answer(peer, request, MemberTold(True))]

    @staticmethod
    def _may_start(job: PairedJob) -> bool:
        """Return whether the job waits for an answer, or an outcome, by which it may start, and then follow others."""
        group = membership(job)
        undecided = job.call is not None or group.promise is not None or group.proposal is not None
        return job.state in WAITING and undecided

    def ask(self, job: PairedJob, now: int) -> list[Effect]:
        """Ask again, after a hint, if the job can do so now."""
        group = job.group
        if group is None or job.state not in WAITING:
            job.hinted = False
            peers = group.jobs if group is not None and job.state is RUNNING else ()
            asked = [effect for peer in peers for effect in self.following.changed(job, peer, now)]
            return asked or self.following.acknowledge_all(job)
        if job.call is not None or group.promise is not None or group.agreement is not None:
            return []
        heard = [] if self._may_start(job) else self.following.acknowledge_all(job)
        if job.state is HOLDING:
            return heard + self.asking.ask_again(job, now)
        if job.state is QUEUED:
            return heard + self.asking.ask(job, now)
        return heard  # it is ready: its questions are open

    # To ask now and then

    def check(self, job: PairedJob, _: CheckDue, now: int) -> list[Effect]:
        """A job holds: ask whether its mates still wait, and who is there again that gave no answer."""
        group, pause = job.group, self.ledger.settings.hold_check
        if group is None or not pause:
            return []
        again = SetTimer(job.id, Timer.CHECK, now + pause)
        asked = {} if group.promise is not None else {peer: self._question(job, peer) for peer in group.partners}
        group.checks = {peer: request for peer, request in asked.items() if request is not None}
        return [again, *(Call(peer, job.id, request) for peer, request in group.checks.items())]

    @staticmethod
    def _question(job: PairedJob, peer: Domain) -> Request | None:
        """Return how to ask about the member there; None: it has ended, or it is not known which it is."""
        group = membership(job)
        other, lost = group.jobs.get(peer), group.lost.get(peer)
        has_ended = lost is not None and lost.job == other
        if peer not in group.unanswered and (other is None or has_ended):
            return None
        return group.lookup(job.id, job.owner, peer) if other is None else GetMateStatus(other, job.id)

    def doubt(self, job: PairedJob, peer: Domain) -> list[Effect]:
        """Another job wants the place of the member there: ask whether that one has ended."""
        group = membership(job)
        if peer in group.checks:
            return []
        request = GetMateStatus(group.jobs[peer], job.id)
        group.checks = {**group.checks, peer: request}
        return [Call(peer, job.id, request)]

    def checked(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """How the other one stands, which was asked by a check."""
        group, answer = membership(job), event.answer
        group.checks = all_but(event.peer, group.checks) or NOTHING
        if job.state is RUNNING:
            return self.following.told(job, event.peer, answer, now)
        if job.state in WAITING:
            waits = isinstance(answer, MateStatus) and answer.status in STILL_WAITS
            if event.peer in group.claimed and isinstance(answer, MateStatus):
                group.claimed = {**group.claimed, event.peer: answer.status not in LOST}
            job.hinted |= not waits or event.peer in group.unanswered
        return []

    def unchecked(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer to a check: it decides nothing."""
        group = membership(job)
        group.checks = all_but(event.peer, group.checks) or NOTHING
        return self.following.failed(job, event, now) if job.state is RUNNING else []

    # A successor that does not come

    def successor_due(self, job: PairedJob, _: SuccessorDue, now: int) -> list[Effect]:
        """The job has waited long enough for another in the place of a mate, or long enough with nodes."""
        if job.group is None or not job.group.lost:
            return []
        awaited = job.group.awaited(now)
        if not awaited:
            job.hinted = True
            return []
        again = SetTimer(job.id, Timer.SUCCESSOR, max(lost.until for lost in awaited))
        if job.state is not HOLDING or job.group.promise is not None:
            return [again]
        return [*self.asking.allocations.release(job, ReleaseDue(job.id), now), again]
