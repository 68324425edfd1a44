"""Our jobs agree with their mates on slots, move them earlier, and start at them (meet.md, Slots).

To agree: the job's earliest instant t is proposed. The mate's domain answers with the mate's earliest instant from t
on. If that is t, it has booked it, and we do so too. Else we propose next the job's earliest instant from there on.
Without agreement, or if a move would bring no earlier instant, the job stays as it is.

A queued job whose negotiation is over ends its turn; a ready one starts, if both can start now, or it yields. While our
scheduler looks for an instant, or books it, anything may happen to the job: an outcome that it does not await any more
is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cosched.core.coscheduling.allocations import QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import ALIVE, Asking
from cosched.core.coscheduling.at_slot import AtSlot
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.slots import MOST_AHEAD, Slots, mate_of
from cosched.core.effects import Book, Effect, EndTurn, Quote, Reschedule, SetTimer, Timer
from cosched.core.events import Booked, CallFailed, MayBeEarlier, Quoted
from cosched.core.protocol import (
    FOREVER,
    Failure,
    MateStarted,
    Proposed,
    ProposeStart,
    Refusal,
    Settled,
    SettleStart,
    StartJob,
)
from cosched.core.story import What, Why

ROUNDS = 50  # proposals of a negotiation; more than one or two are rare


@dataclass
class Proposing:
    """The proposals of our jobs."""

    ledger: Ledger
    peers: Peers
    allocations: Allocations
    asking: Asking
    slots: Slots

    def __post_init__(self) -> None:
        self.at_slot = AtSlot(self.ledger, self.allocations, self.slots, self._start_both)

    # To agree

    def may_be_earlier(self, job: PairedJob, _: MayBeEarlier, now: int) -> list[Effect]:
        """The job has a slot and does not fit now."""
        self.slots.fits_not(job)
        waits = self.peers.expects(job.peer, now) or self.peers.is_draining(job.peer, now)
        if job.call is not None or job.slot is None or waits or self.ledger.settled_by is not None:
            return [EndTurn(job.id)]
        return self.settle(job, now)

    def settle(self, job: PairedJob, now: int) -> list[Effect]:
        """Look for an instant at which both jobs can start; one that is before the slot, if the job has one."""
        if job.slot is not None and not job.confirmed:
            return self._end_turn(job, now)
        job.rounds = 0
        return self._plan(job, Quote(job.id, now))

    def _plan(self, job: PairedJob, effect: Quote | Book) -> list[Effect]:
        self.slots.plans[job.id] = job.call
        return [effect]

    def _awaited(self, job: PairedJob) -> bool:
        """Whether the job still awaits what our scheduler has planned."""
        planning = self.slots.is_planning(job)
        self.slots.plans.pop(job.id, None)
        return planning and (job.state is READY or (job.state is QUEUED and job.slot is not None))

    def quoted(self, job: PairedJob, event: Quoted, now: int) -> list[Effect]:
        """The earliest instant at which the job can start."""
        if not self._awaited(job):
            return [EndTurn(job.id)]
        before = job.slot if job.slot is not None else FOREVER
        if event.at is None or event.at >= before or job.rounds == ROUNDS:
            return self._end_turn(job, now)
        job.rounds += 1
        present = job.slot_generation if job.slot is not None else 0
        id = self.ledger.request_id(job)
        return self.asking.call(job, ProposeStart(id, mate_of(job), job.id, event.at, present, before), now)

    def proposed(self, job: PairedJob, answer: Proposed, now: int) -> list[Effect]:
        """The earliest instant from there on at which the mate can start."""
        request = cast(ProposeStart, job.call)
        if answer.booked and answer.at is not None:
            return self._plan(job, Book(job.id, max(answer.at, now), answer.slot_generation))
        if answer.refusal is Refusal.OUTDATED and self.slots.is_current(job, request.slot_generation):
            return [*self.slots.drop(job, Why.SLOT_OUTDATED, tell=False), *self._end_turn(job, now)]
        if answer.at is None or answer.at >= min(request.only_before, now + MOST_AHEAD):
            return self._end_turn(job, now)
        return self._plan(job, Quote(job.id, max(answer.at, now)))

    def booked(self, job: PairedJob, event: Booked, now: int) -> list[Effect]:
        """Whether our scheduler, too, has booked the instant that the mate's has."""
        if not self._awaited(job):
            return [*self.slots.undo(job, event), EndTurn(job.id)]  # what the mate's domain has booked lapses there
        if event.allocation is None:
            return [*self._undo(job, event.generation), *self._end_turn(job, now)]
        given = self.slots.give(job, event.at, event.generation, now, proposes=True)
        if event.at <= now and job.state is READY:
            return [*given, *self._start_both(job, now)]
        return [*given, *self._end_turn(job, now)]

    def _undo(self, job: PairedJob, generation: int) -> list[Effect]:
        """Give up a slot that only the mate's domain has booked; it has replaced the one before."""
        dropped = self.slots.drop(job, Why.SLOT_NOT_KEPT, tell=False)
        return [*dropped, self.slots.tell_dropped(job, generation)]

    def keep(self, job: PairedJob, now: int) -> list[Effect]:
        """Tell the mate's domain that its slot is kept, if it has not said yet that it knows.

        Whenever a job is queued and awaits no answer: a RunJob may have come between.
        """
        if job.confirmed or not job.proposes or self.slots.is_planning(job):
            return []
        id, generation = self.ledger.request_id(job), job.slot_generation
        return self.asking.call(job, SettleStart(id, mate_of(job), job.id, generation, keep=True), now)

    def settled(self, job: PairedJob, answer: Settled, now: int) -> list[Effect]:  # noqa: ARG002
        """Whether the mate's domain still has the slot."""
        if answer.current:
            return self.slots.confirm(job)
        return [*self.slots.drop(job, Why.SLOT_OUTDATED, tell=False), Reschedule(job.id)]

    def _end_turn(self, job: PairedJob, now: int, why: Why = Why.MATE_QUEUING) -> list[Effect]:
        if job.state is READY:
            return self.allocations.pass_over(job, now, why)
        job.call = None
        return [EndTurn(job.id)]

    # At the slot

    def _start_both(self, job: PairedJob, now: int) -> list[Effect]:
        request = StartJob(self.ledger.request_id(job), mate_of(job), job.id, 0, None, job.slot_generation)
        return [*self.slots.confirm(job), *self.asking.call(job, request, now)]

    def mate_started(self, job: PairedJob, answer: MateStarted, now: int) -> list[Effect]:
        """Whether the mate has started at the slot."""
        if answer.started:
            return self.allocations.start(job, now, Why.AT_SLOT, answer.start_at)
        return self.at_slot.not_started(job, now)

    # Calls that fail

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer to a job without nodes, or about a slot. What the mate's domain may have booked lapses there."""
        if job.call != event.request or self.slots.is_planning(job):
            return []
        noticed = self._noticed(job, event.failure, now)
        if type(event.request) is StartJob:  # it makes void what was given up
            return [*noticed, SetTimer(job.id, Timer.RETRY, now + self.slots.patience)]
        if type(event.request) is SettleStart:  # it is repeated until the slot lapses
            return [*noticed, SetTimer(job.id, Timer.RETRY, now + self.ledger.settings.retry_interval)]
        alive = event.failure in ALIVE
        waits = alive or self.peers.expects(job.peer, now)
        why = Why.MATE_QUEUING if not waits else Why.PEER_BUSY if alive else Why.PEER_AWAY
        return [*noticed, *self._end_turn(job, now, why)]

    def _noticed(self, job: PairedJob, failure: Failure, now: int) -> list[Effect]:
        if failure is Failure.REFUSED:
            told, job.unanswered = job.unanswered, True
            return [] if told else self.ledger.note(job, What.PEER_REFUSED, peer=job.peer)
        return self.asking.noticed(job, job.peer, failure, now)
