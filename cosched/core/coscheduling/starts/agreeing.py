"""Our jobs agree with all others on slots, move them earlier, and have all start (coscheduling.md, Slots).

To agree: all others are asked when they could start, from our job's earliest instant on. If all could then, all book
it, our job last. Else they are asked again, from our job's earliest instant at or after the latest answer. Nothing is
booked before all agree, so an older slot stays if they do not; an only partner may book at once. In a group with
windows each has its own instant, as its window has it, from the common one on; who could start after its window makes
the common instant a later one.

At the slot our job proposes a start to all, as it always does, but on the nodes of their slots. So nobody starts unless
all have them, whatever is lost. In a group with windows so does the first whose slot comes. With that the slots of the
others are fixed: each starts at its own. If the common instant is given, it never changes: all members have slots for
it, or none. To agree takes time: who cannot book within its window any more refuses, and rounds that take seconds are
about an instant that is still to come when they end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cosched.core.coscheduling.allocations import QUEUED, READY, Allocations
from cosched.core.coscheduling.asking import Asking
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOTHING, Agreement, Membership, all_but
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.slots import MOST_AHEAD, Slots
from cosched.core.coscheduling.starts.at_slot import AtSlot
from cosched.core.coscheduling.starts.proposals import lease, propose
from cosched.core.effects import Book, Call, Effect, EndTurn, MoveSlot, Quote, Reschedule, SetTimer, Timer
from cosched.core.events import Answered, Booked, MayBeEarlier, Quoted, SlotDue, SlotLapsed
from cosched.core.job import SlotMoves
from cosched.core.protocol import FOREVER, Domain, GroupProposed, ProposeGroupStart, Settled, SettleGroupStart, Vote
from cosched.core.story import What, Why

ROUNDS = 50  # in which all others are asked; more than one or two are rare
ROUNDS_AHEAD = 3  # to ask again, to have it booked, and one to spare


@dataclass
class Agreeing:
    """The slots that our members propose."""

    ledger: Ledger
    peers: Peers
    allocations: Allocations
    asking: Asking
    slots: Slots

    def __post_init__(self) -> None:
        self.at_slot = AtSlot(self.ledger, self.allocations, self.slots, self._start_all)

    # To agree

    def may_be_earlier(self, job: PairedJob, _: MayBeEarlier, now: int) -> list[Effect]:
        """The job has a slot and does not fit now."""
        self.slots.fits_not(job)
        group = membership(job)
        waits = any(
            self.peers.expects(peer, now) or self.peers.is_draining(peer, now) or peer not in group.jobs
            for peer in group.partners
        )
        settled = job.slot is None or group.keeps_slot or self.ledger.settled_by is not None
        if settled or waits or group.agreement is not None or job.call is not None:
            return [EndTurn(job.id)]
        return self.agree(job, "", now)

    def agree(self, job: PairedJob, refuser: Domain, now: int) -> list[Effect]:
        """Look for an instant at which all can start; one that is before the slot, if the job has one."""
        group = membership(job)
        given = self.ledger.given_instant(job)
        agreement = group.agreement = Agreement(refuser, now, now if given is None else given)
        if job.slot is not None and not job.confirmed:
            return self._end_turn(job, agreement, now)
        return [Quote(job.id, self._first(agreement, group, self.ledger.domain))]

    @staticmethod
    def _first(agreement: Agreement, group: Membership, domain: Domain) -> int:
        """Return the first instant at which the member there may start."""
        return max(agreement.since, agreement.instant + group.window(domain)[0])

    def _planned(self, job: PairedJob, *, books: bool) -> Agreement | None:
        """Return the agreement for which our scheduler has planned; None: that one is over."""
        agreement = None if job.group is None else job.group.agreement
        counts = job.state is READY or (job.state is QUEUED and job.slot is not None)
        if agreement is None or not agreement.planning or agreement.books is not books or not counts:
            return None
        agreement.planning = False
        return agreement

    def quoted(self, job: PairedJob, event: Quoted, now: int) -> list[Effect]:
        """Return the earliest instant at which the job can start."""
        agreement = self._planned(job, books=False)
        if agreement is None:
            return [EndTurn(job.id)]
        group = membership(job)
        if event.at is None or group.is_later(job.slot, event.at) or agreement.rounds == ROUNDS:
            return self._end_turn(job, agreement, now)
        agreement.at = event.at
        agreement.instant = max(agreement.instant, event.at - group.window(self.ledger.domain)[1])
        if agreement.instant >= self._before(job, now):
            return self._end_turn(job, agreement, now)
        agreement.rounds += 1
        first = {peer: self._first(agreement, group, peer) for peer in group.partners}
        return self._ask(job, agreement, first, book=len(first) == 1)

    def _ask(
        self, job: PairedJob, agreement: Agreement, at: Mapping[Domain, int], *, book: bool = False
    ) -> list[Effect]:
        """Ask all others when they could start, each from its instant on."""
        group, id, patience = membership(job), self.ledger.request_id(job), lease(self.ledger)
        before, instant = (0, agreement.instant) if group.by_slots_only else (job.slot or 0, None)
        asked = ProposeGroupStart(id, "", job.id, 0, patience, only_before=before, book=book, slot=group.slot)
        asked = asked._replace(without=group.without, instant=instant)
        agreement.told = {}
        agreement.requests = {
            peer: asked._replace(job=group.jobs[peer], not_before=at[peer]) for peer in group.partners
        }
        return [Call(peer, job.id, request) for peer, request in agreement.requests.items()]

    def voted(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:
        """Return the earliest instant at which another member can start; too late, if that round is over."""
        agreement, request, answer = membership(job).agreement, event.request, event.answer
        if agreement is None or not agreement.awaits(event.peer, request):
            return []
        assert isinstance(request, ProposeGroupStart)
        assert isinstance(answer, GroupProposed)
        agreement.told[event.peer] = FOREVER if answer.earliest is None else answer.earliest
        agreement.booked += answer.vote is Vote.BOOKED
        if answer.earliest is None:
            return self.give_up(job, agreement, now)
        if len(agreement.told) < len(agreement.requests):
            return []
        return self._all_told(job, agreement, now, books=request.book)

    def _all_told(self, job: PairedJob, agreement: Agreement, now: int, *, books: bool) -> list[Effect]:
        group = membership(job)
        took, agreement.since = now - agreement.since, now
        if agreement.booked == len(agreement.requests):
            return self._book(job, agreement, max(agreement.at, now), now)
        instant = max(agreement.instant, *(at - group.window(peer)[1] for peer, at in agreement.told.items()))
        if group.by_slots_only and instant < now + took and self.ledger.given_instant(job) is None:
            instant = now + ROUNDS_AHEAD * took
        refused = books and (len(agreement.requests) > 1 or agreement.told_as_asked)
        if refused or instant >= self._before(job, now):
            return self.give_up(job, agreement, now)
        if instant == agreement.instant:
            return self._ask(job, agreement, agreement.told, book=True)
        agreement.instant, agreement.planning = instant, True
        return [Quote(job.id, self._first(agreement, group, self.ledger.domain))]

    def _book(self, job: PairedJob, agreement: Agreement, at: int, now: int) -> list[Effect]:
        """All others have booked theirs."""
        group = membership(job)
        if group.by_slots_only and group.misses_window(self.ledger.domain, agreement.instant, at):
            return self.give_up(job, agreement, now)
        agreement.planning = True
        return [Book(job.id, at, job.slot_generation + 1)]

    def booked(self, job: PairedJob, event: Booked, now: int) -> list[Effect]:
        """Whether our scheduler, too, has booked the instant that all others have."""
        agreement = self._planned(job, books=True)
        if agreement is None:
            return [*self.slots.undo(job, event), EndTurn(job.id)]  # what the others have booked lapses there
        if event.allocation is None:
            return self.give_up(job, agreement, now)
        given = self.slots.give(job, event.at, event.generation, now, proposes=True)
        membership(job).slot = agreement.name
        given += self.move_with_group(job, agreement.instant)
        if event.at <= now and job.state is READY:
            return [*given, *self._start_all(job, now)]
        return [*given, *self._end_turn(job, agreement, now), *self.keep(job)]

    def give_up(self, job: PairedJob, agreement: Agreement, now: int) -> list[Effect]:
        """There is no agreement. If some may have booked an instant, no slot is left, old or new."""
        dropped: list[Effect] = []
        request = next(iter(agreement.requests.values()))
        if request.book and (agreement.booked or len(agreement.told) < len(agreement.requests)):
            dropped = self.slots.drop(job, Why.SLOT_NOT_KEPT) + self.slots.tell_dropped(job, agreement.name)
        return [*dropped, *self._end_turn(job, agreement, now)]

    @staticmethod
    def move_with_group(job: PairedJob, instant: int) -> list[Effect]:
        """The job has a slot for this common instant."""
        group = membership(job)
        if not group.by_slots_only:
            return []
        group.instant = instant
        return [MoveSlot(job.id, SlotMoves.WITH_GROUP)]

    def _end_turn(self, job: PairedJob, agreement: Agreement, now: int) -> list[Effect]:
        if job.state is READY:
            return self.allocations.pass_over(job, now, Why.MATE_QUEUING, **job.about(agreement.refuser))
        membership(job).agreement = None
        return [EndTurn(job.id)]

    # To keep

    def keep(self, job: PairedJob) -> list[Effect]:
        """Tell all others that their slots are kept, since all have booked one."""
        group = membership(job)
        kept = SettleGroupStart(group.slot, "", job.id, start=False, keep=True)
        group.keeping = {peer: kept._replace(job=group.jobs[peer]) for peer in group.partners}
        return [Call(peer, job.id, request) for peer, request in group.keeping.items()]

    def kept(self, job: PairedJob, event: Answered, now: int) -> list[Effect]:  # noqa: ARG002
        """Whether another member still has the slot."""
        group, answer = membership(job), event.answer
        if group.keeping.get(event.peer) != event.request or not isinstance(answer, Settled):
            return []
        group.keeping = all_but(event.peer, group.keeping)
        if not answer.current:
            return [*self.slots.drop(job, Why.SLOT_OUTDATED), Reschedule(job.id)]
        return [] if group.keeping else self.slots.confirm(job)

    def lapsed(self, job: PairedJob, _: SlotLapsed, now: int) -> list[Effect]:  # noqa: ARG002
        """The others have not said in time that they keep the slot, or nobody has started the group at it."""
        if job.slot is None or (job.proposes and job.confirmed) or membership(job).keeps_slot:
            return []
        return [*self.slots.drop(job, Why.SLOT_OUTDATED if job.proposes else Why.NOT_CLAIMED), Reschedule(job.id)]

    # At the slot

    def due(self, job: PairedJob, event: SlotDue, now: int) -> list[Effect]:
        """The slot has come; a job that is booked waits for the outcome."""
        if job.state is QUEUED and job.group is not None and job.group.promise is not None:
            return [SetTimer(job.id, Timer.SLOT, now + self.ledger.settings.retry_interval)]
        return self.at_slot.due(job, event, now)

    def fix(self, job: PairedJob, now: int) -> list[Effect]:
        """The group has begun: the job starts at its slot, whatever becomes of the others."""
        group = membership(job)
        group.keeping = NOTHING
        if job.slot is None:  # it starts as soon as it has nodes
            return [Reschedule(job.id)]
        noted = self.ledger.note(job, What.KEEPS_SLOT, slot=job.slot, proposal=group.started_by)
        fixed = [*noted, *self.slots.confirm(job), MoveSlot(job.id, SlotMoves.NEVER)]
        return [*fixed, *self.claim_if_due(job, now)]

    def claim_if_due(self, job: PairedJob, now: int) -> list[Effect]:
        """Do not wait for the timer of a slot that has come already."""
        is_due = job.slot is not None and job.slot <= now
        return self.due(job, SlotDue(job.id), now) if is_due else []

    def _start_all(self, job: PairedJob, now: int) -> list[Effect]:
        group = membership(job)
        group.agreement = None
        group.keeping = NOTHING
        job.will_hold = False
        if group.has_begun:
            return [*self.slots.confirm(job), *self.allocations.start(job, now, Why.AT_SLOT)]
        if any(peer not in group.jobs for peer in group.partners):  # it has only been asked
            again = SetTimer(job.id, Timer.SLOT, now + self.ledger.settings.retry_interval)
            return [again, *self.asking.ask(job, now)]
        return [*self.slots.confirm(job), *propose(self.ledger, job, group.partners, now, slot=group.slot)]

    def _before(self, job: PairedJob, now: int) -> int:
        """Return the instant before which the common one must be, or there is no point in a move."""
        if job.slot is None:
            given = self.ledger.given_instant(job)
            return now + MOST_AHEAD if given is None else given + 1
        present = membership(job).instant
        return job.slot if present is None else present
