"""What peers propose, and settle, about the slots of our jobs (meet.md, Slots), and the answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.coscheduling.allocations import QUEUED, READY, Allocations
from cosched.core.coscheduling.answers import Answers
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.mates import Mates
from cosched.core.coscheduling.slots import Slots
from cosched.core.effects import Book, Claim, Effect, EndTurn, Quote, Reschedule
from cosched.core.events import Booked, Claimed, Quoted, SlotLapsed
from cosched.core.protocol import (
    Domain,
    JobId,
    MateStarted,
    Proposed,
    ProposeStart,
    Refusal,
    Settled,
    SettleStart,
    StartJob,
)
from cosched.core.story import Why


@dataclass
class Bookings:
    """The slots that peers propose, and those who wait for an outcome of the scheduler, by job."""

    ledger: Ledger
    mates: Mates
    allocations: Allocations
    slots: Slots
    answers: Answers
    proposals: dict[JobId, tuple[Domain, ProposeStart]] = field(default_factory=dict)
    claims: dict[JobId, tuple[Domain, StartJob]] = field(default_factory=dict)

    # ProposeStart

    def propose(self, peer: Domain, request: ProposeStart) -> list[Effect]:
        """When could the job start?"""
        job = self.ledger.jobs[request.job]
        if (refusal := self._refusal(job, peer, request)) is not None:
            return self._answer(job, peer, request, Proposed(None, refusal=refusal))
        waiting = job.id in self.proposals
        self.proposals[job.id] = peer, request
        if waiting:  # a retry, while the scheduler still looks for the instant
            return []
        ended: list[Effect] = []
        if type(job.call) is ProposeStart:  # the two proposals have crossed: this one goes on
            job.call, ended = None, [EndTurn(job.id)]
        return [*ended, Quote(job.id, request.not_before, for_peer=True)]

    def _refusal(self, job: PairedJob, peer: Domain, request: ProposeStart) -> Refusal | None:
        if not self.ledger.settings.slots:
            return Refusal.OFF
        if self.ledger.settled_by is not None:
            return Refusal.DRAINING
        if job.state is not QUEUED or job.id in self.claims:
            return Refusal.NOT_QUEUING
        if request.slot_generation and not self.slots.is_current(job, request.slot_generation):
            return Refusal.OUTDATED
        if type(job.call) is ProposeStart and self.ledger.domain < peer:
            return Refusal.CROSSING
        return None

    def quoted(self, job: PairedJob, event: Quoted, now: int) -> list[Effect]:  # noqa: ARG002
        """The job's earliest instant; it is booked if the caller has proposed it."""
        peer, request = self.proposals[job.id]
        if job.state is QUEUED and event.at is not None and event.at == request.not_before < request.only_before:
            generation = max(job.slot_generation, request.slot_generation) + 1
            return [Book(job.id, event.at, generation, for_peer=True)]
        del self.proposals[job.id]
        refusal = None if event.at is not None else Refusal.NEVER
        return self._answer(job, peer, request, Proposed(event.at, refusal=refusal))

    def booked(self, job: PairedJob, event: Booked, now: int) -> list[Effect]:
        """Whether the scheduler has booked the instant."""
        peer, request = self.proposals.pop(job.id)
        if not event.booked or job.state is not QUEUED:
            return self._answer(job, peer, request, Proposed(None, refusal=Refusal.NOT_QUEUING))
        given = self.slots.give(job, event.at, event.generation, now, proposes=False)
        return self._answer(job, peer, request, Proposed(event.at, True, event.generation), given)

    # SettleStart

    def settle(self, peer: Domain, request: SettleStart, now: int) -> list[Effect]:
        """The caller's domain keeps a slot, or drops it."""
        job = self.ledger.jobs[request.job]
        current = self.slots.is_current(job, request.slot_generation)
        effects: list[Effect] = []
        if current and request.keep:
            job.confirmed = True
            effects = [self.slots.await_it(job, now)]
        elif current:
            effects = [*self.slots.drop(job, Why.MATE_DROPPED_SLOT, tell=False), Reschedule(job.id)]
        return self._answer(job, peer, request, Settled(current), effects)

    def lapsed(self, job: PairedJob, _: SlotLapsed, now: int) -> list[Effect]:  # noqa: ARG002
        """The domain that has proposed the slot neither keeps it nor starts the job."""
        return [*self.slots.drop(job, Why.NOT_CLAIMED), Reschedule(job.id)] if not job.proposes else []

    # StartJob at a slot

    def start(self, peer: Domain, request: StartJob, now: int) -> list[Effect]:
        """The slot has come: the job takes its nodes, and starts."""
        job = self.ledger.jobs[request.job]
        if not self.slots.is_current(job, request.slot_generation):
            return self._started(job, peer, request, job.started_at is not None)
        if job.state is READY:
            started = self.allocations.start(job, now, Why.ASKED_BY_PEER, request.start_at, asked_by=peer)
            return self._started(job, peer, request, True, started)
        if job.state is not QUEUED:
            return self._started(job, peer, request, False)
        waiting = job.id in self.claims
        self.claims[job.id] = peer, request
        return [] if waiting else [Claim(job.id, for_peer=True)]

    def claimed(self, job: PairedJob, event: Claimed, now: int) -> list[Effect]:
        """Whether the job has the nodes of its slot."""
        peer, request = self.claims.pop(job.id)
        if not event.claimed:
            return self._started(job, peer, request, False)
        started = self.allocations.start(job, now, Why.ASKED_BY_PEER, request.start_at, asked_by=peer)
        return self._started(job, peer, request, True, started)

    def _started(
        self, job: PairedJob, peer: Domain, request: StartJob, yes: bool, effects: list[Effect] | None = None
    ) -> list[Effect]:
        answer = MateStarted(yes, request.start_at if effects else None)
        return self.answers.reply(job, peer, request, answer, effects or [])

    def _answer(
        self,
        job: PairedJob,
        peer: Domain,
        request: ProposeStart | SettleStart,
        answer: Proposed | Settled,
        effects: list[Effect] | None = None,
    ) -> list[Effect]:
        return self.answers.reply(job, peer, request, answer, effects or [])
