"""The slots of jobs on machines that are not alike (docs/heterogeneous.md): where commitments leave room.

A booked job is of medium priority; nothing starts that would run over a slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.plain_job import HOLDING, READY, PlainJob
from cosched.core.scheduling.slots import SLOT, Slots
from cosched_papers.heterogeneous.calls import CANNOT, Ints
from cosched_papers.heterogeneous.commitments import Commitments
from cosched_papers.heterogeneous.plan import Commitment
from cosched_papers.heterogeneous.taking import Loser, Taking


class MachinesHolder(Loser, Protocol):
    """What slots ask of the scheduler that holds them; its commitments are theirs, too."""

    slots: MachineSlots

    @property
    def commitments(self) -> Commitments:
        """What it has committed."""

    @property
    def taking(self) -> Taking:
        """Who takes machines from whom."""


class PlaceFit(NamedTuple):
    """Where a job could have a slot; the smallest is the best. `keeps_place`: as its commitment is planned anyway."""

    end: int
    place: int  # of the resource in the order in which they are tried
    at: int
    keeps_place: bool
    resource: int


class MachineSlots(Slots):
    """Which jobs have slots, and where one fits: behind what is committed, or at the job's own place there."""

    _scheduler: MachinesHolder

    def drop(self, job: PlainJob) -> None:
        commitment = self._scheduler.commitments.plan.of(job.asked.id)
        if job.asked.id in self.booked and commitment is not None:
            commitment.slot = 0
        super().drop(job)

    def _changed(self, job: PlainJob, now: int) -> None:
        commitments = self._scheduler.commitments
        if SLOT not in job.kept:  # it stays committed where its slot was
            commitments.note_set_back(job)
        commitments.plan.loose = True
        commitments.settle(job, now)
        self._scheduler.iteration.note(job.asked.id)
        super()._changed(job, now)

    def _take(self, job: PlainJob, fit: PlaceFit, now: int) -> None:
        """Let the job's commitment be where the slot fits, behind all others unless it keeps its place."""
        commitments = self._scheduler.commitments
        commitments.stays(job.asked.id)
        if not fit.keeps_place:
            commitments.move(job, fit.resource, fit.at, fit.end - fit.at, now)
        commitments.of(job).slot = fit.at

    def _is_free_for(self, job: PlainJob) -> bool:
        return self._scheduler.taking.is_free_for(job)

    # Where a slot fits

    def _fit(self, job: PlainJob, not_before: int, now: int) -> PlaceFit | None:
        """See Slots: where it would end first."""
        plan = self._scheduler.commitments.plan
        own, slot = plan.of(job.asked.id), 0
        if own is not None:
            slot, own.slot = own.slot, 0
        plan.compact(now)
        found = min(self._fits(job, own, not_before, now), default=None)
        if own is not None and slot:
            own.slot = slot
            plan.loose = True
        return found

    def _fits(self, job: PlainJob, own: Commitment | None, not_before: int, now: int) -> Iterator[PlaceFit]:
        free, commitments = self._free_beside(job, now), self._scheduler.commitments
        for place, resource in enumerate(commitments.resources.order(set())):
            is_own = own is not None and own.resource == resource
            seconds = own.seconds if own is not None and is_own else commitments.seconds(job, resource)
            if seconds >= CANNOT or (job.state is READY and not is_own):
                continue
            members = commitments.resources.members[resource]
            at = max(not_before, *(int(free[machine]) for machine in members))
            if own is not None and is_own and not_before <= own.start and self._keeps_slots(members, own):
                yield PlaceFit(own.start + seconds, place, own.start, True, resource)
            else:
                yield PlaceFit(at + seconds, place, at, False, resource)

    def _free_beside(self, job: PlainJob, now: int) -> Ints:
        """Return when each machine is available but for this job. A job that holds may start at the end of its hold."""
        plan, jobs = self._scheduler.commitments.plan, self._scheduler.jobs
        free = np.full(len(plan.lines), now, np.int64)
        for commitment in plan:
            if commitment.job != job.asked.id:
                until = commitment.until + commitment.seconds * (jobs[commitment.job].state is HOLDING)
                for machine in plan.members(commitment):
                    free[machine] = max(free[machine], until)
        return free

    def _keeps_slots(self, members: Sequence[int], own: Commitment) -> bool:
        """Return whether the commitment, as it is planned, is in nobody's slot."""
        return all(own.end <= of.slot or of.until <= own.start for of in self._booked_on(members, own.job))

    # Turns, beside slots

    def _booked_on(self, members: Sequence[int], but: JobId) -> Iterator[Commitment]:
        """Yield the commitments with slots on these machines."""
        for machine in members if self.booked else ():
            yield from (of for of in self._scheduler.commitments.plan.lines[machine] if of.slot and of.job != but)

    def _next_slot(self, job: PlainJob, members: Sequence[int], now: int) -> int:
        """Return the first slot of another job on these machines that is not past; FOREVER: none is."""
        slots = (of.slot for of in self._booked_on(members, job.asked.id) if of.slot >= now)
        return min(slots, default=FOREVER)

    def let_run(self, job: PlainJob, members: Sequence[int], seconds: int, now: int) -> bool:
        """Return whether the job may run there for so long from now on, for all that is promised."""
        return now + seconds <= self._next_slot(job, members, now)

    def hold_limit(self, job: PlainJob, now: int) -> int:
        slot = self._next_slot(job, self._scheduler.commitments.members(job), now)
        return FOREVER if slot == FOREVER else slot - self._scheduler.duration(job)
