"""The starts that our jobs propose to others: all keep their nodes, or nobody starts (coscheduling.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cosched.core.coscheduling import holds
from cosched.core.coscheduling.allocations import READY, Allocations
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOTHING, Proposal
from cosched.core.coscheduling.starts.agreeing import Agreeing
from cosched.core.coscheduling.starts.proposals import propose
from cosched.core.coscheduling.starts.telling import Telling
from cosched.core.effects import Effect, SetTimer, Timer
from cosched.core.events import Answered
from cosched.core.protocol import Domain, GroupProposed, MateStatus, Request, SettleGroupStart, Vote
from cosched.core.story import Detail, What, Why

MOST_DOUBLINGS = 3  # of the time for which a refused job pauses


@dataclass
class Proposing:
    """The proposals of our jobs."""

    ledger: Ledger
    allocations: Allocations
    agreeing: Agreeing
    telling: Telling

    def at_slots(self, job: PairedJob, others: Sequence[Domain], now: int) -> list[Effect]:
        """The group starts by an agreement only, also if that is on now."""
        job.will_hold = False
        if job.slot is not None and job.slot <= now:
            return propose(self.ledger, job, others, now, slot=membership(job).slot)
        if not self._may_book(job, others):
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING, peer=others[0])
        return self.agreeing.agree(job, others[0], now)

    def _may_book(self, job: PairedJob, others: Iterable[Domain]) -> bool:
        """Return whether all may have slots, by what these others have said of themselves."""
        told = [membership(job).told.get(peer) for peer in others]
        ready = all(isinstance(status, MateStatus) and status.may_book for status in told)
        return ready and self.ledger.gives_slot(job) and not job.will_hold

    def propose(self, job: PairedJob, peers: Iterable[Domain], now: int) -> list[Effect]:
        """Propose a start now to the members there."""
        job.will_hold = self.allocations.would_hold(job, now)
        return propose(self.ledger, job, peers, now)

    def voted(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """What a member answers to a proposal; too late, if that is dropped."""
        proposal = self.awaiting(job, event.peer, event.request)
        if proposal is None or not isinstance(event.answer, GroupProposed):
            return []
        if event.answer.vote is Vote.NO:
            return self._refused(job, proposal, event.peer, now)
        if event.answer.vote is Vote.BUSY:
            return self.ask_again(job, event.peer, now)
        proposal.booked.add(event.peer)
        if event.answer.start_at is not None:
            proposal.start_at = max(proposal.start_at or 0.0, event.answer.start_at)
        return self._decide(job, proposal, now) if len(proposal.booked) == len(proposal.requests) else []

    @staticmethod
    def awaiting(job: PairedJob, peer: Domain, request: Request) -> Proposal | None:
        """Return the proposal to which this request belongs, if that is undecided."""
        proposal = membership(job).proposal
        return proposal if proposal is not None and proposal.requests.get(peer) == request else None

    def ask_again(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:
        """Ask a busy member, or one that has not answered, again: until patience ends."""
        group, settings = membership(job), self.ledger.settings
        if group.proposal is not None and now >= group.proposal.since + settings.peer_patience:
            return self.fail(job, peer, now)
        group.again = {**group.again, peer: None}
        return [SetTimer(job.id, Timer.RETRY, now + settings.retry_interval)]

    def _decide(self, job: PairedJob, proposal: Proposal, now: int) -> list[Effect]:
        """All are booked: all start."""
        group, at, id = membership(job), proposal.start_at, proposal.name
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
            return self.fail(job, refuser, now, pauses=not proposal.slot)
        return [*self.drop(job, now, refuser), *self.agreeing.agree(job, refuser, now)]

    def fail(self, job: PairedJob, refuser: Domain, now: int, *, pauses: bool = False) -> list[Effect]:
        """Not all can start now: the job holds or yields; it may pause then."""
        proposal = membership(job).proposal
        if proposal is not None and proposal.slot:
            given_back = [*self.drop(job, now, refuser), *self.allocations.give_back(job)]
            return [*given_back, *self.agreeing.at_slot.wait_for_nodes(job, now)]
        may_hold = job.will_hold and (job.cannot_yield or self.allocations.may_still_hold(job, now))
        dropped = self.drop(job, now, refuser, job.held_until if may_hold else 0)
        fate = self.allocations.hold if may_hold else self.allocations.pass_over
        if pauses and not may_hold:
            self._pause(job, now)
        return [*dropped, *fate(job, now, Why.MATE_QUEUING, **job.about(refuser))]

    def _pause(self, job: PairedJob, now: int) -> None:
        """Leave the nodes to others for longer than it took to be refused: members here may be asked meanwhile."""
        group = membership(job)
        group.in_vain = min(group.in_vain + 1, MOST_DOUBLINGS)
        took = max(now - job.call_since - 1, 0)  # without the second that may just have ended
        group.pauses_until = now + holds.part_of(took << group.in_vain, self.ledger.domain, job.id, job.calls)

    def drop(self, job: PairedJob, now: int, refuser: Domain = "", hold_until: int = 0) -> list[Effect]:
        """Drop the job's proposal, if it has one, for good. Tell those that it has asked, except who refused."""
        group = membership(job)
        if (proposal := group.proposal) is None:
            return []
        group.proposal, group.again = None, NOTHING
        told = self.ledger.note(job, What.DROPS_PROPOSAL, proposal=proposal.name)
        for peer, asked in proposal.requests.items():
            if peer != refuser:
                drop = SettleGroupStart(asked.request_id, asked.job, job.id, start=False, hold_until=hold_until)
                told += self.telling.tell(job, peer, drop, now)
        return told

    def undo(self, job: PairedJob, now: int) -> list[Effect]:
        """Drop the undecided proposal of a ready job, since a member asks what has become of it."""
        return self.fail(job, "", now) if job.state is READY else self.drop(job, now)
