"""What members of groups promise: their nodes, for a start that another member proposes, until they know the outcome.

A promise ends by the word of its proposer alone, whatever the clock says: a member whose lease is over asks. The
proposer drops an undecided proposal before it answers. Others are asked, too, if it does not answer; of them only "we
have started by it" counts. A member that hears nothing for `peer_patience` treats the proposer as unreachable.

How long nodes are kept is for their own domain to say: it asks when its own lease is over, if that is shorter.
Proposals that follow each other have one lease together, then others have their turn. What is booked counts as held.

A proposal that has been dropped is void for good, however late copies of it come.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import Promise
from cosched.core.coscheduling.names import Names
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.starts.gathering import Gathering
from cosched.core.coscheduling.starts.proposals import longest_lease
from cosched.core.coscheduling.starts.proposing import Proposing
from cosched.core.coscheduling.starts.reserving import Reserving
from cosched.core.coscheduling.starts.telling import Telling
from cosched.core.coscheduling.starts.vain import VainProposals
from cosched.core.effects import (
    Answer,
    Call,
    Claim,
    ClearTimer,
    Effect,
    GiveBack,
    MoveSlot,
    Reschedule,
    SetTimer,
    Timer,
    TryReady,
    Wanted,
    WantUntil,
)
from cosched.core.events import Answered, Claimed, LeaseOver, ReleaseDue, TriedReady
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import (
    FOREVER,
    Domain,
    GetProposal,
    GroupProposed,
    JobId,
    Outcome,
    ProposalOutcome,
    ProposeGroupStart,
    Settled,
    SettleGroupStart,
    Vote,
    call_number,
)
from cosched.core.settings import OnUnreachable, Scheme
from cosched.core.story import Detail, What, Why


@dataclass
class Promises:
    """The promises of our members."""

    ledger: Ledger
    names: Names
    peers: Peers
    allocations: Allocations
    asking: Asking
    gathering: Gathering
    proposing: Proposing
    telling: Telling
    reserving: Reserving
    trying: dict[JobId, tuple[Domain, ProposeGroupStart]] = field(default_factory=dict)  # who waits for the nodes

    def __post_init__(self) -> None:
        self.vain = VainProposals(self.ledger)

    # ProposeGroupStart

    def propose(self, peer: Domain, request: ProposeGroupStart, now: int) -> list[Effect]:
        """A member asks for our member's nodes."""
        if (job := self.names.starting_with(peer, request.caller, request.job)) is None:
            return [Answer(peer, request, GroupProposed(Vote.NO))]
        self.ledger.changed[job.id] = None
        if request.not_before is not None:
            return self.reserving.propose(job, peer, request, now)
        vote = self._vote(job, peer, request, now)
        if vote is not None:
            return self._answer(job, peer, request, vote)
        if membership(job).promise is not None and now >= membership(job).kept_until:  # dropped, as the later one says
            return [*self._end(job, now), *self._answer(job, peer, request, Vote.NO)]
        if job.state is not QUEUED:
            return self._book(job, peer, request, now, job.state)
        if self._starts_later(job, now):
            return [*self._book(job, peer, request, now, QUEUED), MoveSlot(job.id, SlotMoves.NEVER)]
        if self.vain.pauses(peer, now) and not request.slot:
            return self._answer(job, peer, request, Vote.NO)
        waiting = self.trying.get(job.id)
        if waiting is not None and waiting[0] != peer:
            return self._answer(job, peer, request, Vote.BUSY)
        self.trying[job.id] = peer, request
        if waiting is not None:
            return []
        return (
            [*self.reserving.slots.abandon(job), Claim(job.id, for_peer=True)] if request.slot else [TryReady(job.id)]
        )

    def _vote(self, job: PairedJob, peer: Domain, request: ProposeGroupStart, now: int) -> Vote | None:
        """Return the answer, if it needs no nodes; None: the job is to be booked."""
        group, number = membership(job), call_number(request.request_id)
        refuses = self.ledger.settled_by is not None or not self.ledger.enabled or job.ending is not None
        if refuses or number <= group.void.get(peer, 0):
            return Vote.NO
        if group.promise is not None:
            return self._vote_of_booked(group.promise, peer, number)
        if group.by_slots_only and request.slot != group.slot:
            return Vote.NO
        if job.state is READY and self._starts_later(job, now):
            return Vote.BUSY
        if job.state is READY and group.proposal is not None and peer > self.ledger.domain:
            return Vote.BUSY
        if request.slot != group.slot and request.slot and job.state is QUEUED:
            return Vote.NO
        if job.call is not None:  # its mate may just be starting by that
            return Vote.BUSY
        if job.state is READY and now >= (group.kept_until or FOREVER):
            return Vote.NO
        if job.state is READY and self._is_beyond_cap(job, request):
            return Vote.BUSY
        return None if job.state in (QUEUED, READY, HOLDING) else Vote.NO

    def _is_beyond_cap(self, job: PairedJob, request: ProposeGroupStart) -> bool:
        """Return whether more would be kept than may be held; one job may, or no group with a large one could start."""
        ledger = self.ledger
        others = ledger.booked.keys() - {job.id}
        return bool(others) and not request.slot and ledger.kept_beside(job.id) + job.nodes > ledger.cap

    @staticmethod
    def _starts_later(job: PairedJob, now: int) -> bool:
        """Return whether the job has a slot that comes after the first of its group, and is still to come."""
        return membership(job).by_slots_only and job.slot is not None and job.slot > now

    @staticmethod
    def _vote_of_booked(promise: Promise, peer: Domain, number: int) -> Vote | None:
        if promise.proposer != peer:
            return Vote.BUSY
        present = call_number(promise.proposal)
        if number < present:
            return Vote.NO
        return Vote.BOOKED if number == present else None  # a later one replaces it

    def _answer(self, job: PairedJob, peer: Domain, request: ProposeGroupStart, vote: Vote) -> list[Effect]:
        wanted = self._wanted(job, peer, request.hold_until) if vote is Vote.NO else []
        return [*wanted, Answer(peer, request, GroupProposed(vote, request.start_at))]

    def _wanted(self, job: PairedJob, peer: Domain, until: int) -> list[Effect]:
        """The job is wanted until then, whatever it answers: the member there may hold for as long."""
        group = membership(job)
        group.held_by = {**group.held_by, peer: until}
        if not until or job.state not in (QUEUED, READY, HOLDING):
            return []
        self.ledger.wanted[job.id] = None
        told: list[Effect] = [Wanted(job.id, group.wanted_until)] if job.state is QUEUED else []
        return [WantUntil(job.id, group.wanted_until), *told]

    def _book(self, job: PairedJob, peer: Domain, request: ProposeGroupStart, now: int, was: JobState) -> list[Effect]:
        """Keep the nodes of a job that has some, for this proposal."""
        group = membership(job)
        if group.promise is not None:
            was = group.promise.was
        release_due = group.promise is not None and group.promise.release_due
        dropped = self.gathering.stop_asking(job, now)
        if not group.kept_until:
            group.kept_until = now + longest_lease(self.ledger)
        until = min(now + request.lease, group.kept_until)
        self._count(job)
        group.promise = Promise(request.request_id, peer, request.caller, was, now, until, release_due)
        noted = self.ledger.note(job, What.BOOKED, proposal=request.request_id)
        timer = SetTimer(job.id, Timer.LEASE, until)
        return [*dropped, *noted, timer, *self._answer(job, peer, request, Vote.BOOKED)]

    def _count(self, job: PairedJob) -> None:
        """A job that is booked without a hold counts as one that holds."""
        if job.state is READY:
            self.ledger.booked[job.id] = job.nodes

    def recover(self, job: PairedJob, promise: Promise, now: int) -> list[Effect]:
        """Take up a promise as it was recorded."""
        promise.asked = False
        self._count(job)
        return [SetTimer(job.id, Timer.LEASE, max(now, promise.until))]

    def tried(self, job: PairedJob, event: TriedReady | Claimed, now: int) -> list[Effect]:
        """The scheduler has tried to make the job ready, perhaps on the nodes of its slot."""
        allocation = event.allocation
        if (waiting := self.trying.pop(job.id, None)) is None:  # nobody waits any more
            return [GiveBack(job.id)] if allocation is not None and job.state is QUEUED else []
        peer, request = waiting
        if allocation is None:
            return self._answer(job, peer, request, Vote.NO)
        if job.state is not QUEUED:
            return self._answer(job, peer, request, Vote.BUSY)
        job.allocation = allocation
        vote = Vote.BUSY if self._is_beyond_cap(job, request) else self._vote(job, peer, request, now)
        if vote in (Vote.NO, Vote.BUSY):  # NO: it was dropped meanwhile
            return [GiveBack(job.id), Answer(peer, request, GroupProposed(vote))]
        job.state = READY
        job.disclosed, job.cannot_yield, job.hold_limit = False, False, 0
        return self._book(job, peer, request, now, QUEUED)

    def leave(self, job: PairedJob) -> list[Effect]:
        """The job is in its group no longer: who waits for its nodes is refused."""
        waiting = self.trying.pop(job.id, None)
        refused = [] if waiting is None else [Answer(*waiting, GroupProposed(Vote.NO))]
        return [*self.end(job), *refused, *self.reserving.leave(job)]

    def forget(self, job: PairedJob) -> None:
        """Drop a job that has ended."""
        self.trying.pop(job.id, None)
        self.reserving.forget(job)

    # SettleGroupStart

    def settle(self, peer: Domain, request: SettleGroupStart, now: int) -> list[Effect]:
        """The proposer says what has become of its proposal; to hear it twice is to hear it once."""
        if (job := self.names.starting_with(peer, request.caller, request.job)) is None:
            return [Answer(peer, request, Settled(False))]
        self.ledger.changed[job.id] = None
        group, number = membership(job), call_number(request.request_id)
        if not request.keep and request.request_id.startswith(f"{peer}/{request.caller}/"):  # not another's slot
            group.make_void(peer, number)
        if group.slot == request.request_id and group.keeps_slot:
            return [Answer(peer, request, Settled(True))]
        if group.slot == request.request_id:
            return [*self.reserving.settle(job, request, now), Answer(peer, request, Settled(True))]
        if request.keep:
            return [Answer(peer, request, Settled(False))]
        ours = group.promise is not None and group.promise.proposal == request.request_id
        if request.start:
            started = self._start(job, request.request_id, request.start_at, now) if ours else []
            return [*started, Answer(peer, request, Settled(ours or group.started_by == request.request_id))]
        wanted = self._wanted(job, peer, request.hold_until)
        dropped = self._end(job, now) if ours else []
        return [*dropped, *wanted, Answer(peer, request, Settled(ours))]

    def _start(self, job: PairedJob, proposal: str, at: float | None, now: int) -> list[Effect]:
        group = membership(job)
        assert group.promise is not None
        by, group.started_by = group.promise.proposer, proposal
        group.make_void(by, call_number(proposal))  # a late copy of it would start another run
        self.vain.forget(by)
        unbooked = self.end(job)
        if job.state is QUEUED:
            return [*self.gathering.agreeing.fix(job, now), *unbooked]
        started = self.allocations.start(job, now, Why.ASKED_BY_PEER, at, asked_by=by, proposal=proposal)
        return [*started, *unbooked]

    def _end(self, job: PairedJob, now: int) -> list[Effect]:
        """The promise ends without a start: the job is again what it was."""
        group = membership(job)
        promise, kept_until = group.promise, group.kept_until
        assert promise is not None
        effects = [*self.ledger.note(job, What.NOT_BOOKED, **self._in_vain(job, promise, now)), *self.end(job)]
        if group.by_slots_only and job.state is QUEUED and not group.has_begun:
            return [*effects, MoveSlot(job.id, SlotMoves.WITH_GROUP)]
        if job.state is HOLDING:
            return effects + (self.allocations.release(job, ReleaseDue(job.id), now) if promise.release_due else [])
        if job.state is not READY:
            return effects
        if promise.was is QUEUED:
            job.state = QUEUED
            return [*effects, GiveBack(job.id)]
        if now >= kept_until:
            waits = self.allocations.wait(job, now, Why.MATE_QUEUING, Scheme.YIELD, **job.about(promise.proposer))
            return [*effects, *waits]
        group.kept_until = kept_until  # it keeps its nodes, and asks anew
        return [*effects, *self.asking.ask(job, now)]

    def _in_vain(self, job: PairedJob, promise: Promise, now: int) -> Detail:
        """Count a promise for which others had to wait, if the job got its nodes for that; return what is told."""
        told: Detail = {"proposal": promise.proposal}
        if job.state is READY and promise.was is QUEUED:
            kept = now - (membership(job).kept_until - longest_lease(self.ledger))
            if (until := self.vain.count(promise.proposer, kept, now)) is not None:
                told |= {"peer": promise.proposer, "until": until}
        return told

    def release(self, job: PairedJob, event: ReleaseDue, now: int) -> list[Effect]:
        """The hold is to end: when the promise has ended, if the job is booked."""
        promise = None if job.group is None else job.group.promise
        if promise is None:
            return self.allocations.release(job, event, now)
        promise.release_due = True
        return []

    def end(self, job: PairedJob) -> list[Effect]:
        """The job has lost its nodes, or has ended: it is booked no longer."""
        group = job.group
        if group is None:
            return []
        group.kept_until = 0
        if group.promise is None:
            return []
        group.promise = None
        self.ledger.booked.pop(job.id, None)
        return [ClearTimer(job.id, Timer.LEASE)]

    # A lease that is over

    def lease_over(self, job: PairedJob, _: LeaseOver, now: int) -> list[Effect]:
        """No outcome has been told: ask for it, first the proposer alone, and then all."""
        group, settings = job.group, self.ledger.settings
        if group is None or group.promise is None:
            return []
        promise = group.promise
        if not promise.asked:  # patience begins now, however late that is: this domain may have been down
            promise.asked, promise.until = True, now
        waited = now - promise.until
        expected = waited <= settings.peer_patience + settings.peer_grace and self.peers.expects(promise.proposer, now)
        if waited > settings.peer_patience and not expected and promise.proposer in group.unanswered:
            return self._give_up(job, promise, now)
        asked = [promise.proposer] if waited <= 0 else [peer for peer in group.others if peer in group.jobs]
        calls = [Call(peer, job.id, GetProposal(promise.proposal, group.jobs[peer], job.id)) for peer in asked]
        again = now + max(settings.retry_interval, settings.peer_patience // 4)
        return [*calls, SetTimer(job.id, Timer.LEASE, again)]

    def told(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """What has become of the proposal, as somebody says."""
        promise, answer, request = membership(job).promise, event.answer, event.request
        assert isinstance(answer, ProposalOutcome)
        assert isinstance(request, GetProposal)
        if promise is None or promise.proposal != request.request_id:
            return []
        if answer.outcome is Outcome.STARTED:
            return self._start(job, promise.proposal, answer.start_at, now)
        if event.peer == promise.proposer:  # UNKNOWN, too: its job has left the group, and so has dropped it
            membership(job).make_void(event.peer, call_number(promise.proposal))
            return self._end(job, now)
        return []

    def _give_up(self, job: PairedJob, promise: Promise, now: int) -> list[Effect]:
        """The outcome cannot be known: the proposer counts as unreachable, and the story says so."""
        membership(job).make_void(promise.proposer, call_number(promise.proposal))
        if self.ledger.settings.on_peer_unreachable is not OnUnreachable.START:
            return [*self._end(job, now), Reschedule(job.id)]
        if job.state is QUEUED:
            return self._start(job, promise.proposal, None, now)
        unbooked = self.end(job)
        started = self.allocations.start(job, now, Why.OUTCOME_UNKNOWN, proposal=promise.proposal)
        return [*started, *unbooked]

    # GetProposal

    def outcome(self, peer: Domain, request: GetProposal, now: int) -> list[Effect]:
        """A member asks what has become of a proposal: an undecided one of our own job is dropped now."""
        if (started := self.telling.started(peer, request)) is not None:
            return [Answer(peer, request, ProposalOutcome(Outcome.STARTED, started.start_at))]
        if (job := self.names.starting_with(peer, request.caller, request.job)) is None:
            return [Answer(peer, request, ProposalOutcome(Outcome.UNKNOWN))]
        group = membership(job)
        if group.started_by == request.request_id:
            return [Answer(peer, request, ProposalOutcome(Outcome.STARTED, job.start_at))]
        if not request.request_id.startswith(f"{self.ledger.domain}/{job.id}/"):
            return [Answer(peer, request, ProposalOutcome(Outcome.UNKNOWN))]
        self.ledger.changed[job.id] = None
        proposes = group.proposal is not None and group.proposal.name == request.request_id
        undone = self.proposing.undo(job, now) if proposes else []
        return [*undone, Answer(peer, request, ProposalOutcome(Outcome.DROPPED))]
