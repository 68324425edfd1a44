"""The slots of a scheduler's jobs (meet.md): a part that a scheduler holds, such as a `PlainScheduler`.

Nobody starts before their turn here, so jobs are not wanted. A booked job may start before its slot, at its turn; it
keeps its slot, also while it has nodes, until it starts. Nothing else starts that would run over a slot.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

from cosched.core.allocation import Allocation
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import Booked, Claimed, Quoted
from cosched.core.job import SlotMoves
from cosched.core.protocol import FOREVER, JobId
from cosched.core.scheduling.open_iteration import OpenIteration
from cosched.core.scheduling.plain_job import QUEUED, READY, RUNNING, PlainJob

SLOT, MOVES = "slot", "slot_moves"  # what is kept of a job


class Fit(Protocol):
    """When a job would start, and end, if it had a slot."""

    @property
    def at(self) -> int:
        """When it would start."""

    @property
    def end(self) -> int:
        """When it would end, as far as is known."""


class Holder(Protocol):
    """What slots ask of the scheduler that holds them."""

    nodes: int
    iteration: OpenIteration
    jobs: dict[JobId, PlainJob]
    busy: dict[JobId, PlainJob]  # those of them that have nodes

    def duration(self, job: PlainJob) -> int:
        """Return for how many seconds a job is expected to run."""

    def allocation(self, job: PlainJob) -> Allocation:
        """Return what it will have when it starts."""

    def can_start(self, job: PlainJob) -> bool:
        """Return whether a queued job can have its nodes now."""

    def make_ready_aside(self, job: PlainJob) -> Allocation:
        """Make a queued job ready, for whose answer no iteration waits."""


class Span(NamedTuple):
    """A time on counted nodes (Fit)."""

    at: int
    end: int


class Steps(NamedTuple):
    """How many nodes are free from which instants on; the first is now. `least`: the fewest up to then."""

    instants: list[int]
    free: list[int]
    least: list[int]


def forget_slot(job: PlainJob) -> None:
    """Note that nothing more is kept of a slot."""
    job.kept.pop(SLOT, None)
    job.kept.pop(MOVES, None)


class Slots:
    """Which jobs have slots, and where one fits: by counted nodes, beside what runs and is booked; none if off."""

    def __init__(self, scheduler: Holder) -> None:
        self._scheduler = scheduler
        self.booked: dict[JobId, PlainJob] = {}
        self._steps: Steps | None = None  # without those of any job; None: something has changed since
        self._as_of = 0  # the instant of these

    def renew(self) -> None:
        """Note that nodes were given or taken, or a slot has changed."""
        self._steps = None

    def want(self, job: JobId, wanted: bool) -> None:
        """See Meeting: nobody starts before their turn."""

    def end_turn(self, job: JobId) -> None:
        """See Meeting: no iteration waits at such turns."""

    # Jobs with slots

    def __contains__(self, job: PlainJob) -> bool:
        return job.asked.id in self.booked

    def submit(self, job: PlainJob) -> None:
        """Note that a job may have a slot from before a restart."""
        if SLOT in job.kept:
            self.booked[job.asked.id] = job

    def drop(self, job: PlainJob) -> None:
        """Note that the job has no slot any more."""
        if self.booked.pop(job.asked.id, None) is not None:
            forget_slot(job)
            self.renew()

    def quote(self, effect: Quote, now: int) -> Quoted:
        job = self._waiting(effect.job)
        fit = None if job is None else self._fit(job, max(effect.not_before, now), now)
        return Quoted(effect.job, None if fit is None else fit.at, effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked:
        at, job, allocation = max(effect.at, now), self._waiting(effect.job), None
        fit = None if job is None else self._fit(job, at, now)
        if job is not None and fit is not None and fit.at == at:
            job.kept[SLOT] = at
            job.kept.pop(MOVES, None)
            self.booked[effect.job] = job
            self._take(job, fit, now)
            self._changed(job, now)
            allocation = replace(self._scheduler.allocation(job), start=at, expected=fit.end)
        return Booked(effect.job, effect.at, effect.generation, allocation, effect.for_peer)

    def _waiting(self, job: JobId) -> PlainJob | None:
        known = self._scheduler.jobs.get(job)
        return known if known is not None and known.state in (QUEUED, READY) else None

    def move_slot(self, job: JobId, moves: SlotMoves) -> None:
        """See Meeting: a slot becomes an earlier one at the turn of its job, which it has unless NEVER."""
        if job in self.booked:
            self.booked[job].kept[MOVES] = int(moves)

    def unbook(self, job: JobId, now: int) -> None:
        if job in self.booked:
            known = self.booked[job]
            self.drop(known)
            self._changed(known, now)

    def _changed(self, job: PlainJob, now: int) -> None:  # noqa: ARG002
        """A slot was set, moved or dropped: an iteration is due, beside one that waits for this job's answer."""
        self.renew()
        self._scheduler.iteration.change_beside(job.asked.id)

    def claim(self, effect: Claim, now: int) -> Claimed:
        job, allocation = self.booked.get(effect.job), None
        if job is not None and job.state is QUEUED and job.kept[SLOT] <= now and self._is_free_for(job):
            allocation = self._scheduler.make_ready_aside(job)
        return Claimed(effect.job, allocation, effect.for_peer)

    # Turns, beside slots

    def has_turn(self, job: PlainJob, now: int) -> bool:
        """Return whether the job has its turn, though it may have a slot that must not move."""
        return job not in self or now >= job.kept[SLOT] or job.kept.get(MOVES) != SlotMoves.NEVER

    # What counts nodes: schedulers of other machines say this anew

    def _fit(self, job: PlainJob, not_before: int, now: int) -> Fit | None:
        """Return when a queued or ready job would start, if from then on; its own slot and nodes do not count."""
        seconds, steps = self._scheduler.duration(job), self._profile(now, {job.asked.id})
        at = not_before
        for instant, free in zip([*steps.instants[1:], FOREVER], steps.free, strict=True):
            if at >= instant:
                continue
            if free < job.size:  # up to that instant
                at = instant
            elif at + seconds <= instant:
                return Span(at, at + seconds)
        return None

    def _take(self, job: PlainJob, fit: Any, now: int) -> None:
        """Note that the job is to start there."""

    def _is_free_for(self, job: PlainJob) -> bool:
        return self._scheduler.can_start(job)

    def lets_start(self, job: PlainJob, now: int, givers: Collection[PlainJob] = ()) -> bool:
        """Return whether the job, for which nodes are there now, would run over no slot of another."""
        if not self.booked or (len(self.booked) == 1 and job.asked.id in self.booked):
            return True
        but = {other.asked.id for other in givers} | ({job.asked.id} & self.booked.keys())
        if but:
            steps = self._profile(now, but)
        else:
            if self._steps is None or self._as_of != now:
                self._steps, self._as_of = self._profile(now, but), now
            steps = self._steps
        until = bisect_left(steps.instants, now + self._scheduler.duration(job))
        return job.size <= steps.least[until - 1]

    def hold_limit(self, job: PlainJob, now: int) -> int:
        """Return until when a ready job may hold, and then start, without running over a slot of another."""
        if not self.booked:
            return FOREVER
        steps = self._profile(now, {job.asked.id})
        short = (at for at, free in zip(steps.instants, steps.free, strict=True) if at > now and free < job.size)
        first = next(short, FOREVER)
        return first if first == FOREVER else first - self._scheduler.duration(job)

    def _profile(self, now: int, but: Collection[JobId]) -> Steps:
        """Return the free nodes from now on, if some jobs had neither nodes nor slots.

        What has nodes gives them back when it is expected to, and not before the next second.
        """
        changes = {now: self._scheduler.nodes}
        for start, end, nodes in self._spans(now, but):
            changes[start] = changes.get(start, 0) - nodes
            changes[end] = changes.get(end, 0) + nodes
        instants = sorted(changes)
        free = list(accumulate(changes[at] for at in instants))
        return Steps(instants, free, list(accumulate(free, min)))

    def _spans(self, now: int, but: Collection[JobId]) -> Iterator[tuple[int, int, int]]:
        scheduler = self._scheduler
        for id, job in scheduler.busy.items():
            if id not in but:
                end = now if job.state is READY else job.expected
                more = 0 if job.state is RUNNING else scheduler.duration(job)
                yield now, min(max(end, now + 1) + more, FOREVER), job.size
        for id, job in self.booked.items():
            if id not in but:
                start = max(job.kept[SLOT], now)
                yield start, start + scheduler.duration(job), job.size
