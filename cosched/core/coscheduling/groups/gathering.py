"""A member of a group whose turn has come: it asks for the others, and proposes that all start now.

All others are asked at once. If each could start, each is asked to keep its nodes (ProposeGroupStart). If all do, the
start is decided, on record, and told to all until they know it. If one does not, the proposal is dropped for good, and
the job holds or yields. So nobody starts unless all have their nodes.

A member that is busy is asked again for a while: it is booked by another member, whose proposal may fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cosched.core.coscheduling import holds
from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import ALIVE, Asking
from cosched.core.coscheduling.groups.agreeing import Agreeing
from cosched.core.coscheduling.groups.proposals import membership, propose
from cosched.core.coscheduling.groups.telling import Telling
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.membership import Membership, Proposal
from cosched.core.coscheduling.peers import Peers
from cosched.core.effects import Call, CancelJob, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import Answered, CallFailed, RetryDue
from cosched.core.protocol import (
    Domain,
    Failure,
    Found,
    GetMateStatus,
    GroupProposed,
    MateJobId,
    MateProblem,
    MateStatus,
    ProposeGroupStart,
    Request,
    SettleGroupStart,
    Status,
    Vote,
)
from cosched.core.settings import OnMateUnknown, OnMemberLost, OnUnreachable, Scheme
from cosched.core.story import Detail, What, Why

MOST_DOUBLINGS = 3  # of the time for which a refused job pauses
LOST = (Status.CANCELLED, Status.FAILED, Status.UNKNOWN)
STARTED = (Status.RUNNING, Status.ENDED)
APART = (MateProblem.OFF, MateProblem.UNLINKED)  # somebody there has decided that the job goes on without


@dataclass
class Gathering:
    """What our members ask of the others."""

    ledger: Ledger
    peers: Peers
    allocations: Allocations
    asking: Asking
    agreeing: Agreeing
    telling: Telling

    # Who is there

    def answered(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """An answer to a question about another member; late ones change nothing."""
        group, answer = membership(job), event.answer
        if group.asked.get(event.peer) != event.request or not isinstance(answer, MateJobId | MateStatus):
            return []
        if isinstance(answer, MateJobId) and answer.job is not None:
            group.know(event.peer, answer.job)
            request = group.asked[event.peer] = GetMateStatus(answer.job, job.id)
            return [Call(event.peer, job.id, request)]
        return self._told(job, event.peer, answer, now)

    def _told(self, job: PairedJob, peer: Domain, what: MateStatus | MateJobId | Failure, now: int) -> list[Effect]:
        group = membership(job)
        del group.asked[peer]
        group.told[peer] = what
        return [] if group.asked else self._go_on(job, now)

    def _go_on(self, job: PairedJob, now: int) -> list[Effect]:
        """All others have been asked: start, wait, or propose."""
        group = membership(job)
        statuses = {peer: told for peer, told in group.told.items() if isinstance(told, MateStatus)}
        if group.has_begun or any(told.status in STARTED for told in statuses.values()):
            if now < (first := self._first_after(group, statuses)):
                waits = self.allocations.wait(job, now, Why.WINDOW_AHEAD, Scheme.YIELD, group=group.name)
                return [*waits, SetTimer(job.id, Timer.RETRY, first)]
            return self.allocations.start(job, now, Why.MATE_STARTED_BEFORE, gap_s=self._gap(group, statuses, now))
        passed_from = self.ledger.passed_from(job)
        if job.slot is None and passed_from is not None and now >= passed_from:
            return self._passed(job, now)
        without: list[Domain] = []
        for peer, told in group.told.items():
            wait = self._lacks(job, peer, told, now)
            if wait is not None:
                return wait
            if not isinstance(told, MateStatus) or told.status in LOST:
                without.append(peer)
        lost = [peer for peer, told in statuses.items() if told.status in LOST]
        left = [peer for peer in group.told if peer not in without]
        stops = self.ledger.settings.on_member_lost is not OnMemberLost.START or (group.at is not None and not left)
        if lost and not group.or_alone and stops:
            return self._stop_for_lost(job, lost[0], now)
        outdated = self._leave_out(job, without)
        if left and group.by_slots_only:
            return [*outdated, *self._agree(job, left, now)]
        return [*outdated, *(self._propose(job, left, now) if left else self._start_alone(job, now))]

    def _first_after(self, group: Membership, statuses: Mapping[Domain, MateStatus]) -> int:
        """The first instant at which the job may start, by the windows of all, if others have started unasked."""
        if group.has_begun or not group.by_slots_only:
            return 0
        began = [
            told.started_at - group.window(peer)[1] for peer, told in statuses.items() if told.started_at is not None
        ]
        return max(began, default=0) + group.window(self.ledger.domain)[0]

    def _gap(self, group: Membership, statuses: Mapping[Domain, MateStatus], now: int) -> int | None:
        """How much later than the windows have it the job starts, if others have started already; None: none has."""
        begun = [
            told.started_at - group.window(peer)[0] for peer, told in statuses.items() if told.started_at is not None
        ]
        if not begun:
            return None
        gap = now - group.window(self.ledger.domain)[1] - min(begun)
        return max(gap, 0) if group.by_slots_only else gap

    def _leave_out(self, job: PairedJob, without: list[Domain]) -> list[Effect]:
        """These members do not take part. A slot that was agreed on with others than those left is outdated."""
        group = membership(job)
        same = set(without) == set(group.without) or group.keeps_slot
        group.without = tuple(without)
        return [] if same else self.agreeing.slots.drop(job, Why.MATE_CHANGED)

    def _lacks(
        self, job: PairedJob, peer: Domain, told: MateStatus | MateJobId | Failure, now: int
    ) -> list[Effect] | None:
        """What the job does while it has to wait for this member; None: it need not wait for it."""
        if isinstance(told, Failure):
            return self._unreachable(job, peer, told, now)
        if isinstance(told, MateJobId):
            return self._unknown(job, peer, told, now)
        if told.status is Status.UNSUBMITTED:
            return None if job.alone else self.allocations.wait(job, now, Why.MATE_UNSUBMITTED, peer=peer)
        return None

    def _unknown(self, job: PairedJob, peer: Domain, told: MateJobId, now: int) -> list[Effect] | None:
        if told.found is Found.UNSUBMITTED:
            return None if job.alone else self.allocations.wait(job, now, Why.MATE_UNSUBMITTED, peer=peer)
        starts = self.ledger.settings.on_mate_unknown is OnMateUnknown.START or membership(job).or_alone or job.alone
        if starts or told.problem in APART:
            return None
        job.problem = told.problem or ""
        detail: Detail = {"problem": job.problem, "peer": peer, "group": membership(job).name}
        return self.allocations.wait(job, now, Why.MATE_UNKNOWN, Scheme.YIELD, **detail)

    def _stop_for_lost(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:
        """A member will not run: the job waits for what its owner does, or ends too."""
        detail: Detail = {"peer": peer, "group": membership(job).name}
        waits = self.allocations.wait(job, now, Why.MEMBER_LOST, Scheme.YIELD, **detail)
        return [*waits, CancelJob(job.id)] if self.ledger.settings.on_member_lost is OnMemberLost.CANCEL else waits

    def _passed(self, job: PairedJob, now: int) -> list[Effect]:
        """The given instant has passed, and the group has not begun: the job waits for what its owner does, or ends."""
        group = membership(job)
        detail: Detail = {"group": group.name}
        if group.or_alone:
            return self.allocations.start(job, now, Why.INSTANT_PASSED, **detail)
        waits = self.allocations.wait(job, now, Why.INSTANT_PASSED, Scheme.YIELD, **detail)
        return [*waits, CancelJob(job.id)] if self.ledger.settings.on_member_lost is OnMemberLost.CANCEL else waits

    def _unreachable(self, job: PairedJob, peer: Domain, failure: Failure, now: int) -> list[Effect] | None:
        if failure is Failure.REFUSED:
            return self.allocations.wait(job, now, Why.PEER_REFUSED, peer=peer)
        if failure in ALIVE or self.peers.expects(peer, now):
            why = Why.PEER_BUSY if failure in ALIVE else Why.PEER_AWAY
            return [*self.allocations.wait(job, now, why, peer=peer), *self.asking.ask_later(job, peer, now)]
        choice = self.ledger.settings.on_peer_unreachable
        if choice is OnUnreachable.START:
            return None
        return self.allocations.wait(job, now, Why.PEER_UNREACHABLE, Scheme(choice.value), peer=peer)

    def _start_alone(self, job: PairedJob, now: int) -> list[Effect]:
        return self.allocations.start(job, now, Why.NO_MEMBER_LEFT, without=list(membership(job).without))

    # To propose

    def _agree(self, job: PairedJob, others: Sequence[Domain], now: int) -> list[Effect]:
        """The group starts by an agreement only, also if that is on now."""
        job.will_hold = False
        if job.slot is not None and job.slot <= now:
            return propose(self.ledger, job, others, now, slot=membership(job).slot)
        if not self._may_book(job, others):
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING, peer=others[0])
        return self.agreeing.agree(job, others[0], now)

    def _may_book(self, job: PairedJob, others: Iterable[Domain]) -> bool:
        """Whether all may have slots, by what these others have said of themselves."""
        told = [membership(job).told.get(peer) for peer in others]
        ready = all(isinstance(status, MateStatus) and status.may_book for status in told)
        return ready and self.ledger.gives_slot(job) and not job.will_hold

    def _propose(self, job: PairedJob, peers: Iterable[Domain], now: int) -> list[Effect]:
        job.will_hold = self.allocations.would_hold(job, now)
        return propose(self.ledger, job, peers, now)

    def voted(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """What a member answers to a proposal; too late, if that is dropped."""
        if isinstance(event.request, ProposeGroupStart) and event.request.not_before is not None:
            return self.agreeing.voted(job, event, now)
        proposal = self._awaiting(job, event.peer, event.request)
        if proposal is None or not isinstance(event.answer, GroupProposed):
            return []
        if event.answer.vote is Vote.NO:
            return self._refused(job, proposal, event.peer, now)
        if event.answer.vote is Vote.BUSY:
            return self._ask_again(job, event.peer, now)
        proposal.booked.add(event.peer)
        if event.answer.start_at is not None:
            proposal.start_at = max(proposal.start_at or 0.0, event.answer.start_at)
        return self._decide(job, proposal, now) if len(proposal.booked) == len(proposal.requests) else []

    @staticmethod
    def _awaiting(job: PairedJob, peer: Domain, request: Request) -> Proposal | None:
        """The proposal to which this request belongs, if that is undecided."""
        proposal = membership(job).proposal
        return proposal if proposal is not None and proposal.requests.get(peer) == request else None

    def _ask_again(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:
        """Ask a busy member, or one that has not answered, again: until patience ends."""
        group, settings = membership(job), self.ledger.settings
        if group.proposal is not None and now >= group.proposal.since + settings.peer_patience:
            return self._fail(job, peer, now)
        group.again[peer] = None
        return [SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]

    def _decide(self, job: PairedJob, proposal: Proposal, now: int) -> list[Effect]:
        """All are booked: all start."""
        group, at = membership(job), proposal.start_at
        id = next(iter(proposal.requests.values())).request_id
        group.proposal = None
        told: list[Effect] = []
        for peer in proposal.requests:
            start = SettleGroupStart(id, group.jobs[peer], job.id, start=True, start_at=at)
            told += self.telling.tell(job, peer, start, now)
        detail: Detail = {"proposal": id}
        if group.without:
            detail["without"] = list(group.without)
        group.started_by = id
        why = Why.AT_SLOT if proposal.slot else Why.ALL_BOOKED
        return [*self.allocations.start(job, now, why, at, **detail), *told]

    def _refused(self, job: PairedJob, proposal: Proposal, refuser: Domain, now: int) -> list[Effect]:
        """A member cannot start now. If all have been ready once, they agree on a later instant."""
        if proposal.slot or not self._may_book(job, proposal.requests):
            return self._fail(job, refuser, now, pauses=not proposal.slot)
        return [*self.drop(job, now, refuser), *self.agreeing.agree(job, refuser, now)]

    def _fail(self, job: PairedJob, refuser: Domain, now: int, *, pauses: bool = False) -> list[Effect]:
        """Not all can start now: the job holds or yields; it may pause then."""
        proposal = membership(job).proposal
        if proposal is not None and proposal.slot:
            return [*self.drop(job, now, refuser), *self.agreeing.at_slot.not_started(job, now)]
        may_hold = job.will_hold and (job.cannot_yield or self.allocations.may_still_hold(job, now))
        dropped = self.drop(job, now, refuser, job.held_until if may_hold else 0)
        fate = self.allocations.hold if may_hold else self.allocations.pass_over
        if pauses and not may_hold:
            self._pause(job, now)
        return [*dropped, *fate(job, now, Why.MATE_QUEUING, peer=refuser)]

    def _pause(self, job: PairedJob, now: int) -> None:
        """Leave the nodes to others for longer than it took to be refused: members here may be asked meanwhile."""
        group = membership(job)
        group.in_vain = min(group.in_vain + 1, MOST_DOUBLINGS)
        took = max(now - job.call_since - 1, 0)  # without the second that may just have ended
        group.pauses_until = now + holds.part_of(took << group.in_vain, self.ledger.domain, job.id, job.calls)

    def drop(self, job: PairedJob, now: int, refuser: Domain = "", hold_until: int = 0) -> list[Effect]:
        """Drop the job's proposal, if it has one, for good. Tell those that it has asked, except who refused."""
        group = membership(job)
        if group.proposal is None:
            return []
        requests, group.proposal = group.proposal.requests, None
        group.again.clear()
        told = self.ledger.note(job, What.DROPS_PROPOSAL, proposal=next(iter(requests.values())).request_id)
        for peer, asked in requests.items():
            if peer != refuser:
                drop = SettleGroupStart(asked.request_id, asked.job, job.id, start=False, hold_until=hold_until)
                told += self.telling.tell(job, peer, drop, now)
        return told

    def undo(self, job: PairedJob, now: int) -> list[Effect]:
        """Drop the undecided proposal of a ready job, since a member asks what has become of it."""
        return self._fail(job, "", now) if job.state is READY else self.drop(job, now)

    def stop_asking(self, job: PairedJob, now: int) -> list[Effect]:
        """The job asks no longer about the others, and proposes nothing."""
        group = membership(job)
        group.asked.clear()
        group.told.clear()
        dropped = [*self.agreeing.slots.abandon(job), *self.drop(job, now)]
        group.again.clear()
        return dropped

    # Calls that fail

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer of a member's domain."""
        group, peer = membership(job), event.peer
        group.unanswered.add(peer)
        if group.asked.get(peer) == event.request:
            return self._noticed(job, event, now) + self._unanswered(job, event, now)
        if self._awaiting(job, peer, event.request) is not None:
            noticed = self._noticed(job, event, now)
            refused = event.failure in (Failure.REFUSED, Failure.UNREACHABLE)
            return noticed + (self._fail(job, "", now) if refused else self._ask_again(job, peer, now))
        agreement = group.agreement
        if agreement is not None and agreement.awaits(peer, event.request):
            return self._noticed(job, event, now) + self.agreeing.give_up(job, agreement, now)
        if group.keeping.get(peer) == event.request:
            group.again[peer] = None
            return [SetTimer(job.id, Timer.RETRY, now + self.ledger.settings.retry_interval)]
        return []

    def _noticed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        if event.failure is Failure.REFUSED:
            return self.ledger.note(job, What.PEER_REFUSED, peer=event.peer)
        return self.asking.noticed(job, event.peer, event.failure, now)

    def _unanswered(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer to a question: a peer that is alive is asked again, until patience ends."""
        settings = self.ledger.settings
        if job.state is READY and event.failure in ALIVE and now < job.call_since + settings.peer_patience:
            membership(job).again[event.peer] = None
            return [SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]
        return self._told(job, event.peer, event.failure, now)

    def retry(self, job: PairedJob, _: RetryDue, now: int) -> list[Effect]:
        """It is time to ask those again that gave no answer, or were busy."""
        group = membership(job)
        if job.state is HOLDING:
            return self.asking.ask_again(job, now) if job.missed and group.promise is None else []
        again = [(peer, request) for peer in group.again for request in self._open_requests(group, peer)]
        group.again.clear()
        if not again and job.state is QUEUED:  # others have started unasked, and its window begins
            return [Reschedule(job.id)]
        return [Call(peer, job.id, request) for peer, request in again]

    @staticmethod
    def _open_requests(group: Membership, peer: Domain) -> list[Request]:
        """What this peer has not answered yet: what the job asks now, and whether a slot is kept."""
        asked = group.asked.get(peer)
        if asked is None and group.proposal is not None:
            asked = group.proposal.requests.get(peer)
        return [request for request in (asked, group.keeping.get(peer)) if request is not None]
