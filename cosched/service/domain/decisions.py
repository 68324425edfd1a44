"""The policy domain inside the turns: it is told events, and what it wants is noted for the end of the turn."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

from cosched.core import effects
from cosched.core.allocation import Gathered, SizeChanged
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.ledger import IllegalEvent
from cosched.core.domain import Change
from cosched.core.events import Event, Ready, Requeued
from cosched.core.kept import to_plain
from cosched.core.outcome import ORDERS, Keep, LastingDomain
from cosched.core.protocol import Domain, EndedBy, JobId, MutatingRequest, SettleGroupStart, TellMember
from cosched.core.scheduling.nonsense import NonsenseError
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.scheduler import Order
from cosched.core.story import Why
from cosched.schedulers.kind import SchedulerKind
from cosched.service.domain.changes import Preempt
from cosched.service.domain.charges import Cost
from cosched.service.domain.late_answers import Late
from cosched.service.domain.peer_news import PeerNews
from cosched.service.domain.records import Records
from cosched.service.domain.sizing import Sizes
from cosched.service.domain.story import ENDED_WITH, MATE_HOLDS, MEMBER_LOST, Noted

_LOG = logging.getLogger(__name__)
GIVE_BACK = (effects.Yield, effects.Release, effects.PassOver)
PEERS, SLOT_USE, SCHEDULER = "peers", "slot_use", "scheduler"  # the keys of what is kept of these


class Decisions:
    """What one domain decides: its jobs start, hold and yield."""

    def __init__(
        self, core: Coscheduler, records: Records, kind: SchedulerKind, places: Places | None = None, *, paced: bool
    ) -> None:
        """`kind`: the scheduler's. `paced`: iterations run at the pace of a conductor only (replay in lock-step)."""
        self.policy = LastingDomain(core, records.scheduler, self._illegal, places)
        self._speaker: Domain = ""  # the peer that has said what this turn is about
        self._core, self._records = core, records
        self._news = PeerNews()
        self.sizes = Sizes(records, kind)
        self._scheduler = records.scheduler
        self._kind = kind.name
        self._journal = records.journal
        self._paced = paced
        self.iterating = not paced  # of a paced domain: its conductor sets it, before a turn ends
        self.looks = 0  # since anything has happened
        self._follow = self._table()
        self.giving_back: set[JobId] = set()  # the manager was told to take these jobs' nodes, and is at it

    def tell_too(self, kind: type, note: Callable[[Any], None]) -> None:
        """Have `note` told, too, of each change of this kind."""
        follow = self._follow[kind]

        def both(change: Any) -> None:
            note(change)
            follow(change)

        self._follow[kind] = both

    # The course of a turn

    def begin(self) -> None:
        """Note that a turn begins."""
        self._journal.now = now = self._journal.clock.now()
        self._speaker = ""
        self._scheduler.enter(now)

    def feed(self, event: Event) -> None:
        """Tell the policy domain; only in a turn."""
        self.do(self.policy.handle(event, self._journal.now))

    def hear(self, peer: Domain, event: Event) -> bool:
        """Tell what a peer says; only in a turn. False: the rules refuse it, and it has changed nothing."""
        self._speaker = peer
        try:
            changes = self.policy.handle(event, self._journal.now)
        except IllegalEvent as error:
            self._illegal(event, error)
            return False
        self.do(changes)
        return True

    def _illegal(self, event: Event, error: IllegalEvent) -> None:
        """Note an event that no rule allows, which has changed nothing. No peer can end this service by one."""
        if not self._speaker:
            job = getattr(event, "job", None)
            raise NonsenseError(f"has done what the rules do not allow: {error}", job) from error
        self._records.metrics.peer_illegal(self._speaker).inc()
        _LOG.error("peer %s has said what cannot be: %s; it is ignored: %r", self._speaker, error, event)

    def carry_out(self, wanted: Iterable[effects.Effect]) -> None:
        """Do what follows from a restart; only in a turn."""
        self.do(self.policy.follow(wanted, self._journal.now))

    def settle(self) -> None:
        """End a turn: the scheduling that follows happens, and what comes of it is noted."""
        with self._records.metrics.iteration.time():
            keep, then, wake_at, look_at, awaited = self.policy.settle(self._journal.now, iterate=self.iterating)
        self._journal.changes.wake_at = wake_at
        if look_at is not None:
            self._look_again(look_at)
        if not self._paced:
            self._journal.changes.awaited = awaited
        if any(keep[1:]):
            self._keep(keep)
        if then:
            self.do(then)
        self._records.refresh(keep.jobs)

    def _keep(self, keep: Keep) -> None:
        """Note what the database keeps beside jobs."""
        changes = self._journal.changes
        changes.starts.update(keep.starts)
        for peer in keep.news:
            what, until = self.presence(peer)
            if self._news.is_news(peer, what, until, self._journal.now):
                self._journal.note(None, what, peer=peer, until=until)
        if keep.peers is not None:
            changes.values[PEERS] = json.dumps({peer: to_plain(known) for peer, known in keep.peers.items()})
        if keep.run_times is not None:
            changes.run_times.append(keep.run_times)
        if keep.slot_use is not None:
            changes.values[SLOT_USE] = json.dumps(keep.slot_use)
        if keep.scheduler is not None:
            changes.values[SCHEDULER] = self.kept_of_domain()

    def kept_of_domain(self) -> str:
        """Return what is kept of the scheduler beside its jobs, with the name of its kind."""
        kept = self._scheduler.kept_of_domain()
        try:
            return json.dumps([self._kind, kept])
        except (TypeError, ValueError) as error:
            raise NonsenseError(f"has told no plain values by kept_of_domain: {error}", None) from error

    def presence(self, peer: Domain) -> tuple[Noted, int | None]:
        """Return what is known of a peer, as a kind of event, and until when that is expected to last."""
        peers = self._core.peers
        if (until := peers.grace_end(peer)) is not None:
            return Noted.PEER_AWAY, until
        if peers.is_draining(peer, self._journal.clock.now()):
            return Noted.PEER_DRAINS, peers.known[peer].drains_until
        return Noted.PEER_THERE, None

    # What is left to do

    def do(self, changes: Iterable[Change | Order]) -> None:
        """Note what the domain wants done; it is done after the turn. Only in a turn."""
        for change in changes:
            self._follow[type(change)](change)

    def _table(self) -> dict[type, Callable[[Any], None]]:
        """Return what follows from each kind of change, and from orders to a batch system."""
        records = self._records
        return {
            **dict.fromkeys(ORDERS, self._give),
            effects.Record: records.tell,
            effects.Call: self._call,
            effects.Answer: self._answer,
            Ready: self._first_ready,
            effects.Start: self._start,
            SizeChanged: self._resize,
            Requeued: self._requeue,
            Gathered: self._gathered,
            effects.Wanted: lambda wanted: records.set_reason(wanted.job, MATE_HOLDS),
            effects.CancelJob: self._cancel,
            effects.EndRun: self._end_run,
        }

    def _give(self, order: Order) -> None:
        self._journal.changes.orders.append(order)
        if type(order) in GIVE_BACK:
            self.giving_back.add(order.job)

    def _look_again(self, at: int) -> None:
        if not self._paced:
            self._journal.changes.looks.append((at, self.looks))

    def _first_ready(self, ready: Ready) -> None:
        if self._core.jobs[ready.job].group is not None:
            self._journal.note(ready.job, Noted.READY, nodes=ready.allocation.nodes)

    def _start(self, start: effects.Start) -> None:
        self.looks = 0
        if start.allocation is not None:
            self.sizes.begin(start.job, start.allocation)
        self._journal.changes.orders.append(start)

    def _resize(self, change: SizeChanged) -> None:
        self.sizes.change(change)
        self._journal.changes.orders.append(change)

    def _gathered(self, change: Gathered) -> None:
        """Note that a job has kept nodes before it was ready, which is charged as while others are asked."""
        if (record := self._records.jobs.get(change.job)) is None:
            return
        if change.node_seconds:
            self._records.charges.add(record, Cost(booked=change.node_seconds), self._journal.now)
        if change.in_vain:
            self._records.metrics.harvests_in_vain.inc()
            self._journal.note(change.job, Noted.GIVES_BACK)

    def _requeue(self, change: Requeued) -> None:
        """Note that a job has no nodes any more by its scheduler: its manager is to end its run."""
        record = self._records.jobs[change.job]
        record.preempted_at, record.sizing = self._journal.now, None
        self._journal.save(record)
        self._journal.changes.orders.append(Preempt(change.job, change.keeps_work))

    def _cancel(self, cancel: effects.CancelJob) -> None:
        by = MEMBER_LOST if cancel.why is Why.MEMBER_LOST else cancel.why
        self._records.order_cancellation(self._records.jobs[cancel.job], by, EndedBy.MATE)

    def _end_run(self, end: effects.EndRun) -> None:
        """Note that a run ends for its mate's: its manager is to end it, and perhaps to queue the job again."""
        record = self._records.jobs[end.job]
        if not end.again:
            by = ENDED_WITH if end.why is Why.MATE_ENDED else end.why
            self._records.order_cancellation(record, by, EndedBy.MATE)
            return
        if record.preempted_at is None:
            record.preempted_at = self._journal.now
            self._journal.save(record)
        self._journal.changes.orders.append(Preempt(end.job))

    def _call(self, call: effects.Call) -> None:
        changes, request = self._journal.changes, call.request
        decides = isinstance(request, SettleGroupStart) and request.start
        (changes.decisions if decides else changes.calls).append(call)

    def _answer(self, answer: effects.Answer) -> None:
        changes, request = self._journal.changes, answer.request
        if isinstance(request, Late | TellMember):
            changes.replies.append(answer)
        else:
            changes.reply = answer.answer
        if not isinstance(request, MutatingRequest):
            return
        last = self._core.answers.last.get((answer.peer, request.caller))
        if last is not None and last[0] == request.request_id:
            changes.answers[answer.peer, request.caller] = last
        if (at := self.policy.look_again_at(answer, self._journal.now)) is not None:
            self._look_again(at)
