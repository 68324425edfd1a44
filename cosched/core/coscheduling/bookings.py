"""What peers propose, and settle, about the slots of our jobs (meet.md, Slots), and the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cosched.core.coscheduling.allocations import QUEUED, READY, Allocations
from cosched.core.coscheduling.answers import REFUSED, Answers
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.mates import Mates
from cosched.core.coscheduling.slots import MOST_AHEAD, Slots
from cosched.core.effects import Answer, Book, Claim, Effect, Quote, Reschedule, Yield
from cosched.core.events import Booked, Claimed, Quoted, SlotLapsed
from cosched.core.protocol import (
    Domain,
    JobId,
    MateStarted,
    MutatingRequest,
    Proposed,
    ProposeStart,
    Refusal,
    Settled,
    SettleStart,
    StartJob,
    call_number,
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

    def propose(self, peer: Domain, request: ProposeStart, now: int) -> list[Effect]:
        """When could the job start?"""
        job = self.ledger.jobs[request.job]
        waiting = self.proposals.get(job.id)
        if waiting is not None and _is_copy(request, of=waiting[1]):
            return []
        far = Refusal.NEVER if request.not_before > now + MOST_AHEAD else None
        if (refusal := self._refusal(job, peer, request) or far) is not None:
            return self.answers.reply(job, peer, request, Proposed(None, refusal=refusal), [])
        if job.slot is not None and not request.slot_generation:  # the drop of that was lost; they agree anew
            dropped = [*self.slots.drop(job, Why.SLOT_OUTDATED, tell=False), Reschedule(job.id)]
            return self.answers.reply(job, peer, request, Proposed(None, refusal=Refusal.OUTDATED), dropped)
        self.proposals[job.id] = peer, request
        if waiting is not None:  # the scheduler already looks for an instant
            return []
        return [*self._give_way(job, now), Quote(job.id, max(request.not_before, now), for_peer=True)]

    def _give_way(self, job: PairedJob, now: int) -> list[Effect]:
        """The job has proposed an instant, too, and the other proposal goes on."""
        if job.state is READY:
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING)
        return self.slots.abandon(job)

    def _refusal(self, job: PairedJob, peer: Domain, request: ProposeStart) -> Refusal | None:
        if not self.ledger.gives_slot(job):
            return Refusal.OFF
        if self.ledger.settled_by is not None:
            return Refusal.DRAINING
        proposing = type(job.call) is ProposeStart and job.state in (QUEUED, READY)
        if proposing and (self.ledger.domain < peer or self.slots.is_planning(job)):
            return Refusal.CROSSING
        if not (proposing or job.state is QUEUED) or job.id in self.claims:
            return Refusal.NOT_QUEUING
        if request.slot_generation and not self.slots.is_current(job, request.slot_generation):
            return Refusal.OUTDATED
        if not request.slot_generation and job.proposes and not job.confirmed:
            return Refusal.CROSSING  # the caller did not know of the slot yet
        return None

    def quoted(self, job: PairedJob, event: Quoted, now: int) -> list[Effect]:
        """The job's earliest instant. It is booked if it comes no later than the one proposed, or than now."""
        if (waiting := self.proposals.get(job.id)) is None:  # nobody, any more
            return []
        peer, request = waiting
        refusal, instant = self._too_late(job, peer, request), max(request.not_before, now)
        if refusal is None and event.at is not None and event.at < request.not_before:  # a later proposal has come
            return [Quote(job.id, instant, for_peer=True)]
        if refusal is None and event.at is not None and event.at <= instant < self._before(job, request):
            generation = max(job.slot_generation, request.slot_generation) + 1
            return [Book(job.id, max(event.at, now), generation, for_peer=True)]
        del self.proposals[job.id]
        if refusal is None and event.at is None:
            refusal = Refusal.NEVER
        return self.answers.reply(
            job, peer, request, Proposed(event.at if refusal is None else None, refusal=refusal), []
        )

    @staticmethod
    def _before(job: PairedJob, request: ProposeStart) -> int:
        """The instant before which the new slot must be. Whatever the caller says, no slot moves later."""
        return request.only_before if job.slot is None else min(request.only_before, job.slot)

    def _too_late(self, job: PairedJob, peer: Domain, request: ProposeStart) -> Refusal | None:
        if not self.mates.is_mate(peer, request.caller, job.id):
            return Refusal.NOT_MATE
        return None if job.state is QUEUED else Refusal.NOT_QUEUING

    def booked(self, job: PairedJob, event: Booked, now: int) -> list[Effect]:
        """Whether the scheduler has booked the instant."""
        if (waiting := self.proposals.pop(job.id, None)) is None:
            return self.slots.undo(job, event)
        peer, request = waiting
        refusal = self._too_late(job, peer, request)
        if event.allocation is not None and refusal is None:
            given = self.slots.give(job, event.at, event.generation, now, proposes=False)
            return self.answers.reply(job, peer, request, Proposed(event.at, True, event.generation), given)
        undone, proposed = self.slots.undo(job, event), Proposed(None, refusal=refusal or Refusal.NOT_QUEUING)
        return self.answers.reply(job, peer, request, proposed, undone)

    # SettleStart

    def settle(self, peer: Domain, request: SettleStart, now: int) -> list[Effect]:
        """The caller's domain keeps a slot, or drops it.

        A repetition changes nothing. So the answer is not kept, in the place of the one to a call that starts the job.
        """
        job = self.ledger.jobs[request.job]
        current, effects = self.slots.is_current(job, request.slot_generation), []
        if request.keep and current and not job.proposes:  # else it is for us to say
            job.confirmed = True
            effects = self.slots.await_it(job, now)
        elif not request.keep and job.slot is not None and job.slot_generation <= request.slot_generation:
            current = True  # a later generation: a move that we have not heard of, of a slot that is gone with it
            effects = [*self.slots.drop(job, Why.MATE_DROPPED_SLOT, tell=False), Reschedule(job.id)]
        return [*effects, Answer(peer, request, Settled(current))]

    def lapsed(self, job: PairedJob, _: SlotLapsed, now: int) -> list[Effect]:  # noqa: ARG002
        """The other domain has not said in time that it keeps the slot, or has not started the job."""
        if job.proposes and job.confirmed:
            return []
        return [*self.slots.drop(job, Why.SLOT_OUTDATED if job.proposes else Why.NOT_CLAIMED), Reschedule(job.id)]

    # StartJob at a slot

    def start(self, peer: Domain, request: StartJob, now: int) -> list[Effect]:
        """The slot has come: the job takes its nodes, and starts."""
        job = self.ledger.jobs[request.job]
        waiting = self.claims.get(job.id)
        if waiting is not None and _is_copy(request, of=waiting[1]):
            return []
        if not self.slots.is_current(job, request.slot_generation):
            return self._refuse(job, peer, request)
        if job.state is not QUEUED:  # it has nodes
            return self._start(job, peer, request, now)
        self.claims[job.id] = peer, request
        return [] if waiting is not None else [*self.slots.abandon(job), Claim(job.id, for_peer=True)]

    def claimed(self, job: PairedJob, event: Claimed, now: int) -> list[Effect]:
        """Whether the job has the nodes of its slot."""
        returned = event.allocation is not None and job.state is QUEUED  # if it has no such slot any more
        yields: list[Effect] = [Yield(job.id, self.allocations.boost(job))] if returned else []
        if (waiting := self.claims.pop(job.id, None)) is None:
            return yields
        peer, request = waiting
        current = self.slots.is_current(job, request.slot_generation)
        if current and (event.allocation is not None or job.state is not QUEUED):
            return self._start(job, peer, request, now)
        return self._refuse(job, peer, request, yields)

    def _start(self, job: PairedJob, peer: Domain, request: StartJob, now: int) -> list[Effect]:
        started = self.allocations.start(job, now, Why.ASKED_BY_PEER, request.start_at, asked_by=peer)
        return self.answers.reply(job, peer, request, MateStarted(True, request.start_at), started)

    def _refuse(self, job: PairedJob, peer: Domain, request: StartJob, effects: Sequence[Effect] = ()) -> list[Effect]:
        """Refuse to start the job. If it runs, it has not started at this slot: its mate is to ask why."""
        return self.answers.reply(job, peer, request, MateStarted(False), [*effects])

    def leave(self, job: PairedJob) -> list[Effect]:
        """The job is of no pair any more: who waits for an outcome is refused."""
        waiting = self.proposals.pop(job.id, None), self.claims.pop(job.id, None)
        return [Answer(asked[0], asked[1], REFUSED[type(asked[1])]) for asked in waiting if asked is not None]

    def forget(self, job: PairedJob) -> None:
        """Drop a job that has ended."""
        self.leave(job)


def _is_copy(request: MutatingRequest, of: MutatingRequest) -> bool:
    """Whether the request repeats the one that is about to be answered, or an earlier one, which gets no answer."""
    older = call_number(request.request_id) < call_number(of.request_id)
    return request.caller == of.caller and (older or request.request_id == of.request_id)
