"""Who takes machines from whom (docs/heterogeneous.md).

A job with a mate takes the machines of others when it starts, and loses nothing if its mate refuses. Where a run that
is stopped needs time to end, it stops others first, and is ready once nothing is left of them.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol

from cosched.core.allocation import Gathered
from cosched.core.events import NodesLost, Requeued
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain_job import HOLDING, READY, RUNNING, PlainJob
from cosched.core.scheduling.turns import Queue
from cosched.core.story import Why
from cosched_papers.heterogeneous.commitments import PREEMPTED, Commitments
from cosched_papers.heterogeneous.handover import Handover
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.plan import Commitment


class Loser(Queue, Protocol):
    """What it asks of the scheduler that holds it."""

    events: list[Requeued | NodesLost | Gathered]

    def take_nodes(self, job: PlainJob, event: Requeued | NodesLost) -> None:
        """Queue a job that has nodes, and tell it by this event."""


class Taking:
    """Which jobs give way, and what they lose. `preemptive`: those of high priority take machines from low ones."""

    def __init__(self, scheduler: Loser, commitments: Commitments, handover: Handover, *, preemptive: bool) -> None:
        self._scheduler, self._preemptive = scheduler, preemptive
        self._commitments, self._handover = commitments, handover
        self.counts: MutableMapping[str, Any] = dict.fromkeys(("preempted", "displaced", "parallel"), 0)

    @property
    def _jobs(self) -> Mapping[JobId, PlainJob]:
        return self._scheduler.jobs

    # Who gives way

    def gives_way(self, commitment: Commitment, job: PlainJob, now: int) -> bool:
        """Return whether the job may be ready though this one has a machine of it, which it takes when it starts."""
        return commitment.is_low and not commitment.is_ready and self._takes(job, now)

    def _takes(self, job: PlainJob, now: int) -> bool:
        """Return whether the job takes machines from low ones only when it starts."""
        preempts = self._preemptive and job.asked.paired and self._commitments.priority(job) is Priority.HIGH
        return preempts and not self._handover.waits(job.asked.id, now)

    def givers(self, job: PlainJob) -> list[PlainJob]:
        """Return those that have the job's machines, in the order of submission."""
        having = (of for machine in self._commitments.members(job) for of in self._commitments.plan.having(machine))
        others = {of.job for of in having if of.job != job.asked.id}
        return sorted((self._jobs[id] for id in others), key=lambda other: other.number)

    def stops_others(self, job: JobId) -> bool:
        """See StopsLater."""
        known = self._jobs.get(job)
        return known is not None and known.state is READY and bool(self.givers(known))

    # What they lose

    def take_from_low(self, job: PlainJob, resource: int, start: int, now: int) -> None:
        """Low commitments that are in the way go back to their queue, and what runs is stopped.

        A job that waits for a mate stops others only when it starts.
        """
        plan = self._commitments.plan
        for commitment in plan.displaced(resource, start):
            other = self._jobs[commitment.job]
            if not commitment.has_machines:
                self.counts["displaced"] += 1
                self._commitments.to_queue(other, now)
            elif job.asked.paired:
                plan.loose = True  # until it starts it comes behind that one
            else:
                self.preempt(other)

    def preempt(self, job: PlainJob) -> None:
        """Note that the job loses its machines, and is to be placed anew."""
        if job.state in (READY, HOLDING):  # a job is ready beside one that holds, and this starts first
            self._scheduler.iteration.kept.pop(job.asked.id, None)
            self._scheduler.take_nodes(job, NodesLost(job.asked.id))
        else:
            self.counts["preempted"] += 1
            job.kept[PREEMPTED] = job.kept.get(PREEMPTED, 0) + 1
            self._handover.ends(job.asked.id, self._commitments.members(job))
            self._scheduler.take_nodes(job, Requeued(job.asked.id, why=Why.PREEMPTED))
        self._commitments.to_queue(job, self._scheduler.now)

    def make_room(self, job: PlainJob) -> bool:
        """Return whether the job's machines are free, or it takes them at its start; else stop those who have them.

        A job without a mate starts anyway, and its launch waits.
        """
        if not self._handover.lags or not job.asked.paired:
            return True
        for giver in () if self._handover.stops_later(job.asked.id) else self.givers(job):
            if giver.state is RUNNING:
                self._handover.stopped_others.add(job.asked.id)
            self.preempt(giver)
        return self._handover.none_leaves(self._commitments.members(job))

    def is_free_for(self, job: PlainJob) -> bool:
        """Return whether the machines of a job, whose slot has come, are free, or it takes them when it starts."""
        self._handover.asked, plan, now = job.asked.id, self._commitments.plan, self._scheduler.now
        having = (of for machine in self._commitments.members(job) for of in plan.having(machine))
        is_free = all(self.gives_way(of, job, now) for of in having) and self.make_room(job)
        self._handover.asked = None
        if is_free:
            job.size = len(self._commitments.members(job))
        return is_free

    def start(self, job: PlainJob) -> None:
        """Note that the job starts: it takes its machines from those who have them."""
        for giver in self.givers(job):
            self.preempt(giver)
        self._handover.started(job.asked.id)
        self.counts["parallel"] += job.size > 1

    def gives_back(self, job: JobId) -> None:
        """Note that the job does not start: if others were stopped for it, that was in vain."""
        if self._handover.in_vain(job, self._scheduler.now):
            self._scheduler.events.append(Gathered(job, 0, in_vain=True))

    def left(self, job: JobId) -> bool:
        """Note that nothing is left of a job's last run; return whether something was."""
        machines = self._handover.left(job)
        self._commitments.touched.update(machines)
        return bool(machines)

    def has_left(self, job: JobId) -> None:
        """Note that nothing is left of the run of a job that was preempted: its machines are free."""
        if self.left(job):
            self._scheduler.iteration.note(job)
            self._scheduler.iteration.reschedule()
