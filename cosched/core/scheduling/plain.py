"""A scheduler in plain Python: a queue, nodes that are all alike, and what mates need.

Others are made of it: their `Turns` say in which order jobs come, and which running jobs give way to whom.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Self

from cosched.core.allocation import NOT_NOW, Allocation, Gathered, Given
from cosched.core.events import NodesLost, Ready, Requeued
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.base import SchedulerBase
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.plain_job import HOLDING, QUEUED, READY, RUNNING, PlainJob, PlainJobs
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.slots import MOVES, SLOT, Slots, forget_slot
from cosched.core.scheduling.starts import RecentStarts
from cosched.core.scheduling.turns import Turns
from cosched.core.story import Why

__all__ = ["HOLDING", "QUEUED", "READY", "RUNNING", "PlainJob", "PlainScheduler", "Turns"]


class PlainScheduler(SchedulerBase):
    """See `OpenScheduler`, `GroupScheduler` and `ElasticScheduler`; with `slots` it plans ahead."""

    keeps = frozenset({"lacks", "size"})

    def __init__(self, nodes: int, *, slots: bool = False, turns: Callable[[Self], Turns] = Turns) -> None:
        self.capabilities = replace(self.capabilities, slots=slots)
        self.keeps = self.keeps | ({SLOT, MOVES} if slots else set())
        self.nodes = nodes
        self._hold_jobs(PlainJobs(nodes))
        self.iteration = OpenIteration(self, self._table)
        self.meeting = self.slots = Slots(self)
        self.turns = turns(self)
        self.starts = RecentStarts()  # none: nobody starts before their turn
        self._going = False  # an iteration is not over yet
        self.events: list[Requeued | NodesLost | Gathered] = []

    def _hold_jobs(self, table: PlainJobs) -> None:
        self._table, self.jobs, self.busy = table, table.known, table.busy

    def duration(self, job: PlainJob) -> int:
        """Return for how many seconds it is expected to run."""
        return job.asked.requested

    # Jobs in and out

    def submit(self, job: ClusterJob) -> None:
        self.turns.admit(job)
        self.iteration.interrupt()
        known = self._table.add(job)
        if not self.capabilities.slots:
            forget_slot(known)
        self.slots.submit(known)
        self._become(known, job.state)
        self.iteration.take_up(job)
        self.changed = True
        self.turns.submit(known)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        self.iteration.interrupt()
        self.iteration.forget(job)
        self.turns.leave(self.jobs[job], now)
        known = self.jobs.pop(job)
        self.slots.drop(known)
        self._give(known, 0)
        self._become(known, how)
        self.changed = True

    def job(self, job: JobId) -> ClusterJob:
        known, kept = self.jobs[job].read(), self.turns.kept(self.jobs[job])
        return replace(known, kept={**known.kept, **kept}) if kept else known

    def __contains__(self, job: JobId) -> bool:
        return job in self.jobs

    # Iterations

    def next(self, now: int) -> Ready | None:
        if self.iteration.offered is None and (self._going or self.changed):
            if not self._going or self.changed:
                self.iteration.begin(now)
                self.turns.begin(now)
                self._going, self.changed = True, False
            if (job := self.turns.next_job(now)) is not None:
                return self._make_ready(job)
            self._going = False
        return None

    def can_start(self, job: PlainJob) -> bool:
        """Return whether the job can have its nodes now."""
        return self.turns.can_have(job, self.free - self.promised)

    def _make_ready(self, job: PlainJob) -> Ready:
        self._give(job, self.turns.at_once(job))
        self._become(job, READY)
        self.iteration.offered = job.asked.id
        return Ready(job.asked.id, self.allocation(job), self.turns.hold_limit(job))

    def abandon(self) -> None:
        self.iteration.offered, self._going = None, False

    # Answers

    def start(self, job: JobId, now: int) -> Allocation:
        self.iteration.answer(job)
        return self._run(self.jobs[job], now)

    def _run(self, job: PlainJob, now: int) -> Allocation:
        self.turns.start(job)
        for giver in self.turns.givers(job) if job.lacks else ():
            if self.free < job.lacks:
                self._preempt(giver)
        job.expected = now + self.duration(job)
        self._give(job, job.size)
        self._become(job, RUNNING)
        self.slots.drop(job)
        return replace(self.allocation(job), start=now, expected=job.expected)

    def allocation(self, job: PlainJob) -> Allocation:
        """Return what it will have when it starts."""
        return Allocation(job.size)

    def _preempt(self, job: PlainJob) -> None:
        self.take_nodes(job, Requeued(job.asked.id, why=Why.PREEMPTED))

    def take_nodes(self, job: PlainJob, event: Requeued | NodesLost) -> None:
        """Queue a job that has nodes, and tell it by this event."""
        self.events.append(event)
        self._queue(job)

    def hold(self, job: JobId, now: int, until: int) -> None:  # noqa: ARG002
        self.iteration.answer(job)
        self.jobs[job].expected = until
        self._become(self.jobs[job], HOLDING)

    def ask_again(self, job: JobId) -> None:
        self.iteration.ask_again(job)
        self._become(self.jobs[job], READY)

    def pass_over(self, job: JobId, now: int, boost: float) -> None:  # noqa: ARG002
        late, alone = self.iteration.is_late(job), not self.changed
        self.iteration.answer(job)
        self._queue(self.jobs[job])
        self.jobs[job].passed_over = now + 1
        self.iteration.yielded(now, late=late, alone=alone)
        self.turns.set_back(self.jobs[job])

    def release(self, job: JobId, now: int) -> None:
        self.iteration.interrupt()
        self._queue(self.jobs[job])
        self.jobs[job].released = now
        self.turns.set_back(self.jobs[job])

    def _queue(self, job: PlainJob) -> None:
        self._give(job, 0)
        self._become(job, QUEUED)
        job.expected = FOREVER
        self.changed = True
        self.turns.queue(job)

    def _become(self, job: PlainJob, state: JobState) -> None:
        self._table.become(job, state)
        self.slots.renew()
        self.turns.become(job)

    def _give(self, job: PlainJob, nodes: int) -> None:
        self._table.give(job, nodes)
        self.slots.renew()
        self.turns.renew()

    def take_events(self) -> list[Requeued | NodesLost | Gathered]:
        events, self.events = self.events, []
        return events

    # What peers ask for

    def try_start(self, job: JobId, now: int, wanted_until: int, start_at: float | None = None) -> Given:  # noqa: ARG002
        if not self.turns.would_start(job, now):
            self.want_until(job, wanted_until)
            return NOT_NOW
        self.reschedule()
        return self._run(self.jobs[job], now)

    def try_ready(self, job: JobId, now: int) -> Given:
        if not self.turns.would_start(job, now):
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
        self.turns.give_back(self.jobs[job])

    def want_until(self, job: JobId, until: int) -> None:
        if job in self.jobs:
            self.jobs[job].wanted_until = until

    def count_paired(self, job: JobId, paired: bool) -> None:
        if job in self.jobs:
            self.jobs[job].asked = replace(self.jobs[job].asked, paired=paired)
            self.turns.become(self.jobs[job])

    # Copies, on which it is played what will come (Playable)

    def copy(self) -> Self:
        other = copy(self)
        other._hold_jobs(self._table.copy())
        other.meeting = other.slots = Slots(other)
        other.turns = self.turns.copy(other)
        for job in other.jobs.values():
            other.slots.submit(job)
        other.starts, other.events = RecentStarts(), []
        other.iteration = self.iteration.copy(other, other._table)
        other.abandon()
        other.changed = True
        return other

    def with_nodes(self) -> list[JobId]:
        return self._table.with_nodes()

    def shorten(self, most: int) -> None:
        for job in self.turns.in_order(self.now)[most:]:
            self._become(job, JobState.CANCELLED)
            del self.jobs[job.asked.id]

    # Numbers

    def in_order(self, now: int) -> list[JobId]:
        return [job.asked.id for job in self.turns.in_order(now)]

    def used(self) -> dict[JobState, int]:
        return self._table.used()

    @property
    def free(self) -> int:
        """Nodes that nobody has."""
        return self._table.free

    @property
    def promised(self) -> int:
        """The nodes that others must give to jobs that are ready already."""
        return self._table.promised
