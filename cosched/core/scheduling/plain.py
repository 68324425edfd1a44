"""A scheduler in plain Python: a queue, nodes that are all alike, and what mates need. The first that fits starts.

Others are made of it: they say in which order jobs come, and which running jobs give way to whom.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from copy import copy
from dataclasses import replace
from typing import Self

from cosched.core.allocation import NOT_NOW, Allocation, Gathered, Given
from cosched.core.events import NOT_HOLDABLE, NodesLost, Ready, Requeued
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.plain_job import HOLDING as HOLDING
from cosched.core.scheduling.plain_job import QUEUED as QUEUED
from cosched.core.scheduling.plain_job import READY as READY
from cosched.core.scheduling.plain_job import RUNNING as RUNNING
from cosched.core.scheduling.plain_job import PlainJob as PlainJob
from cosched.core.scheduling.plain_job import PlainJobs
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.slots import MOVES, SLOT, Slots, forget_slot
from cosched.core.scheduling.starts import RecentStarts
from cosched.core.story import Why


class PlainScheduler(SchedulerBase):
    """See `OpenScheduler`, `GroupScheduler` and `ElasticScheduler`; with `slots` it plans ahead."""

    keeps = frozenset({"lacks", "size"})

    def __init__(self, nodes: int, *, slots: bool = False) -> None:
        self.capabilities = replace(self.capabilities, slots=slots)
        self.keeps = self.keeps | ({SLOT, MOVES} if slots else set())
        self.nodes = nodes
        self._hold_jobs(PlainJobs(nodes))
        self.iteration = OpenIteration(self, self._table)
        self.meeting = self.slots = Slots(self)
        self.starts = RecentStarts()  # none: nobody starts before their turn
        self._going = False  # an iteration is not over yet
        self._events: list[Requeued | NodesLost | Gathered] = []
        self._given: dict[Hashable, int] = {}  # by `_taker`, until nodes change hands

    def _hold_jobs(self, table: PlainJobs) -> None:
        self._table, self.jobs, self.busy = table, table.known, table.busy

    # What others say

    def _order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        """Return in which order jobs have their turn."""
        return queued

    def _givers(self, job: PlainJob) -> list[PlainJob]:  # noqa: ARG002
        """Return the running jobs (of `busy`) that would lose their nodes to this one, in that order.

        It is asked for each job that does not fit: so not all of `jobs` can be looked at.
        """
        return []

    def _taker(self, job: PlainJob) -> Hashable:
        """Return what `_givers` depends on: jobs for which this is equal have the same ones."""
        return job.asked.id

    def _choose(self, now: int) -> PlainJob | None:
        """Return the next job that can have its nodes, if it has not yielded; its size is that on which it starts."""
        free, booked = self.free - self._table.promised, self.slots.booked
        for job in self._in_order(now):
            has_turn = job.passed_over != now + 1 and (not booked or self.slots.has_turn(job, now))
            if has_turn and self._can_have(job, free):
                return job
        return None

    def _at_once(self, job: PlainJob) -> int:
        """Return how many nodes it has while it is ready; others give the rest when it starts."""
        return min(job.size, self.free)

    def _hold_limit(self, job: PlainJob) -> int:
        """Return until when a ready job may hold (Ready)."""
        return NOT_HOLDABLE if job.lacks else self.slots.hold_limit(job, self.now)

    def duration(self, job: PlainJob) -> int:
        """Return for how many seconds it is expected to run."""
        return job.asked.requested

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        self.iteration.interrupt()
        known = self._table.add(job)
        if not self.capabilities.slots:
            forget_slot(known)
        self.slots.submit(known)
        self._become(known, job.state)
        self.iteration.take_up(job)
        self.changed = True

    def leave(self, job: JobId, now: int, how: JobState) -> None:  # noqa: ARG002
        self.iteration.interrupt()
        self.iteration.forget(job)
        known = self.jobs.pop(job)
        self.slots.drop(known)
        self._give(known, 0)
        self._become(known, how)
        self.changed = True

    def job(self, job: JobId) -> ClusterJob:
        return self.jobs[job].read()

    def __contains__(self, job: JobId) -> bool:
        return job in self.jobs

    # Iterations

    def next(self, now: int) -> Ready | None:
        if self.iteration.offered is None and (self._going or self.changed):
            if not self._going or self.changed:
                self._begin(now)
                self._going, self.changed = True, False
            if (job := self._choose(now)) is not None:
                return self._make_ready(job)
            self._going = False
        return None

    def _begin(self, now: int) -> None:
        self.iteration.begin(now)

    def _in_order(self, now: int) -> list[PlainJob]:
        """Return the queued jobs; after a release wanted ones come first, and the released last (coscheduling.md)."""
        order = list(self._order(job for job in self.jobs.values() if job.state is QUEUED))
        if any(job.released == now for job in order):
            order.sort(key=lambda job: 0 if now < job.wanted_until else 2 if job.released == now else 1)
        return order

    def _can_have(self, job: PlainJob, free: int) -> bool:
        """Return whether the job can have its nodes: `free` ones, promised to nobody, and of those who give."""
        if job.size <= free:
            return self.slots.lets_start(job, self.now)
        taker = self._taker(job)
        if taker not in self._given:
            self._given[taker] = sum(giver.nodes for giver in self._givers(job))
        enough = job.size <= free + self._given[taker]
        return enough and self.slots.lets_start(job, self.now, self._givers(job))

    def can_start(self, job: PlainJob) -> bool:
        """Return whether the job can have its nodes now."""
        return self._can_have(job, self.free - self._table.promised)

    def _make_ready(self, job: PlainJob) -> Ready:
        self._give(job, self._at_once(job))
        self._become(job, READY)
        self.iteration.offered = job.asked.id
        return Ready(job.asked.id, self.allocation(job), self._hold_limit(job))

    def abandon(self) -> None:
        self.iteration.offered, self._going = None, False

    # Answers

    def start(self, job: JobId, now: int) -> Allocation:
        self.iteration.answer(job)
        return self._run(self.jobs[job], now)

    def _run(self, job: PlainJob, now: int) -> Allocation:
        for giver in self._givers(job) if job.lacks else ():
            if self.free < job.lacks:
                self._preempt(giver)
        self._give(job, job.size)
        self._become(job, RUNNING)
        self.slots.drop(job)
        job.expected = now + self.duration(job)
        return replace(self.allocation(job), start=now, expected=job.expected)

    def allocation(self, job: PlainJob) -> Allocation:
        """Return what it will have when it starts."""
        return Allocation(job.size)

    def _preempt(self, job: PlainJob) -> None:
        self._events.append(Requeued(job.asked.id, why=Why.PREEMPTED))
        self._queue(job)

    def hold(self, job: JobId, now: int, until: int) -> None:  # noqa: ARG002
        self.iteration.answer(job)
        self._become(self.jobs[job], HOLDING)
        self.jobs[job].expected = until

    def ask_again(self, job: JobId) -> None:
        self.iteration.ask_again(job)
        self._become(self.jobs[job], READY)

    def pass_over(self, job: JobId, now: int, boost: float) -> None:  # noqa: ARG002
        late, alone = self.iteration.is_late(job), not self.changed
        self.iteration.answer(job)
        self._queue(self.jobs[job])
        self.jobs[job].passed_over = now + 1
        self.iteration.yielded(now, late=late, alone=alone)

    def release(self, job: JobId, now: int) -> None:
        self.iteration.interrupt()
        self._queue(self.jobs[job])
        self.jobs[job].released = now

    def _queue(self, job: PlainJob) -> None:
        self._give(job, 0)
        self._become(job, QUEUED)
        job.expected = FOREVER
        self.changed = True

    def _become(self, job: PlainJob, state: JobState) -> None:
        self._nodes_changed()
        self._table.become(job, state)

    def _give(self, job: PlainJob, nodes: int) -> None:
        self._nodes_changed()
        self._table.give(job, nodes)

    def _nodes_changed(self) -> None:
        self._given.clear()
        self.slots.renew()

    def take_events(self) -> list[Requeued | NodesLost | Gathered]:
        events, self._events = self._events, []
        return events

    # What peers ask for

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        if not self._would_start(job, now):
            self.want_until(job, wanted_until)
            return NOT_NOW
        self.reschedule()
        return self._run(self.jobs[job], now)

    def _would_start(self, job: JobId, now: int) -> bool:
        """Return whether an iteration would start it, on its size, other paired jobs passed over."""
        tried, free = self.jobs.get(job), self.free
        for other in self._in_order(now) if tried is not None else ():
            if other is tried:
                return self._can_have(tried, free - self._table.promised)
            if not other.asked.paired and other.size <= free and self.slots.lets_start(other, now):
                free -= other.size
        return False

    def try_ready(self, job: JobId, now: int) -> Given:
        if not self._would_start(job, now):
            return NOT_NOW
        self.iteration.keep(job, changed=self.changed)
        return self.make_ready_aside(self.jobs[job])

    def make_ready_aside(self, job: PlainJob) -> Allocation:
        """Make a queued job ready, for whose answer no iteration waits."""
        self.iteration.interrupt()
        ready = self._make_ready(job)
        self.iteration.offered = None
        return ready.allocation

    def give_back(self, job: JobId, now: int) -> None:  # noqa: ARG002
        due = self.iteration.missed(job) or self.changed
        self._queue(self.jobs[job])
        self.changed = due

    def want_until(self, job: JobId, until: int) -> None:
        if job in self.jobs:
            self.jobs[job].wanted_until = until

    def count_paired(self, job: JobId, paired: bool) -> None:
        if job in self.jobs:
            self.jobs[job].asked = replace(self.jobs[job].asked, paired=paired)

    # Copies, on which it is played what will come (Playable)

    def copy(self) -> Self:
        other = copy(self)
        other._hold_jobs(self._table.copy())
        other.meeting = other.slots = Slots(other)
        other._given = {}
        for job in other.jobs.values():
            other.slots.submit(job)
        other.starts, other._events = RecentStarts(), []
        other.iteration = self.iteration.copy(other, other._table)
        other.abandon()
        other.changed = True
        return other

    def with_nodes(self) -> list[JobId]:
        return self._table.with_nodes()

    def shorten(self, most: int) -> None:
        for job in self._in_order(self.now)[most:]:
            self._become(job, JobState.CANCELLED)
            del self.jobs[job.asked.id]

    # Numbers

    def in_order(self, now: int) -> list[JobId]:
        return [job.asked.id for job in self._in_order(now)]

    def used(self) -> dict[JobState, int]:
        return self._table.used()

    @property
    def free(self) -> int:
        """Nodes that nobody has."""
        return self._table.free
