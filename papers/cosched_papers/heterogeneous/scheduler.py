"""The scheduler of a heterogeneous domain (docs/heterogeneous.md): a `core.scheduling.scheduler.OpenScheduler`.

It holds its commitments, the lines in which they start, the machines that change hands, and the slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from cosched.core.allocation import Allocation, Gathered
from cosched.core.events import NodesLost, Ready
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.plain import HOLDING, QUEUED, READY, RUNNING, PlainJob, PlainScheduler
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.heterogeneous.commitments import KEPT, PREEMPTED, Commitments
from cosched_papers.heterogeneous.handover import LEAVING, Handover
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.lines import Lines
from cosched_papers.heterogeneous.settings import CAPABILITIES, HeterogeneousSettings
from cosched_papers.heterogeneous.slots import MachineSlots
from cosched_papers.heterogeneous.tables import site_tables

COUNTED = ("preempted", "displaced", "parallel")


class Heterogeneous(PlainScheduler):
    """See Scheduler: jobs are committed to machines that are not alike, and start there."""

    capabilities = CAPABILITIES
    keeps = PlainScheduler.keeps | KEPT | {LEAVING}
    slots: MachineSlots

    def __init__(self, settings: HeterogeneousSettings) -> None:
        super().__init__(settings.nodes, slots=settings.slots)
        site = self._site = settings.site
        self.capabilities = replace(self.capabilities, preempt=site.preemptive)
        self.site_tables = site_tables(settings)
        self.commitments = Commitments(settings, self.note)
        resources = self.commitments.resources
        self.run_times = resources.run_times
        self.meeting = self.slots = MachineSlots(self)
        self._handover = Handover(resources.index, resources.names)
        parts = self.commitments, self._handover, self.slots
        self._lines = Lines(self.jobs, *parts, self._make_room, preemptive=site.preemptive)
        self._counts = dict.fromkeys(COUNTED, 0)

    def note(self, job: JobId) -> None:
        """More is to be kept of a job."""
        self.iteration.have_changed[job] = None

    # Jobs in and out

    def check(self, job: ClusterJob) -> None:
        self.commitments.check(job)

    def submit(self, job: ClusterJob) -> None:
        """See OpenScheduler; ValueError if the job cannot run here."""
        self.check(job)
        super().submit(job)
        known = self.jobs[job.id]
        self._handover.take_up(job.id, known.kept)
        if not self.commitments.submit(known, self.now):
            self.slots.drop(known)

    def learn(self, job: JobId, seconds: int) -> None:
        self.commitments.learn(self.jobs[job], seconds)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        self._gives_back(job)
        self._handover.vain.forget(job)
        self.commitments.plan.loose |= job in self.slots.booked
        super().leave(job, now, how)
        self.commitments.leave(job, now)
        self.commitments.touched.update(self._handover.left(job))

    def lag(self) -> None:
        """See OpenScheduler: machines are free once nothing is left of a run that is stopped."""
        self._handover.lags = True

    def uses(self, job: JobId, nodes: int) -> None:
        """See OpenScheduler; 0: nothing is left of the run of a job that was preempted."""
        if not nodes and (machines := self._handover.left(job)):
            self.commitments.touched.update(machines)
            self.note(job)
            self.reschedule()

    def job(self, job: JobId) -> ClusterJob:
        known = super().job(job)
        return replace(known, kept={**known.kept, **self._handover.kept(job), **self.commitments.kept(self.jobs[job])})

    def _order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        return sorted(queued, key=self.commitments.place_in_order)

    # Passes

    def enter(self, now: int) -> None:
        super().enter(now)
        if self._site.quantum and (due := self.commitments.due) is not None and due <= now:
            self.reschedule()

    def next_event(self, now: int) -> int | None:
        instants = [super().next_event(now), self.commitments.due]
        return min((at for at in instants if at is not None and at > now), default=None)

    def _begin(self, now: int) -> None:
        super()._begin(now)
        commitments = self.commitments
        if (due := commitments.due) is not None and due <= now:
            self._pass(now)
        for job in {*commitments.set_back, *self.slots.booked}:  # what it kept from starting may start now
            commitments.touched.update(commitments.members(self.jobs[job]))
        self._lines.after_release = any(self.jobs[job].released == now for job in commitments.set_back)
        if self._lines.after_release:
            commitments.touched.update(range(commitments.resources.machines))

    def _pass(self, now: int) -> None:
        """Place the jobs of all queues, one after the other; what was set back is planned again."""
        for priority, chosen in self.commitments.begin(self.jobs, now):
            preempts = priority is Priority.HIGH and self._site.preemptive
            for job, resource, start in self.commitments.place(chosen, now, preempts=preempts):
                if preempts:
                    self._take_from_low(job, resource, start, now)

    def _take_from_low(self, job: PlainJob, resource: int, start: int, now: int) -> None:
        """Low commitments that are in the way go back to their queue, and what runs is stopped.

        A job that waits for a mate stops others only when it starts.
        """
        plan = self.commitments.plan
        for commitment in plan.displaced(resource, start):
            other = self.jobs[commitment.job]
            if not commitment.has_machines:
                self._counts["displaced"] += 1
                self.commitments.to_queue(other, now)
            elif job.asked.paired:
                plan.loose = True  # until it starts it comes behind that one
            else:
                self._preempt(other)

    def _preempt(self, job: PlainJob) -> None:
        if job.state in (READY, HOLDING):  # a job is ready beside one that holds, and this starts first
            self._events.append(NodesLost(job.asked.id))
            self.iteration.kept.pop(job.asked.id, None)
            self._queue(job)
        else:
            self._counts["preempted"] += 1
            job.kept[PREEMPTED] = job.kept.get(PREEMPTED, 0) + 1
            self._handover.ends(job.asked.id, self.commitments.members(job))
            super()._preempt(job)
        self.commitments.to_queue(job, self.now)

    # Starts

    def next(self, now: int) -> Ready | None:
        """See Scheduler. What was stopped is placed anew at once."""
        ready = super().next(now)
        while self._handover.lags and ready is None and self.changed and self.iteration.offered is None:
            ready = super().next(now)
        return ready

    def reschedule(self, job: JobId | None = None) -> None:
        """See Scheduler: what has changed for a job may be that its mate is there, or that it starts alone."""
        if job is not None:
            self._handover.vain.forget(job)
        super().reschedule(job)

    def _choose(self, now: int) -> PlainJob | None:
        chosen = self._lines.next_job(now)
        if chosen is not None:
            chosen.size = len(self.commitments.members(chosen))
        return chosen

    def _make_room(self, job: PlainJob) -> bool:
        """Return whether the job's machines are free, or it takes them at its start; else stop those who have them.

        A job without a mate starts anyway, and its launch waits.
        """
        if not self._handover.lags or not job.asked.paired:
            return True
        for giver in () if self._handover.stops_later(job.asked.id) else self._givers(job):
            if giver.state is RUNNING:
                self._handover.stopped_for(job.asked.id)
            self._preempt(giver)
        return self._handover.none_leaves(self.commitments.members(job))

    def stop_later(self, may: Callable[[JobId], bool]) -> None:
        self._handover.may_stop_later = may

    def stops_others(self, job: JobId) -> bool:
        known = self.jobs.get(job)
        return known is not None and known.state is READY and bool(self._givers(known))

    def is_free_for(self, job: PlainJob) -> bool:
        """Return whether the machines of a job, whose slot has come, are free, or it takes them when it starts."""
        self._handover.asked, plan = job.asked.id, self.commitments.plan
        having = (of for machine in self.commitments.members(job) for of in plan.having(machine))
        is_free = all(self._lines.gives_way(of, job, self.now) for of in having) and self._make_room(job)
        self._handover.asked = None
        if is_free:
            job.size = len(self.commitments.members(job))
        return is_free

    def _gives_back(self, job: JobId) -> None:
        """The job does not start: if others were stopped for it, that was in vain."""
        if self._handover.in_vain(job, self.now):
            self._events.append(Gathered(job, 0, in_vain=True))

    def _givers(self, job: PlainJob) -> list[PlainJob]:
        return self._lines.givers(job)

    def _at_once(self, job: PlainJob) -> int:
        members = self.commitments.members
        taken = {machine for giver in self._givers(job) for machine in members(giver)}
        return len(set(members(job)) - taken)

    def _make_ready(self, job: PlainJob) -> Ready:
        ready = super()._make_ready(job)
        self.commitments.set_back.discard(job.asked.id)
        self.commitments.settle(job, self.now)
        return ready

    def _run(self, job: PlainJob, now: int) -> Allocation:
        for giver in self._givers(job):
            self._preempt(giver)
        self._handover.started(job.asked.id)
        self._counts["parallel"] += job.size > 1
        self.commitments.stays(job.asked.id)
        allocation = super()._run(job, now)
        self.commitments.start(job, now)
        return replace(allocation, ends_by=now + max(job.asked.requested, self.duration(job)))

    def duration(self, job: PlainJob) -> int:
        return self.commitments.of(job).seconds

    def allocation(self, job: PlainJob) -> Allocation:
        resources, commitment = self.commitments.resources, self.commitments.of(job)
        where = tuple(resources.names[machine] for machine in self.commitments.members(job))
        stated = resources.stated(self.commitments.says(job).job_class, commitment.resource)
        rate = Fraction(max(1, job.asked.requested), stated)
        return Allocation(len(where), rate=rate, where=where, resource=resources.names[commitment.resource])

    # Answers

    def hold(self, job: JobId, now: int, until: int) -> None:
        super().hold(job, now, until)
        self.commitments.settle(self.jobs[job], now)

    def ask_again(self, job: JobId) -> None:
        super().ask_again(job)
        self.commitments.settle(self.jobs[job], self.now)

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        super().pass_over(job, now, boost)
        self._gives_back(job)
        self.commitments.note_set_back(self.jobs[job])

    def release(self, job: JobId, now: int) -> None:
        super().release(job, now)
        self._gives_back(job)
        self.commitments.note_set_back(self.jobs[job])

    def give_back(self, job: JobId, now: int) -> None:
        super().give_back(job, now)
        self._gives_back(job)

    def _queue(self, job: PlainJob) -> None:
        super()._queue(job)
        self.commitments.settle(job, self.now)
        self.commitments.go_home(job, self.now)

    def count_paired(self, job: JobId, paired: bool) -> None:
        super().count_paired(job, paired)
        if job in self.jobs:
            self.commitments.settle(self.jobs[job], self.now)

    def _would_start(self, job: JobId, now: int) -> bool:
        """Return whether it could start on its resource, or on another one that is free; if so, commit it to that."""
        tried, self._handover.asked = self.jobs.get(job), job
        resource = self._lines.free_for(tried, now) if tried is not None and tried.state is QUEUED else None
        self._handover.asked = None
        if tried is None or resource is None:
            return False
        self.commitments.try_on(tried, resource, now)
        tried.size = len(self.commitments.resources.members[resource])
        return True

    # Numbers

    def counts(self) -> Mapping[str, Any]:
        return dict(self._counts)

    kept_of_domain = counts

    def recall(self, kept: Mapping[str, Any]) -> None:
        self._counts = dict(kept)
