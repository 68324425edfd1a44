"""What an `ExternalScheduler` holds for pairs that meet (meet.md): slots, and starts before turn.

Quote, Book, Unbook and Claim are orders, and what comes of them is told later. The batch system may offer a job before
its slot is known here to be booked, or before it is claimed: that offer is kept aside, and the claim finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Protocol

from cosched.core.effects import Book, Claim, EndTurn, Quote, Unbook
from cosched.core.events import Booked, Claimed, MayBeEarlier, Quoted
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import JobId
from cosched.core.scheduling.scheduler import ClusterJob, Order
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
        return self.slots or self.mate_budget > 0


class Holder(Protocol):
    """What it asks of the scheduler that holds it."""

    settings: ExternalSettings
    starts: RecentStarts
    jobs: dict[JobId, ClusterJob]
    orders: list[Order]

    def offer(self, job: JobId, nodes: int, now: int, *, can_yield: bool) -> bool:
        """Note that the batch system has chosen a queued job and its nodes."""

    def put(self, job: JobId, state: JobState) -> None:
        """Let a job be in this state."""

    def keep_own(self, job: JobId, name: str, value: int | None) -> None:
        """Keep something more of a job; None: nothing."""


class ExternalMeeting:
    """See Meeting. A domain that does not meet books nothing."""

    def __init__(self, scheduler: Holder) -> None:
        self._scheduler = scheduler
        self.settings = scheduler.settings
        self.aside: dict[JobId, _Aside] = {}
        self._asked: dict[tuple[JobId, type, bool], SlotOrder] = {}  # to tell later
        self._proposing: set[JobId] = set()  # jobs for which an earlier slot is perhaps kept free
        self._turns: dict[JobId, None] = {}  # jobs that could be before their slots; in order

    # Jobs in and out

    def submit(self, job: JobId) -> None:
        """Note that what is asked was about an earlier job of this id."""
        for kind in (Quote, Book, Claim):
            for for_peer in (False, True):
                self._asked.pop((job, kind, for_peer), None)

    def leave(self, job: JobId) -> None:
        self.aside.pop(job, None)
        self._turns.pop(job, None)
        self._proposing.discard(job)

    # Offers

    def keep_aside(self, job: JobId, nodes: int, now: int, *, can_yield: bool) -> bool:
        """Keep an offer aside that comes at the job's slot, until that is claimed; return whether it is one."""
        waits = self._keeps_aside(job, now)
        if waits:
            self.aside[job] = _Aside(nodes, can_yield)
        return waits

    def _keeps_aside(self, job: JobId, now: int) -> bool:
        slot = self.slot(job)
        return (job, Book, True) in self._asked or (slot is not None and slot <= now + SOON)

    def _take_back(self, job: JobId, now: int) -> None:
        """Offer a job whose offer was kept aside, if it has no slot any more for which it could wait."""
        if job in self.aside and not self._keeps_aside(job, now):
            kept = self.aside.pop(job)
            self._scheduler.offer(job, kept.nodes, now, can_yield=kept.can_yield)

    def next_turn(self, now: int) -> MayBeEarlier | None:
        """Return the next job that could be before its slot."""
        while self._turns:
            job = next(iter(self._turns))
            del self._turns[job]
            if self._may_be_earlier(job, now):
                return MayBeEarlier(job)
        return None

    def look_for_earlier(self, now: int) -> None:
        """Note that nodes are free again: each job with a slot has a turn, in which an earlier one may be agreed on."""
        self._turns = dict.fromkeys(job for job in self._scheduler.jobs if self._may_be_earlier(job, now))

    def _may_be_earlier(self, job: JobId, now: int) -> bool:
        slot, known = self.slot(job), self._scheduler.jobs[job]
        waits = known.state is JobState.QUEUED and job not in self._proposing
        return waits and slot is not None and slot > now + SOON

    # What becomes of them

    def start(self, job: JobId, now: int) -> None:
        """Note that a job starts; the batch system takes the slot away by itself."""
        self._scheduler.keep_own(job, "slot", None)
        self.aside.pop(job, None)
        if self.settings.mate_budget:
            known = self._scheduler.jobs[job]
            self._scheduler.starts.count(known.owner, now, known.kept.get("pushed"))

    def pass_over(self, job: JobId) -> None:
        self._scheduler.keep_own(job, "pushed", None)
        self._proposing.discard(job)

    def may_start_before_turn(self, job: JobId, now: int) -> bool:
        """Return whether a wanted job may start before its turn, by its owner's share."""
        jobs = self._scheduler.jobs
        owner = jobs[job].owner
        # Those that have nodes before their turn, and no answer yet.
        waiting = [other for other in jobs.values() if "pushed" in other.kept and other.state is not JobState.RUNNING]
        under_way = sum(other.owner == owner for other in waiting)
        return self.settings.mate_budget > 0 and self._scheduler.starts.may_start_before_turn(owner, now, under_way)

    def note_push(self, job: JobId, seconds: int | None) -> None:
        """Note that a wanted job was offered. `seconds`: by how many it pushes the first job; None: it is its turn."""
        if job in self._scheduler.jobs:
            self._scheduler.keep_own(job, "pushed", seconds)

    # Slots

    def slot(self, job: JobId) -> int | None:
        """Return the instant that the job has; None: it has none."""
        meets, known = self.settings.meets, self._scheduler.jobs.get(job)
        return known.kept.get("slot") if meets and known is not None else None

    def want(self, job: JobId, wanted: bool) -> None:
        """See Meeting. Its mate asks again whenever it is ready; until then nothing follows."""

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
        """See Meeting. Here the rules end the job's turn where its slot may not move."""

    def unbook(self, job: JobId, now: int) -> None:
        if job in self._scheduler.jobs:
            self._scheduler.keep_own(job, "slot", None)
            self._scheduler.orders.append(Unbook(job))
            self._take_back(job, now)

    def end_turn(self, job: JobId) -> None:
        """See Meeting. The batch system may keep nodes for a proposal that is over now."""
        if job in self._proposing:
            self._proposing.discard(job)
            self._scheduler.orders.append(EndTurn(job))

    def _ask(self, question: SlotOrder) -> bool:
        if question.job not in self._scheduler.jobs:
            return False
        self._asked[_key(question)] = question
        self._scheduler.orders.append(question)
        return True

    def awaits(self, question: SlotOrder) -> bool:
        """Return whether the outcome of this order still counts: no later one of its kind was given."""
        return self._asked.get(_key(question)) is question

    def answered(self, question: SlotOrder, yes: bool) -> None:
        """Note what has come of an order for which it waits; it is told to the domain next."""
        del self._asked[_key(question)]
        known = self._scheduler.jobs.get(question.job)
        if known is None or known.state not in (JobState.QUEUED, JobState.READY):
            return
        if isinstance(question, Book):
            if yes:
                self._scheduler.keep_own(known.id, "slot", question.at)
        elif isinstance(question, Claim) and yes:
            self.aside.pop(known.id, None)
            self._scheduler.put(known.id, JobState.READY)

    def settled(self, job: JobId, now: int) -> None:
        """Note that the outcome of an order was told: an offer that does not wait for a claim any more is the next."""
        if job in self._scheduler.jobs:
            self._take_back(job, now)


def _key(question: SlotOrder) -> tuple[JobId, type, bool]:
    return question.job, type(question), question.for_peer
