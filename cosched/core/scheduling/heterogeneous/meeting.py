"""A heterogeneous domain whose jobs have slots: a `core.scheduling.scheduler.MeetingScheduler` (docs/heterogeneous.md).

Nobody starts before their turn here, so jobs are not wanted. A booked job may start before its slot, at its turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cosched.core.allocation import Allocation
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import NOT_HOLDABLE, Booked, Claimed, Quoted
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.heterogeneous.calls import CANNOT, Ints
from cosched.core.scheduling.heterogeneous.plan import Commitment
from cosched.core.scheduling.heterogeneous.scheduler import Heterogeneous
from cosched.core.scheduling.heterogeneous.settings import HeterogeneousSettings
from cosched.core.scheduling.plain import HOLDING, QUEUED, READY, PlainJob
from cosched.core.scheduling.scheduler import ClusterJob

SLOT, MOVES = "slot", "slot_moves"  # what is kept of a job


def heterogeneous(settings: HeterogeneousSettings) -> Heterogeneous:
    """Return the scheduler with these settings."""
    return (HeterogeneousMeeting if settings.slots else Heterogeneous)(settings)


class _Fit(NamedTuple):
    """Where a job could have a slot; the smallest is the best. `keeps_place`: as its commitment is planned anyway."""

    end: int
    place: int  # of the resource in the order in which they are tried
    at: int
    keeps_place: bool
    resource: int


class HeterogeneousMeeting(Heterogeneous):
    """Queues, commitments and slots. A booked job is of medium priority; nothing starts that would run over a slot."""

    keeps = Heterogeneous.keeps | {SLOT, MOVES}

    def __init__(self, settings: HeterogeneousSettings) -> None:
        super().__init__(settings)
        self._booked: set[JobId] = set()  # jobs with a slot

    def submit(self, job: ClusterJob) -> None:
        """See Committing."""
        super().submit(job)
        if SLOT in job.kept:
            self._commitment(self.jobs[job.id]).slot = job.kept[SLOT]
            self._booked.add(job.id)

    def leave(self, job: JobId, now: int, how: JobState) -> None:
        """See Committing."""
        super().leave(job, now, how)
        self._booked.discard(job)

    # Slots

    def want(self, job: JobId, wanted: bool) -> None:
        """See MeetingScheduler: nobody starts before their turn."""

    def quote(self, effect: Quote, now: int) -> Quoted:
        """See MeetingScheduler: where the job would end first, behind what is committed, or at its own place there."""
        fit = self._best_fit(effect.job, max(effect.not_before, now), now)
        return Quoted(effect.job, None if fit is None else fit.at, effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked:
        """See MeetingScheduler."""
        at = max(effect.at, now)
        fit, allocation = self._best_fit(effect.job, at, now), None
        if fit is not None and fit.at == at:
            job = self.jobs[effect.job]
            self._commit_to(job, fit, now)
            job.kept[SLOT] = self._commitment(job).slot = at
            job.kept.pop(MOVES, None)
            self._booked.add(effect.job)
            self._set_back.discard(effect.job)
            self._slot_changed(job, now)
            allocation = replace(self._allocation(job), start=at, expected=fit.end)
        return Booked(effect.job, effect.at, effect.generation, allocation, effect.for_peer)

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        """See MeetingScheduler: a slot becomes an earlier one at the turn of its job, which it has unless NEVER."""
        if job in self._booked:
            self.jobs[job].kept[MOVES] = int(moves)

    def unbook(self, job: JobId, now: int) -> None:
        """See MeetingScheduler. The job stays committed where its slot was."""
        if job in self._booked:
            self._drop_slot(self.jobs[job])
            self._note_set_back(self.jobs[job])
            self._slot_changed(self.jobs[job], now)

    def claim(self, effect: Claim, now: int) -> Claimed:
        """See MeetingScheduler."""
        job = self.jobs.get(effect.job)
        if job is None or job.state is not QUEUED or now < job.kept.get(SLOT, FOREVER) or not self._is_free_for(job):
            return Claimed(effect.job, None, effect.for_peer)
        self._interrupt()
        job.size = len(self._members(job))
        ready = self._make_ready(job)
        self._offered = None
        return Claimed(effect.job, ready.allocation, effect.for_peer)

    def end_turn(self, job: JobId) -> None:
        """See MeetingScheduler: no iteration waits at such turns."""

    def _is_free_for(self, job: PlainJob) -> bool:
        self._asked = job.asked.id  # by its slot
        having = (of for machine in self._members(job) for of in self._plan.having(machine))
        is_free = all(self._gives_way(of, job) for of in having) and self._are_left(job)
        self._asked = None
        return is_free

    def _drop_slot(self, job: PlainJob) -> None:
        job.kept.pop(SLOT, None)
        job.kept.pop(MOVES, None)
        self._commitment(job).slot = 0
        self._booked.discard(job.asked.id)

    def _slot_changed(self, job: PlainJob, now: int) -> None:
        """A slot was set, moved or dropped: an iteration is due, beside one that waits for this job's answer."""
        self._plan.loose = True
        self._settle(job, now)
        self._have_changed[job.asked.id] = None
        if self._offered != job.asked.id:
            self._interrupt()
        self._changed = True

    # Where a slot fits

    def _best_fit(self, id: JobId, not_before: int, now: int) -> _Fit | None:
        """Where a queued or ready job would end first, if it started from then on; its own slot does not count."""
        job = self.jobs.get(id)
        if job is None or job.state not in (QUEUED, READY):
            return None
        own, slot = self._plan.of(id), 0
        if own is not None:
            slot, own.slot = own.slot, 0
        self._plan.compact(now)
        found = min(self._fits(job, own, not_before, now), default=None)
        if own is not None and slot:
            own.slot = slot
            self._plan.loose = True
        return found

    def _fits(self, job: PlainJob, own: Commitment | None, not_before: int, now: int) -> Iterator[_Fit]:
        free = self._free_beside(job, now)
        for place, resource in enumerate(self._resources.order(set())):
            is_own = own is not None and own.resource == resource
            seconds = own.seconds if own is not None and is_own else self._seconds(job, resource)
            if seconds >= CANNOT or (job.state is READY and not is_own):
                continue
            members = self._resources.members[resource]
            at = max(not_before, *(int(free[machine]) for machine in members))
            if own is not None and is_own and not_before <= own.start and self._keeps_slots(members, own):
                yield _Fit(own.start + seconds, place, own.start, True, resource)
            else:
                yield _Fit(at + seconds, place, at, False, resource)

    def _free_beside(self, job: PlainJob, now: int) -> Ints:
        """Return when each machine is available but for this job. A job that holds may start at the end of its hold."""
        free = np.full(self._resources.machines, now, np.int64)
        for commitment in self._plan:
            if commitment.job != job.asked.id:
                holds = self.jobs[commitment.job].state is HOLDING
                until = commitment.until + commitment.seconds * holds
                for machine in self._plan.members(commitment):
                    free[machine] = max(free[machine], until)
        return free

    def _keeps_slots(self, members: Sequence[int], own: Commitment) -> bool:
        """Return whether the commitment, as it is planned, is in nobody's slot."""
        return all(own.end <= of.slot or of.until <= own.start for of in self._booked_on(members, own.job))

    def _commit_to(self, job: PlainJob, fit: _Fit, now: int) -> None:
        """Let the job's commitment be where the slot fits, behind all others unless it keeps its place."""
        own = self._plan.of(job.asked.id)
        self._homes.pop(job.asked.id, None)
        if fit.keeps_place:
            return
        self._ordered += 1
        if own is not None and own.resource == fit.resource:
            self._plan.reorder(own, self._ordered)
        else:
            self._forget(job.asked.id, now)
            self._plan.add(Commitment(job.asked.id, fit.resource, fit.end - fit.at, self._ordered, fit.at, fit.end))

    # Turns, beside slots

    def _booked_on(self, members: Sequence[int], but: JobId) -> Iterator[Commitment]:
        """Return the commitments with slots on these machines."""
        for machine in members if self._booked else ():
            yield from (of for of in self._plan.lines[machine] if of.slot and of.job != but)

    def _next_slot(self, members: Sequence[int], but: JobId) -> int:
        """Return the first slot on these machines that is not past; FOREVER: none is."""
        slots = (of.slot for of in self._booked_on(members, but) if of.slot >= self._now)
        return min(slots, default=FOREVER)

    def _begin(self, now: int) -> None:
        super()._begin(now)
        for id in self._booked:  # what it kept from starting may start now
            self._touched.update(self._members(self.jobs[id]))

    def _has_turn(self, job: PlainJob, now: int) -> bool:
        waits = now < job.kept.get(SLOT, 0) and job.kept.get(MOVES) == SlotMoves.NEVER
        return not waits and super()._has_turn(job, now)

    def _may_start(self, id: JobId, members: Sequence[int], seconds: int, now: int) -> bool:
        return now + seconds <= self._next_slot(members, id)

    def _free_for(self, job: PlainJob, now: int) -> int | None:
        found = super()._free_for(job, now)
        return found if SLOT not in job.kept or found == self._commitment(job).resource else None

    def _hold_limit(self, job: PlainJob) -> int:
        limit = super()._hold_limit(job)
        slot = self._next_slot(self._members(job), job.asked.id)
        return limit if limit == NOT_HOLDABLE or slot == FOREVER else slot - self._duration(job)

    def _is_low(self, job: PlainJob) -> bool:
        return SLOT not in job.kept and super()._is_low(job)

    def _to_queue(self, job: PlainJob, now: int) -> None:
        if SLOT not in job.kept:
            super()._to_queue(job, now)

    def _note_set_back(self, job: PlainJob) -> None:
        if SLOT not in job.kept:
            super()._note_set_back(job)

    def _run(self, job: PlainJob, now: int) -> Allocation:
        self._drop_slot(job)
        return super()._run(job, now)
