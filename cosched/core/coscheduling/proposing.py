"""Our jobs agree with their mates on slots, move them earlier, and start at them (meet.md, Slots).

To agree: the job's earliest instant t is proposed. The mate's domain answers with the mate's earliest instant from t
on. If that is t, it has booked it, and we do so too. Else we propose next the job's earliest instant from there on.
Without agreement, or if a move would bring no earlier instant, the job stays as it is.

A queued job whose negotiation is over ends its turn; a ready one starts, if both can start now, or it yields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import ALIVE, Asking
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.slots import Slots, mate_of
from cosched.core.effects import Book, Claim, Effect, EndTurn, Quote, Reschedule, SetTimer, Timer
from cosched.core.events import Booked, CallFailed, Claimed, MayBeEarlier, Quoted, SlotDue
from cosched.core.protocol import (
    FOREVER,
    MateStarted,
    Proposed,
    ProposeStart,
    Refusal,
    Settled,
    SettleStart,
    StartJob,
)
from cosched.core.story import Why

ROUNDS = 50  # proposals of a negotiation; more than one or two are rare


@dataclass
class Proposing:
    """The proposals of our jobs."""

    ledger: Ledger
    peers: Peers
    allocations: Allocations
    asking: Asking
    slots: Slots

    # To agree

    def may_be_earlier(self, job: PairedJob, _: MayBeEarlier, now: int) -> list[Effect]:
        """The job has a slot and does not fit now."""
        waits = self.peers.expects(job.peer, now) or self.peers.is_draining(job.peer, now)
        if job.call is not None or job.slot is None or waits or self.ledger.settled_by is not None:
            return [EndTurn(job.id)]
        return self.settle(job, now)

    def settle(self, job: PairedJob, now: int) -> list[Effect]:
        """Look for an instant at which both jobs can start; one that is before the slot, if the job has one."""
        job.rounds = 0
        return [Quote(job.id, now)]

    def quoted(self, job: PairedJob, event: Quoted, now: int) -> list[Effect]:
        """The earliest instant at which the job can start."""
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
            return [Book(job.id, answer.at, answer.slot_generation)]
        if answer.refusal is Refusal.OUTDATED and self.slots.is_current(job, request.slot_generation):
            return [*self.slots.drop(job, Why.SLOT_OUTDATED, tell=False), *self._end_turn(job, now)]
        if answer.at is None or answer.at >= request.only_before:
            return self._end_turn(job, now)
        job.call = None
        return [Quote(job.id, answer.at)]

    def booked(self, job: PairedJob, event: Booked, now: int) -> list[Effect]:
        """Whether our scheduler, too, has booked the instant that the mate's has."""
        if not event.booked:
            return [*self._undo(job, event.generation), *self._end_turn(job, now)]
        given = self.slots.give(job, event.at, event.generation, now, proposes=True)
        if event.at <= now and job.state is READY:
            return [*given, *self._start_both(job, now)]
        keep = SettleStart(self.ledger.request_id(job), mate_of(job), job.id, event.generation, keep=True)
        return [*given, *self._end_turn(job, now), *self.asking.call(job, keep, now)]

    def _undo(self, job: PairedJob, generation: int) -> list[Effect]:
        """Give up a slot that only the mate's domain has booked; it has replaced the one before."""
        dropped = self.slots.drop(job, Why.SLOT_NOT_KEPT, tell=False)
        return [*dropped, self.slots.tell_dropped(job, generation)]

    def settled(self, job: PairedJob, answer: Settled, now: int) -> list[Effect]:  # noqa: ARG002
        """Whether the mate's domain still keeps the slot."""
        request = cast(SettleStart, job.call)
        job.call = None
        if answer.current or not self.slots.is_current(job, request.slot_generation):
            return []
        return [*self.slots.drop(job, Why.SLOT_OUTDATED, tell=False), Reschedule(job.id)]

    def _end_turn(self, job: PairedJob, now: int) -> list[Effect]:
        if job.state is READY:
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING)
        job.call = None
        return [EndTurn(job.id)]

    # At the slot

    def due(self, job: PairedJob, _: SlotDue, now: int) -> list[Effect]:
        """The slot has come. A job that is asking about its mate has that answered first."""
        if job.slot is None or not job.proposes or job.state is HOLDING:
            return self.slots.drop(job, Why.SLOT_NOT_KEPT)
        return [Claim(job.id)] if job.state is QUEUED else [self._again(job, now)]

    def claimed(self, job: PairedJob, event: Claimed, now: int) -> list[Effect]:
        """Whether the job has the nodes of its slot."""
        if not event.claimed:
            return self._wait_for_nodes(job, now)
        job.state = READY
        job.disclosed, job.cannot_yield = False, False
        return self._start_both(job, now)

    def _start_both(self, job: PairedJob, now: int) -> list[Effect]:
        id = self.ledger.request_id(job)
        return self.asking.call(job, StartJob(id, mate_of(job), job.id, 0, None, job.slot_generation), now)

    def mate_started(self, job: PairedJob, answer: MateStarted, now: int) -> list[Effect]:
        """Whether the mate has started at the slot."""
        if answer.started:
            return self.allocations.start(job, now, Why.AT_SLOT, answer.start_at)
        return [*self.allocations.give_back(job), *self._wait_for_nodes(job, now)]

    def _wait_for_nodes(self, job: PairedJob, now: int) -> list[Effect]:
        """Nodes are not free, here or there: perhaps a job is just ending that has come to its limit."""
        if job.slot is not None and now < job.slot + self.slots.patience:
            return [self._again(job, now)]
        return [*self.slots.drop(job, Why.SLOT_NOT_KEPT), Reschedule(job.id)]

    def _again(self, job: PairedJob, now: int) -> SetTimer:
        return SetTimer(job.id, Timer.SLOT, now + self.ledger.settings.retry_interval)

    # Calls that fail

    def failed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """No answer about a slot. What the mate's domain may have booked lapses there."""
        if job.call != event.request:
            return []
        noticed = self.asking.noticed(job, event.failure, now)
        if type(event.request) is not SettleStart:
            return [*noticed, *self._end_turn(job, now)]
        waits = event.failure in ALIVE or self.peers.expects(job.peer, now)
        if waits or now < job.call_since + self.slots.patience:
            return [*noticed, SetTimer(job.id, Timer.RETRY, now + self.ledger.settings.retry_interval)]
        job.call = None
        return [*noticed, *self.slots.drop(job, Why.SLOT_OUTDATED), Reschedule(job.id)]
