"""A batch system whose pairs meet (meet.md): `ExternalScheduler` with slots, and with starts before turn.

Quote, Book, Unbook and Claim are orders, and what comes of them is told later. The batch system may offer a job before
its slot is known here to be booked, or before it is claimed: that offer is kept aside, and the claim finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from cosched.core.allocation import Allocation
from cosched.core.effects import Book, Claim, EndTurn, Quote, Unbook
from cosched.core.events import Booked, Claimed, MayBeEarlier, Quoted, Ready
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.external import ExternalScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.starts import RecentStarts

SOON = 1  # seconds before a slot: an offer that comes then is one at the slot
SlotOrder = Quote | Book | Claim


class _Aside(NamedTuple):
    """An offer of the batch system's that waits for a claim."""

    nodes: int
    can_yield: bool


@dataclass(frozen=True, slots=True)
class ExternalSettings:
    """A machine of `nodes` nodes. `groups`: its jobs can name groups; the others are as of `ClusterSettings`."""

    nodes: int
    groups: bool = True
    slots: bool = False
    mate_budget: Decimal = Decimal(0)
    mate_budget_share: Decimal = Decimal(1)

    @property
    def meets(self) -> bool:
        """See ClusterSettings."""
        return self.slots or self.mate_budget > 0


def external_scheduler(settings: ExternalSettings) -> ExternalScheduler:
    """Return the scheduler that stands for a batch system."""
    if settings.meets:
        return ExternalMeetingScheduler(settings)
    return ExternalScheduler(settings.nodes, groups=settings.groups)


class ExternalMeetingScheduler(ExternalScheduler):
    """See MeetingScheduler."""

    def __init__(self, settings: ExternalSettings) -> None:
        super().__init__(settings.nodes, groups=settings.groups)
        self.capabilities = replace(self.capabilities, slots=True)
        self.settings = settings
        self.starts = RecentStarts(settings.mate_budget_share)
        self._asked: dict[tuple[JobId, type, bool], SlotOrder] = {}  # to tell later
        self._aside: dict[JobId, _Aside] = {}
        self._proposing: set[JobId] = set()  # jobs for which an earlier slot is perhaps kept free
        self._turns: dict[JobId, None] = {}  # jobs that could be before their slots; in order

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        super().submit(job)
        for kind in (Quote, Book, Claim):  # of an earlier job of this id
            for for_peer in (False, True):
                self._asked.pop((job.id, kind, for_peer), None)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        super().leave(job, now, how)
        self._aside.pop(job, None)
        self._turns.pop(job, None)
        self._proposing.discard(job)

    def requeue(self, job: JobId) -> None:
        super().requeue(job)
        self._aside.pop(job, None)

    # Offers

    def offer(self, job: JobId, nodes: int, now: int, *, can_yield: bool) -> bool:
        """See ExternalScheduler; at its slot a job waits until that is claimed."""
        if self._keeps_aside(job, now):
            self._aside[job] = _Aside(nodes, can_yield)
            return False
        return super().offer(job, nodes, now, can_yield=can_yield)

    def _keeps_aside(self, job: JobId, now: int) -> bool:
        slot = self.slot(job)
        return (job, Book, True) in self._asked or (slot is not None and slot <= now + SOON)

    def keep(self, job: JobId) -> None:
        """See ExternalScheduler; it may be an offer that was kept aside."""
        super().keep(job)
        self._aside.pop(job, None)

    def withdraw(self, job: JobId) -> None:
        """See ExternalScheduler; it may be an offer that was kept aside."""
        self._aside.pop(job, None)

    def _take_back(self, job: JobId, now: int) -> None:
        """Offer a job whose offer was kept aside, if it has no slot any more for which it could wait."""
        if job in self._aside and not self._keeps_aside(job, now):
            kept = self._aside.pop(job)
            super().offer(job, kept.nodes, now, can_yield=kept.can_yield)

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        """See Scheduler."""
        if (ready := super().next(now)) is not None:
            return ready
        while self._turns:
            job = next(iter(self._turns))
            del self._turns[job]
            if self._may_be_earlier(job, now):
                return MayBeEarlier(job)
        return None

    def look_for_earlier(self, now: int) -> None:
        """Nodes are free again: each job with a slot has a turn, in which an earlier one may be agreed on."""
        self._turns = dict.fromkeys(job for job in self._jobs if self._may_be_earlier(job, now))

    def _may_be_earlier(self, job: JobId, now: int) -> bool:
        slot, waits = self.slot(job), self._jobs[job].state is JobState.QUEUED and job not in self._proposing
        return waits and slot is not None and slot > now + SOON

    # What becomes of them

    def start(self, job: JobId, now: int) -> Allocation:
        """See ExternalScheduler; the batch system takes the slot away by itself."""
        allocation = super().start(job, now)
        self._keep_own(job, "slot", None)
        self._aside.pop(job, None)
        if self.settings.mate_budget:
            self.starts.count(self._jobs[job].owner, now, self.pushed(job))
        return allocation

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        super().pass_over(job, now, boost)
        self._keep_own(job, "pushed", None)
        self._proposing.discard(job)

    def may_start_before_turn(self, job: JobId, now: int) -> bool:
        """Return whether a wanted job may start before its turn, by its owner's share."""
        owner = self._jobs[job].owner
        under_way = sum(other.owner == owner for other in self._before_turn())
        return self.settings.mate_budget > 0 and self.starts.may_start_before_turn(owner, now, under_way)

    def _before_turn(self) -> Iterator[ClusterJob]:
        """Return the jobs that have nodes before their turn, and no answer yet."""
        return (job for job in self._jobs.values() if "pushed" in job.kept and job.state is not JobState.RUNNING)

    def note_push(self, job: JobId, seconds: int | None) -> None:
        """A wanted job was offered. `seconds`: by how many it pushes the first job; None: it is its turn."""
        if job in self._jobs:
            self._keep_own(job, "pushed", seconds)

    def pushed(self, job: JobId) -> int | None:
        """See OpenScheduler."""
        return self._jobs[job].kept.get("pushed") if job in self._jobs else None

    # Slots

    def slot(self, job: JobId) -> int | None:
        """Return the instant that the job has; None: it has none."""
        return self._jobs[job].kept.get("slot") if job in self._jobs else None

    def want(self, job: JobId, wanted: bool) -> None:
        """See MeetingScheduler. Its mate asks again whenever it is ready; until then nothing follows."""

    def quote(self, effect: Quote, now: int) -> Quoted | None:  # noqa: ARG002
        if not effect.for_peer:
            self._proposing.add(effect.job)
        return None if self._ask(effect) else Quoted(effect.job, None, effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked | None:  # noqa: ARG002
        asked = self._ask(effect)
        return None if asked else Booked(effect.job, effect.at, effect.generation, None, effect.for_peer)

    def claim(self, effect: Claim, now: int) -> Claimed | None:  # noqa: ARG002
        return None if self._ask(effect) else Claimed(effect.job, None, effect.for_peer)

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        """See MeetingScheduler. Here the rules end the job's turn where its slot may not move."""

    def unbook(self, job: JobId, now: int) -> None:
        if job in self._jobs:
            self._keep_own(job, "slot", None)
            self._orders.append(Unbook(job))
            self._take_back(job, now)

    def end_turn(self, job: JobId) -> None:
        """See MeetingScheduler. The batch system may keep nodes for a proposal that is over now."""
        if job in self._proposing:
            self._proposing.discard(job)
            self._orders.append(EndTurn(job))

    def _ask(self, question: SlotOrder) -> bool:
        if question.job not in self._jobs:
            return False
        self._asked[_key(question)] = question
        self._orders.append(question)
        return True

    def awaits(self, question: SlotOrder) -> bool:
        """Return whether the outcome of this order still counts: no later one of its kind was given."""
        return self._asked.get(_key(question)) is question

    def answered(self, question: SlotOrder, yes: bool) -> None:
        """What has come of an order for which it waits; it is told to the domain next."""
        del self._asked[_key(question)]
        known = self._jobs.get(question.job)
        if known is None or known.state not in (JobState.QUEUED, JobState.READY):
            return
        if isinstance(question, Book):
            if yes:
                self._keep_own(known.id, "slot", question.at)
        elif isinstance(question, Claim) and yes:
            self._aside.pop(known.id, None)
            self._put(known.id, JobState.READY)

    def settled(self, job: JobId, now: int) -> None:
        """The outcome of an order was told: an offer that does not wait for a claim any more is the next."""
        if job in self._jobs:
            self._take_back(job, now)


def _key(question: SlotOrder) -> tuple[JobId, type, bool]:
    return question.job, type(question), question.for_peer
