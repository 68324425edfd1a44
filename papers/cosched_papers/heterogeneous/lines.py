"""Which commitments start: those that are the first on all their machines (docs/heterogeneous.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from cosched.core.protocol import JobId
from cosched.core.scheduling.plain_job import QUEUED, READY, PlainJob
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.scheduling.slots import SLOT
from cosched.core.scheduling.turns import Turns
from cosched_papers.heterogeneous.calls import CANNOT
from cosched_papers.heterogeneous.commitments import Commitments
from cosched_papers.heterogeneous.handover import Handover
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.plan import Commitment
from cosched_papers.heterogeneous.settings import HeterogeneousSettings
from cosched_papers.heterogeneous.slots import MachinesHolder
from cosched_papers.heterogeneous.taking import Taking


class Lines(Turns):
    """Each machine has a line of commitments; who has their turn in it, and gives way to whom.

    It holds the commitments, the machines that change hands, and who takes them from whom.
    """

    _scheduler: MachinesHolder

    def __init__(self, scheduler: MachinesHolder, settings: HeterogeneousSettings) -> None:
        super().__init__(scheduler)
        self.commitments = Commitments(settings, scheduler.iteration.note)
        resources = self.commitments.resources
        self.handover = Handover(resources.index, resources.names)
        self._preemptive = settings.site.preemptive
        self.taking = Taking(scheduler, self.commitments, self.handover, preemptive=self._preemptive)
        self._after_release = False  # at this instant

    # What happens to jobs

    def admit(self, job: ClusterJob) -> None:
        self.commitments.check(job)

    def submit(self, job: PlainJob) -> None:
        self.handover.take_up(job.asked.id, job.kept)
        if not self.commitments.submit(job, self._scheduler.now):
            self._scheduler.slots.drop(job)

    def leave(self, job: PlainJob, now: int) -> None:
        id = job.asked.id
        self.taking.gives_back(id)
        self.handover.vain.forget(id)
        self.commitments.plan.loose |= job in self._scheduler.slots
        self.commitments.leave(id, now)
        self.taking.left(id)

    def become(self, job: PlainJob) -> None:
        super().become(job)
        if job.state is READY:
            self.commitments.set_back.discard(job.asked.id)
        self.commitments.settle(job, self._scheduler.now)

    def queue(self, job: PlainJob) -> None:
        self.commitments.go_home(job, self._scheduler.now)

    def give_back(self, job: PlainJob) -> None:
        self.taking.gives_back(job.asked.id)

    def set_back(self, job: PlainJob) -> None:
        super().set_back(job)
        self.commitments.note_set_back(job)

    def start(self, job: PlainJob) -> None:
        self.taking.start(job)
        self.commitments.stays(job.asked.id)

    def kept(self, job: PlainJob) -> Mapping[str, Any]:
        return {**self.handover.kept(job.asked.id), **self.commitments.kept(job)}

    # Passes

    def begin(self, now: int) -> None:
        commitments, jobs = self.commitments, self._scheduler.jobs
        if (due := commitments.due) is not None and due <= now:
            self._pass(now)
        for job in {*commitments.set_back, *self._scheduler.slots.booked}:  # what it kept from starting may start now
            commitments.touched.update(commitments.members(jobs[job]))
        self._after_release = any(jobs[job].released == now for job in commitments.set_back)
        if self._after_release:
            commitments.touched.update(range(commitments.resources.machines))

    def _pass(self, now: int) -> None:
        """Place the jobs of all queues, one after the other; what was set back is planned again."""
        for priority, chosen in self.commitments.begin(self._scheduler.jobs, now):
            preempts = priority is Priority.HIGH and self._preemptive
            for job, resource, start in self.commitments.place(chosen, now, preempts=preempts):
                if preempts:
                    self.taking.take_from_low(job, resource, start, now)

    # Turns

    def order(self, queued: Iterable[PlainJob]) -> Iterable[PlainJob]:
        return sorted(queued, key=self.commitments.place_in_order)

    def givers(self, job: PlainJob) -> list[PlainJob]:
        return self.taking.givers(job)

    def at_once(self, job: PlainJob) -> int:
        members = self.commitments.members
        taken = {machine for giver in self.givers(job) for machine in members(giver)}
        return len(set(members(job)) - taken)

    def next_job(self, now: int) -> PlainJob | None:
        """Return the earliest commitment that is the first on all its machines, whoever runs there and gives way."""
        found: dict[JobId, PlainJob] = {}
        for machine in list(self.commitments.touched):
            job = self._first(machine, now)
            if job is not None and job.asked.id in found:
                continue
            if job is None or not self._is_next(job, now):
                self.commitments.touched.discard(machine)
            else:
                found[job.asked.id] = job
        if not found:
            return None
        turn = {id: (self._turn(job, now), self.commitments.of(job).order) for id, job in found.items()}
        chosen = found[min(turn, key=turn.__getitem__)]
        chosen.size = len(self.commitments.members(chosen))
        return chosen

    def _is_next(self, job: PlainJob, now: int) -> bool:
        members = self.commitments.members(job)
        is_first = all(self._first(member, now) is job for member in members)
        seconds = self.commitments.of(job).seconds
        return is_first and self._scheduler.slots.let_run(job, members, seconds, now) and self.taking.make_room(job)

    def _first(self, machine: int, now: int) -> PlainJob | None:
        """Return the job that may have the machine now; one that waits for a mate may though a low one runs there."""
        plan = self.commitments.plan
        waiting = (self._scheduler.jobs[of.job] for of in plan.lines[machine] if not of.has_machines)
        waiting = (job for job in waiting if job.passed_over != now + 1 and self._scheduler.slots.has_turn(job, now))
        in_turn = sorted(waiting, key=lambda job: self._turn(job, now)) if self._after_release else waiting
        first = next(iter(in_turn), None)
        if first is None or not all(self.taking.gives_way(of, first, now) for of in plan.having(machine)):
            return None
        return first

    def _turn(self, job: PlainJob, now: int) -> int:
        """After a release wanted jobs come first, and the released last, on all machines (coscheduling.md)."""
        wanted = self._after_release and now < job.wanted_until
        return 2 if job.released == now else 0 if wanted else 1

    def would_start(self, job: JobId, now: int) -> bool:
        """Return whether it could start on its resource, or on another one that is free; if so, commit it to that."""
        tried, self.handover.asked = self._scheduler.jobs.get(job), job
        resource = self._free_for(tried, now) if tried is not None and tried.state is QUEUED else None
        self.handover.asked = None
        if tried is None or resource is None:
            return False
        self.commitments.try_on(tried, resource, now)
        tried.size = len(self.commitments.resources.members[resource])
        return True

    def _free_for(self, job: PlainJob, now: int) -> int | None:
        """Return the job's resource, if all before it wait for mates; else an unused one, where it ends first.

        A job with a slot stays where that is.
        """
        plan, members = self.commitments.plan, self.commitments.resources.members
        planned = plan.of(job.asked.id)
        if planned is not None:
            own = members[planned.resource]
            passes = all(self._lets_pass(plan.lines[machine], job, now) for machine in own)
            if passes and self._scheduler.slots.let_run(job, own, planned.seconds, now):
                return planned.resource if self.taking.make_room(job) else None
        if SLOT in job.kept:
            return None
        unused = [of for of in self.commitments.resources.order(set()) if not any(plan.lines[m] for m in members[of])]
        seconds = {of: self.commitments.seconds(job, of) for of in unused if self.handover.none_leaves(members[of])}
        able = [of for of, time in seconds.items() if time < CANNOT]
        return min(able, key=seconds.__getitem__, default=None)

    def _lets_pass(self, line: list[Commitment], job: PlainJob, now: int) -> bool:
        """Return whether all before the job give way to it, or are passed over as they wait for mates."""
        for of in takewhile(lambda of: of.job != job.asked.id, line):
            other = self._scheduler.jobs[of.job]
            behind = other.asked.paired or other.released == now
            if not (self.taking.gives_way(of, job, now) if of.has_machines else behind):
                return False
        return True
