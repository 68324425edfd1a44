"""What members of groups promise for later: the slots that other members propose (coscheduling.md, Slots)."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.coscheduling.allocations import QUEUED, READY, Allocations
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.slots import MOST_AHEAD, Slots
from cosched.core.coscheduling.starts.agreeing import Agreeing
from cosched.core.effects import Answer, Book, Effect, Quote, Reschedule
from cosched.core.events import Booked, Quoted
from cosched.core.protocol import (
    FOREVER,
    Domain,
    GroupProposed,
    JobId,
    ProposeGroupStart,
    SettleGroupStart,
    Vote,
    call_number,
)
from cosched.core.story import Why


@dataclass
class Reserving:
    """The slots of our members that others have proposed, and who waits for an outcome of the scheduler, by job."""

    ledger: Ledger
    allocations: Allocations
    slots: Slots
    agreeing: Agreeing
    asked: dict[JobId, tuple[Domain, ProposeGroupStart]] = field(default_factory=dict)

    def propose(self, job: PairedJob, peer: Domain, request: ProposeGroupStart, now: int) -> list[Effect]:
        """When could the member start?"""
        group, waiting = membership(job), self.asked.get(job.id)
        if waiting == (peer, request):
            return []
        if group.slot == request.request_id:  # a retry
            return [Answer(peer, request, GroupProposed(Vote.BOOKED, earliest=request.not_before))]
        far = Vote.NO if _from(request, now) > now + MOST_AHEAD else None
        if (vote := self._vote(job, peer, request) or far) is not None:
            return [Answer(peer, request, GroupProposed(vote))]
        if group.slot != request.slot and (request.slot or (job.proposes and not job.confirmed)):
            return [Answer(peer, request, GroupProposed(Vote.NO))]  # it did not know of the slot yet
        if group.slot != request.slot:  # it has not heard of the slot, or has dropped it and was not heard
            dropped = [*self.slots.drop(job, Why.SLOT_OUTDATED), Reschedule(job.id)]
            return [*dropped, Answer(peer, request, GroupProposed(Vote.NO))]
        group.make_void(peer, call_number(request.request_id) - 1)
        self.asked[job.id] = peer, request
        if waiting is not None:  # the scheduler already looks for an instant
            return []
        return [*self._give_way(job, now), Quote(job.id, _from(request, now), for_peer=True)]

    def _vote(self, job: PairedJob, peer: Domain, request: ProposeGroupStart) -> Vote | None:
        """Return the answer, if it needs no instant."""
        group = membership(job)
        gives = self.ledger.enabled and self.ledger.gives_slot(job) and self.ledger.settled_by is None
        if not gives or group.has_begun or job.ending is not None or self._is_void(job, peer, request):
            return Vote.NO
        agreement = group.agreement
        proposes = agreement is not None and (self.ledger.domain < peer or agreement.planning)
        may_start = group.promise is not None or (job.state is READY and agreement is None)
        if proposes or may_start or self.asked.get(job.id, (peer,))[0] != peer:
            return Vote.BUSY
        return None if job.state in (QUEUED, READY) else Vote.NO

    @staticmethod
    def _is_void(job: PairedJob, peer: Domain, request: ProposeGroupStart) -> bool:
        return call_number(request.request_id) <= membership(job).void.get(peer, 0)

    def _give_way(self, job: PairedJob, now: int) -> list[Effect]:
        """The job has proposed an instant, too, and the other proposal goes on."""
        if job.state is READY:
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING)
        return self.slots.abandon(job)

    def quoted(self, job: PairedJob, event: Quoted, now: int) -> list[Effect]:
        """The job's earliest instant. It is booked if the caller says so, and has asked for that very instant."""
        if (waiting := self.asked.get(job.id)) is None:  # nobody, any more
            return []
        peer, request = waiting
        at, wanted = event.at, _from(request, now)
        if at is not None and at < _from(request, 0):  # a later proposal has come
            return [Quote(job.id, wanted, for_peer=True)]
        if at is None or self._too_late(job, peer, request) or at > (FOREVER if job.slot is None else job.slot):
            return self._answer(job, GroupProposed(Vote.NO))
        if at > wanted or membership(job).misses_window(self.ledger.domain, request.instant, at):
            return self._answer(job, GroupProposed(Vote.NO, earliest=at))
        if request.book and at < (request.only_before or FOREVER):
            return [Book(job.id, wanted, job.slot_generation + 1, for_peer=True)]
        return self._answer(job, GroupProposed(Vote.NO, earliest=request.not_before))  # perhaps now, though later

    def _too_late(self, job: PairedJob, peer: Domain, request: ProposeGroupStart) -> bool:
        return job.state is not QUEUED or self._is_void(job, peer, request)

    def booked(self, job: PairedJob, event: Booked, now: int) -> list[Effect]:
        """Whether the scheduler has booked the instant."""
        if (waiting := self.asked.get(job.id)) is None:
            return self.slots.undo(job, event)
        peer, request = waiting
        if not request.book or event.at < _from(request, 0):  # a later proposal has come
            return [*self.slots.undo(job, event), Quote(job.id, _from(request, now), for_peer=True)]
        if event.allocation is not None and not self._too_late(job, peer, request):
            given = self.slots.give(job, event.at, event.generation, now, proposes=False)
            membership(job).slot, membership(job).without = request.request_id, tuple(request.without)
            given += self.agreeing.move_with_group(job, event.at if request.instant is None else request.instant)
            return [*given, *self._answer(job, GroupProposed(Vote.BOOKED, earliest=request.not_before))]
        return [*self.slots.undo(job, event), *self._answer(job, GroupProposed(Vote.NO))]

    def _answer(self, job: PairedJob, answer: GroupProposed) -> list[Effect]:
        peer, request = self.asked.pop(job.id)
        return [Answer(peer, request, answer)]

    def settle(self, job: PairedJob, request: SettleGroupStart, now: int) -> list[Effect]:
        """The slot of this name is kept, or dropped."""
        if request.keep and job.proposes:  # it is for us to say
            return []
        if request.keep:
            job.confirmed = True
            awaited = self.slots.await_it(job, now)
            return [*awaited, *(self.agreeing.claim_if_due(job, now) if job.claims else [])]
        return [*self.slots.drop(job, Why.MATE_DROPPED_SLOT, tell=False), Reschedule(job.id)]

    def leave(self, job: PairedJob) -> list[Effect]:
        """The job is in its group no longer: who waits for its slot is refused."""
        return self._answer(job, GroupProposed(Vote.NO)) if job.id in self.asked else []

    def forget(self, job: PairedJob) -> None:
        """Drop a job that has ended."""
        self.asked.pop(job.id, None)


def _from(request: ProposeGroupStart, now: int) -> int:
    """Return the first instant that is asked for."""
    assert request.not_before is not None
    return max(request.not_before, now)
