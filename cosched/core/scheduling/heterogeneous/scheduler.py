"""The scheduler of a heterogeneous domain (docs/heterogeneous.md): how commitments start and are tried.

A job with a mate takes the machines of others when it starts, and loses nothing if its mate refuses. Where a run that
is stopped needs time to end (`lag`), it stops others first, and is ready once nothing is left of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile

from cosched.core.allocation import Allocation, Gathered
from cosched.core.events import Ready
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.core.scheduling.heterogeneous.calls import CANNOT
from cosched.core.scheduling.heterogeneous.committing import Committing
from cosched.core.scheduling.heterogeneous.jobs import Priority
from cosched.core.scheduling.heterogeneous.plan import Commitment
from cosched.core.scheduling.heterogeneous.settings import HeterogeneousSettings
from cosched.core.scheduling.in_vain import InVain
from cosched.core.scheduling.plain import QUEUED, READY, RUNNING, PlainJob


class Heterogeneous(Committing):
    """See Scheduler: a commitment starts when it is the first on all its machines, and these are free."""

    def __init__(self, settings: HeterogeneousSettings) -> None:
        super().__init__(settings)
        self._stopped_others: set[JobId] = set()  # jobs with mates that have not started since
        self._vain = InVain()
        self._asked: JobId | None = None  # whose mate asks for it just now
        self._stops_later: Callable[[JobId], bool] = lambda _: False

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """See Committing."""
        self._gives_back(job)
        self._vain.forget(job)
        super().leave(job, now, how)

    def reschedule(self, job: JobId | None = None) -> None:
        """See Scheduler: what has changed for a job may be that its mate is there, or that it starts alone."""
        if job is not None:
            self._vain.forget(job)
        super().reschedule(job)

    # Starts

    def next(self, now: int) -> Ready | None:
        """See Scheduler. What was stopped is placed anew at once."""
        ready = super().next(now)
        while self._lags and ready is None and self._changed and self._offered is None:
            ready = super().next(now)
        return ready

    def _choose(self, now: int) -> PlainJob | None:
        """Return the earliest commitment that is the first on all its machines."""
        found: dict[JobId, PlainJob] = {}
        for machine in list(self._touched):
            job = self._first(machine, now)
            if job is not None and job.asked.id in found:
                continue
            if job is None or not self._is_next(job, now):
                self._touched.discard(machine)
            else:
                found[job.asked.id] = job
        turn = {id: (self._turn(job, now), self._commitment(job).order) for id, job in found.items()}
        chosen = found[min(turn, key=turn.__getitem__)] if turn else None
        if chosen is not None:
            chosen.size = len(self._members(chosen))
        return chosen

    def _is_next(self, job: PlainJob, now: int) -> bool:
        members = self._members(job)
        is_first = all(self._first(member, now) is job for member in members)
        return is_first and self._may_start(job.asked.id, members, self._duration(job), now) and self._are_left(job)

    def _are_left(self, job: PlainJob) -> bool:
        """Whether the job's machines are free, or it takes them when it starts; else those who have them are stopped.

        A job without a mate starts anyway, and its launch waits.
        """
        if not self._lags or not job.asked.paired:
            return True
        stops_later = self._asked is None and self._stops_later(job.asked.id)
        for giver in () if stops_later else self._givers(job):
            runs = giver.state is RUNNING
            self._preempt(giver)
            if runs:
                self._stopped_others.add(job.asked.id)
        return self._leaving_none(self._members(job))

    def stop_later(self, may: Callable[[JobId], bool]) -> None:
        """See StopsLater."""
        self._stops_later = may

    def stops_others(self, job: JobId) -> bool:
        """See StopsLater."""
        known = self.jobs.get(job)
        return known is not None and known.state is READY and bool(self._givers(known))

    def _leaving_none(self, members: Sequence[int]) -> bool:
        return all(machines.isdisjoint(members) for machines in self._leaving.values())

    def _gives_back(self, job: JobId) -> None:
        """The job does not start: if others were stopped for it, that was in vain."""
        if job in self._stopped_others:
            self._stopped_others.discard(job)
            self._vain.count(job, self._now)
            self._events.append(Gathered(job, 0, in_vain=True))

    def _may_start(self, id: JobId, members: Sequence[int], seconds: int, now: int) -> bool:  # noqa: ARG002
        """Return whether the job may start now, and run for so long, for all that is promised."""
        return True

    def _has_turn(self, job: PlainJob, now: int) -> bool:
        return job.passed_over != now + 1

    def _first(self, machine: int, now: int) -> PlainJob | None:
        """Return the job that may have the machine now; a job that waits for a mate may though a low one runs there."""
        line = self._plan.lines[machine]
        waiting = (self.jobs[of.job] for of in line if not of.has_machines)
        waiting = (job for job in waiting if self._has_turn(job, now))
        in_turn = sorted(waiting, key=lambda job: self._turn(job, now)) if self._after_release else waiting
        first = next(iter(in_turn), None)
        if first is None or not all(self._gives_way(of, first) for of in self._plan.having(machine)):
            return None
        return first

    def _turn(self, job: PlainJob, now: int) -> int:
        """After a release wanted jobs come first, and the released last, on all machines (coscheduling.md)."""
        wanted = self._after_release and now < job.wanted_until
        return 2 if job.released == now else 0 if wanted else 1

    def _gives_way(self, commitment: Commitment, job: PlainJob) -> bool:
        """Return whether the job may be ready though this one has a machine of it, which it takes when it starts."""
        return commitment.is_low and not commitment.is_ready and self._takes(job)

    def _takes(self, job: PlainJob) -> bool:
        """Return whether the job takes machines from low ones only when it starts."""
        preempts = self._site.preemptive and job.asked.paired and self._priority(job) is Priority.HIGH
        id = job.asked.id
        return preempts and not self._vain.waits(id, self._now, asked=id == self._asked)

    def _givers(self, job: PlainJob) -> list[PlainJob]:
        """Return those that have its machines."""
        having = (of for machine in self._members(job) for of in self._plan.having(machine))
        others = {of.job for of in having if of.job != job.asked.id}
        return sorted((self.jobs[id] for id in others), key=lambda other: other.number)

    def _at_once(self, job: PlainJob) -> int:
        taken = {machine for giver in self._givers(job) for machine in self._members(giver)}
        return len(set(self._members(job)) - taken)

    def _make_ready(self, job: PlainJob) -> Ready:
        ready = super()._make_ready(job)
        self._set_back.discard(job.asked.id)
        self._settle(job, self._now)
        return ready

    def _run(self, job: PlainJob, now: int) -> Allocation:
        for giver in self._givers(job):
            self._preempt(giver)
        self._stopped_others.discard(job.asked.id)
        self._vain.forget(job.asked.id)
        self._counts["parallel"] += job.size > 1
        self._homes.pop(job.asked.id, None)
        self._queue_of.pop(job.asked.id, None)
        self._set_back.discard(job.asked.id)
        allocation = super()._run(job, now)
        self._commitment(job).start = now
        self._settle(job, now)
        return replace(allocation, ends_by=now + max(job.asked.requested, self._duration(job)))

    def _duration(self, job: PlainJob) -> int:
        return self._commitment(job).seconds

    def _allocation(self, job: PlainJob) -> Allocation:
        names, commitment = self._resources.names, self._commitment(job)
        where = tuple(names[machine] for machine in self._members(job))
        stated = self._resources.stated(self._says(job).job_class, commitment.resource)
        rate = Fraction(max(1, job.asked.requested), stated)
        return Allocation(len(where), rate=rate, where=where, resource=names[commitment.resource])

    # Answers

    def hold(self, job: JobId, now: int, until: int) -> None:
        """See Scheduler."""
        super().hold(job, now, until)
        self._settle(self.jobs[job], now)

    def ask_again(self, job: JobId) -> None:
        """See Scheduler."""
        super().ask_again(job)
        self._settle(self.jobs[job], self._now)

    def pass_over(self, job: JobId, now: int, boost: float) -> None:
        """See Scheduler."""
        super().pass_over(job, now, boost)
        self._gives_back(job)
        self._note_set_back(self.jobs[job])

    def release(self, job: JobId, now: int) -> None:
        """See Scheduler."""
        super().release(job, now)
        self._gives_back(job)
        self._note_set_back(self.jobs[job])

    def give_back(self, job: JobId, now: int) -> None:
        """See GroupScheduler."""
        super().give_back(job, now)
        self._gives_back(job)

    def _queue(self, job: PlainJob) -> None:
        """A job goes back to where it was before it was tried elsewhere."""
        id = job.asked.id
        super()._queue(job)
        self._settle(job, self._now)
        if id in self._homes:
            home, order = self._homes[id], self._commitment(job).order
            self._to_queue(job, self._now)
            if home is not None:
                del self._queue_of[id]
                self._plan.add(Commitment(id, *home, order, is_low=self._is_low(job)))
                self._plan.loose = True
                self._touched.update(self._members(job))

    def count_paired(self, job: JobId, paired: bool) -> None:
        """See Scheduler."""
        super().count_paired(job, paired)
        if job in self.jobs:
            self._settle(self.jobs[job], self._now)

    # What peers ask for

    def _would_start(self, job: JobId, now: int) -> bool:
        """Whether it could start on its resource, or on another one that is free; if so, it is committed to that."""
        tried, self._asked = self.jobs.get(job), job
        resource = self._free_for(tried, now) if tried is not None and tried.state is QUEUED else None
        self._asked = None
        if tried is None or resource is None:
            return False
        planned = self._plan.of(job)
        if planned is None or planned.resource != resource:
            self._ordered += planned is None
            home, order = (
                (None, self._ordered) if planned is None else ((planned.resource, planned.seconds), planned.order)
            )
            self._forget(job, now)
            self._homes[job] = home
            seconds = self._seconds(tried, resource)
            made = Commitment(job, resource, seconds, order, now, now + seconds, is_low=self._is_low(tried))
            self._plan.add(made)
        tried.size = len(self._resources.members[resource])
        return True

    def _free_for(self, job: PlainJob, now: int) -> int | None:
        """The job's resource, if all before it wait for mates; else one without commitments, where it ends first."""
        lines, members = self._plan.lines, self._resources.members
        planned = self._plan.of(job.asked.id)
        if planned is not None:
            own = members[planned.resource]
            passes = all(self._lets_pass(lines[machine], job, now) for machine in own)
            if passes and self._may_start(job.asked.id, own, planned.seconds, now):
                return planned.resource if self._are_left(job) else None
        unused = [of for of in self._resources.order(set()) if not any(lines[machine] for machine in members[of])]
        unused = [of for of in unused if self._leaving_none(members[of])]
        able = [of for of in unused if self._seconds(job, of) < CANNOT]
        return min(able, key=lambda of: self._seconds(job, of), default=None)

    def _lets_pass(self, line: list[Commitment], job: PlainJob, now: int) -> bool:
        """Return whether all before the job give way to it, or are passed over as they wait for mates."""
        for of in takewhile(lambda of: of.job != job.asked.id, line):
            other = self.jobs[of.job]
            behind = other.asked.paired or other.released == now
            if not (self._gives_way(of, job) if of.has_machines else behind):
                return False
        return True

    def _seconds(self, job: PlainJob, resource: int) -> int:
        return int(self._resources.row_for(*self._whose(job))[resource])
