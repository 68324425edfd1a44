"""Which commitments start: those that are the first on all their machines (docs/heterogeneous.md).

A job with a mate takes the machines of others when it starts, and loses nothing if its mate refuses. Where a run that
is stopped needs time to end, it stops others first, and is ready once nothing is left of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile

from cosched.core.protocol import JobId
from cosched.core.scheduling.plain_job import PlainJob
from cosched.core.scheduling.slots import SLOT
from cosched_papers.heterogeneous.calls import CANNOT
from cosched_papers.heterogeneous.commitments import Commitments
from cosched_papers.heterogeneous.handover import Handover
from cosched_papers.heterogeneous.jobs import Priority
from cosched_papers.heterogeneous.plan import Commitment
from cosched_papers.heterogeneous.slots import MachineSlots


class Lines:
    """Each machine has a line of commitments; who has their turn in it, and gives way to whom."""

    def __init__(
        self,
        jobs: Mapping[JobId, PlainJob],
        commitments: Commitments,
        handover: Handover,
        slots: MachineSlots,
        make_room: Callable[[PlainJob], bool],
        *,
        preemptive: bool,
    ) -> None:
        """`make_room`: stops those that have a job's machines, if they need time to end; whether none is left."""
        self._jobs, self._make_room, self._preemptive = jobs, make_room, preemptive
        self._commitments, self._handover, self._slots = commitments, handover, slots
        self.after_release = False  # at this instant

    def next_job(self, now: int) -> PlainJob | None:
        """Return the earliest commitment that is the first on all its machines, whoever runs there and gives way."""
        found: dict[JobId, PlainJob] = {}
        for machine in list(self._commitments.touched):
            job = self._first(machine, now)
            if job is not None and job.asked.id in found:
                continue
            if job is None or not self._is_next(job, now):
                self._commitments.touched.discard(machine)
            else:
                found[job.asked.id] = job
        turn = {id: (self._turn(job, now), self._commitments.of(job).order) for id, job in found.items()}
        return found[min(turn, key=turn.__getitem__)] if turn else None

    def _is_next(self, job: PlainJob, now: int) -> bool:
        members = self._commitments.members(job)
        is_first = all(self._first(member, now) is job for member in members)
        seconds = self._commitments.of(job).seconds
        return is_first and self._slots.let_run(job, members, seconds, now) and self._make_room(job)

    def _has_turn(self, job: PlainJob, now: int) -> bool:
        return job.passed_over != now + 1 and self._slots.has_turn(job, now)

    def _first(self, machine: int, now: int) -> PlainJob | None:
        """Return the job that may have the machine now; one that waits for a mate may though a low one runs there."""
        plan = self._commitments.plan
        waiting = (self._jobs[of.job] for of in plan.lines[machine] if not of.has_machines)
        waiting = (job for job in waiting if self._has_turn(job, now))
        in_turn = sorted(waiting, key=lambda job: self._turn(job, now)) if self.after_release else waiting
        first = next(iter(in_turn), None)
        if first is None or not all(self.gives_way(of, first, now) for of in plan.having(machine)):
            return None
        return first

    def _turn(self, job: PlainJob, now: int) -> int:
        """After a release wanted jobs come first, and the released last, on all machines (coscheduling.md)."""
        wanted = self.after_release and now < job.wanted_until
        return 2 if job.released == now else 0 if wanted else 1

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

    def free_for(self, job: PlainJob, now: int) -> int | None:
        """Return the job's resource, if all before it wait for mates; else an unused one, where it ends first.

        A job with a slot stays where that is.
        """
        plan, members = self._commitments.plan, self._commitments.resources.members
        planned = plan.of(job.asked.id)
        if planned is not None:
            own = members[planned.resource]
            passes = all(self._lets_pass(plan.lines[machine], job, now) for machine in own)
            if passes and self._slots.let_run(job, own, planned.seconds, now):
                return planned.resource if self._make_room(job) else None
        if SLOT in job.kept:
            return None
        unused = [of for of in self._commitments.resources.order(set()) if not any(plan.lines[m] for m in members[of])]
        seconds = {of: self._commitments.seconds(job, of) for of in unused if self._handover.none_leaves(members[of])}
        able = [of for of, time in seconds.items() if time < CANNOT]
        return min(able, key=seconds.__getitem__, default=None)

    def _lets_pass(self, line: list[Commitment], job: PlainJob, now: int) -> bool:
        """Return whether all before the job give way to it, or are passed over as they wait for mates."""
        for of in takewhile(lambda of: of.job != job.asked.id, line):
            other = self._jobs[of.job]
            behind = other.asked.paired or other.released == now
            if not (self.gives_way(of, job, now) if of.has_machines else behind):
                return False
        return True
