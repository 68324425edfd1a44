"""Whose turn it is, and who can have their nodes: a part that a `PlainScheduler` holds. The first that fits starts.

Others are made of it: they say in which order jobs come, and which running jobs give way to whom.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from typing import Any, Protocol, Self

from cosched.core.events import NOT_HOLDABLE
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain_job import QUEUED, PlainJob
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.slots import Holder, Slots


class Queue(Holder, Protocol):
    """What turns ask of the scheduler that holds them."""

    now: int
    slots: Slots

    @property
    def free(self) -> int:
        """Nodes that nobody has."""

    @property
    def promised(self) -> int:
        """The nodes that others must give to jobs that are ready already."""


class Turns:
    """In which order jobs have their turns, and what each can have then."""

    def __init__(self, scheduler: Queue) -> None:
        self._scheduler = scheduler
        self._given: dict[Hashable, int] = {}  # by `taker`, until nodes change hands

    def copy(self, scheduler: Queue) -> Self:
        """Return the same once more, for a copy of the scheduler."""
        other = copy(self)
        other._scheduler, other._given = scheduler, {}
        return other

    def renew(self) -> None:
        """Note that nodes were given or taken."""
        self._given.clear()

    # What happens to jobs

    def admit(self, job: ClusterJob) -> None:
        """Note that a job is to be submitted; ValueError if it cannot run here."""

    def submit(self, job: PlainJob) -> None:
        """Note that a job is known from now on."""

    def leave(self, job: PlainJob, now: int) -> None:
        """Note that a job leaves."""

    def become(self, job: PlainJob) -> None:  # noqa: ARG002
        """Note that a job is in another state, or has another mate."""
        self.renew()

    def queue(self, job: PlainJob) -> None:
        """Note that a job that had nodes is queued."""

    def give_back(self, job: PlainJob) -> None:
        """Note that a job has been queued that was ready, or held: it does not start."""

    def set_back(self, job: PlainJob) -> None:
        """Note that this was because the job has yielded, or was released by force."""
        self.give_back(job)

    def start(self, job: PlainJob) -> None:
        """Note that a job is about to start."""

    # What others say

    def kept(self, job: PlainJob) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what to keep of a job, beside what all schedulers do."""
        return {}

    def order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        """Return in which order jobs have their turn."""
        return queued

    def givers(self, job: PlainJob) -> list[PlainJob]:  # noqa: ARG002
        """Return the running jobs (of `busy`) that would lose their nodes to this one, in that order.

        It is asked for each job that does not fit: so not all of `jobs` can be looked at.
        """
        return []

    def taker(self, job: PlainJob) -> Hashable:
        """Return what `givers` depends on: jobs for which this is equal have the same ones."""
        return job.asked.id

    def can_have(self, job: PlainJob, free: int) -> bool:
        """Return whether the job can have its nodes: `free` ones, promised to nobody, and of those who give."""
        slots, now = self._scheduler.slots, self._scheduler.now
        if job.size <= free:
            return slots.lets_start(job, now)
        taker = self.taker(job)
        if taker not in self._given:
            self._given[taker] = sum(giver.nodes for giver in self.givers(job))
        return job.size <= free + self._given[taker] and slots.lets_start(job, now, self.givers(job))

    def at_once(self, job: PlainJob) -> int:
        """Return how many nodes it has while it is ready; others give the rest when it starts."""
        return min(job.size, self._scheduler.free)

    def hold_limit(self, job: PlainJob) -> int:
        """Return until when a ready job may hold (Ready)."""
        return NOT_HOLDABLE if job.lacks else self._scheduler.slots.hold_limit(job, self._scheduler.now)

    # Who is next

    def begin(self, now: int) -> None:
        """Note that an iteration begins."""

    def in_order(self, now: int) -> list[PlainJob]:
        """Return the queued jobs; after a release wanted ones come first, and the released last (coscheduling.md)."""
        order = list(self.order(job for job in self._scheduler.jobs.values() if job.state is QUEUED))
        if any(job.released == now for job in order):
            order.sort(key=lambda job: 0 if now < job.wanted_until else 2 if job.released == now else 1)
        return order

    def next_job(self, now: int) -> PlainJob | None:
        """Return the next job that can have its nodes, if it has not yielded; its size is that on which it starts."""
        slots, free = self._scheduler.slots, self._scheduler.free - self._scheduler.promised
        for job in self.in_order(now):
            has_turn = job.passed_over != now + 1 and (not slots.booked or slots.has_turn(job, now))
            if has_turn and self.can_have(job, free):
                return job
        return None

    def would_start(self, job: JobId, now: int) -> bool:
        """Return whether an iteration would start it, on its size, other paired jobs passed over."""
        tried, free = self._scheduler.jobs.get(job), self._scheduler.free
        for other in self.in_order(now) if tried is not None else ():
            if other is tried:
                return self.can_have(tried, free - self._scheduler.promised)
            if not other.asked.paired and other.size <= free and self._scheduler.slots.lets_start(other, now):
                free -= other.size
        return False
