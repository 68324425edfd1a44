"""Obvious schedulers for domains that are explored: a job is ready if it fits; where pairs meet, by a plan.

The plan is first-fit on a line of integer instants. Nobody is reserved, and answers come at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from cosched.core.allocation import NOT_NOW, Allocation, Refused
from cosched.core.effects import Book, Claim, Quote
from cosched.core.events import Booked, Claimed, MayBeEarlier, Quoted, Ready
from cosched.core.job import JobState, SlotMoves
from cosched.core.protocol import FOREVER
from tests.core.had import had

QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING


@dataclass
class LocalJob:
    """A job as its scheduler sees it; `requested`, `slot` and what follows are of plans."""

    name: str
    peer: str
    nodes: int
    run: int
    state: JobState = QUEUED
    passed_over: int = -1
    released: int = -1
    wanted_until: int = -1
    started: int | None = None
    requested: int = 0
    slot: int | None = None
    expected: int = 0  # when its nodes are expected back
    ends: int = 0
    early_at: int = -1  # the instant of its last early turn


class Machine:
    """Nodes, and jobs in order of submission: whoever fits is ready."""

    def __init__(self, nodes: int) -> None:
        self.free = nodes
        self.jobs: dict[str, LocalJob] = {}

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        """After a release wanted jobs come first and the released ones last (coscheduling.md)."""
        order = list(self.jobs.values())
        if any(job.released == now for job in order):
            order.sort(key=lambda job: 0 if now < job.wanted_until else 2 if job.released == now else 1)
        for job in order:
            if job.state is QUEUED and job.passed_over != now and job.nodes <= self.free:
                self.free -= job.nodes
                job.state = READY
                return Ready(job.name, Allocation(job.nodes), FOREVER)
        return None

    def start(self, job: str, now: int) -> Allocation:
        self._run(self.jobs[job], now)
        return Allocation(self.jobs[job].nodes)

    def _run(self, job: LocalJob, now: int) -> None:
        assert job.started is None, f"{job.name} starts twice"
        job.state, job.started = RUNNING, now

    def hold(self, job: str, now: int, until: int) -> None:  # noqa: ARG002
        self.jobs[job].state = HOLDING

    def ask_again(self, job: str) -> None:
        self.jobs[job].state = READY

    def pass_over(self, job: str, now: int, boost: float) -> None:  # noqa: ARG002
        self.jobs[job].passed_over = now
        self._free(self.jobs[job])

    def release(self, job: str, now: int) -> None:
        self.jobs[job].released = now
        self._free(self.jobs[job])

    def _free(self, job: LocalJob) -> None:
        job.state = QUEUED
        self.free += job.nodes

    def try_start(self, job: str, now: int, wanted_until: int, start_at: float | None = None) -> Allocation | Refused:  # noqa: ARG002
        tried = self.jobs[job]
        if tried.nodes > self.free:
            tried.wanted_until = wanted_until
            return NOT_NOW
        self.free -= tried.nodes
        return self.start(job, now)

    def reschedule(self, job: str | None = None) -> None:
        """It is asked for the next job after whatever happens."""

    def count_paired(self, job: str, paired: bool) -> None:
        """All are."""

    def leave(self, job: LocalJob, how: JobState) -> None:
        if job.state in (READY, HOLDING, RUNNING):
            self.free += job.nodes
        job.state = how


class Planner(Machine):
    """The same, where pairs have slots."""

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self.nodes = nodes
        self.turn: str | None = None
        self.wanted: set[str] = set()

    # The plan

    def earliest(self, job: LocalJob, after: int, now: int) -> int | None:
        """The first instant from then on at which the job fits, without its own nodes and slot."""
        taken = [span for other in self.jobs.values() if other is not job for span in self._span(other, now)]
        for at in sorted({max(after, now), *(end for _, end, _ in taken if end > max(after, now))}):
            if at < FOREVER and self._fits(job, at, taken):
                return at
        return None

    def _span(self, job: LocalJob, now: int) -> list[tuple[int, int, int]]:
        if job.state in (READY, RUNNING, HOLDING):
            return [(now, max(job.expected, now + 1), job.nodes)]
        if job.state is QUEUED and job.slot is not None:
            return [(max(job.slot, now), max(job.slot, now) + job.requested, job.nodes)]
        return []

    def _fits(self, job: LocalJob, at: int, taken: list[tuple[int, int, int]]) -> bool:
        instants = [at, *(start for start, _, _ in taken if at < start < at + job.requested)]
        used = max(sum(nodes for start, end, nodes in taken if start <= instant < end) for instant in instants)
        return used + job.nodes <= self.nodes

    # Who is next

    def next(self, now: int) -> Ready | MayBeEarlier | None:
        if self.turn is not None:
            return None
        for job in self.jobs.values():
            if job.state is not QUEUED or job.passed_over == now:
                continue
            earliest = self.earliest(job, now, now)
            if earliest == now and job.nodes <= self.free:
                self._take(job, now)
                job.state = READY
                return Ready(job.name, Allocation(job.nodes), FOREVER)
            if job.slot is not None and earliest is not None and earliest < job.slot and job.early_at != now:
                job.early_at, self.turn = now, job.name
                return MayBeEarlier(job.name)
        return None

    def _take(self, job: LocalJob, now: int) -> None:
        self.free -= job.nodes
        job.expected = now + job.requested

    def _run(self, job: LocalJob, now: int) -> None:
        super()._run(job, now)
        job.slot, job.ends = None, now + job.run
        if job.ends > job.expected:  # its RunJob took longer than it has to spare
            job.expected = now + job.requested

    def hold(self, job: str, now: int, until: int) -> None:
        super().hold(job, now, until)
        self.jobs[job].expected = until + self.jobs[job].requested

    def try_start(self, job: str, now: int, wanted_until: int, start_at: float | None = None) -> Allocation | Refused:  # noqa: ARG002
        tried = self.jobs[job]
        if not self._fits_now(tried, now):
            return NOT_NOW
        self._take(tried, now)
        return self.start(job, now)

    def _fits_now(self, job: LocalJob, now: int) -> bool:
        return self.earliest(job, now, now) == now and job.nodes <= self.free

    def leave(self, job: LocalJob, how: JobState) -> None:
        super().leave(job, how)
        job.slot = None
        self.end_turn(job.name)

    # Slots

    def try_ready(self, job: str, now: int) -> Allocation | Refused:
        tried = self.jobs[job]
        if not self._fits_now(tried, now):
            return NOT_NOW
        self._take(tried, now)
        tried.state = READY
        self.end_turn(job)
        return Allocation(tried.nodes)

    def give_back(self, job: str, now: int) -> None:  # noqa: ARG002
        self._free(self.jobs[job])

    def want_until(self, job: str, until: int) -> None:
        """Nobody who has a slot holds."""

    def want(self, job: str, wanted: bool) -> None:
        (self.wanted.add if wanted else self.wanted.discard)(job)

    def end_turn(self, job: str) -> None:
        if self.turn == job:
            self.turn = None

    def move_slot(self, job: str, moves: SlotMoves) -> None:
        """No pair has windows."""

    def unbook(self, job: str, now: int) -> None:  # noqa: ARG002
        self.jobs[job].slot = None

    def quote(self, effect: Quote, now: int) -> Quoted:
        job = self.jobs[effect.job]
        at = self.earliest(job, effect.not_before, now) if job.state in (QUEUED, READY) else None
        return Quoted(job.name, at, effect.for_peer)

    def book(self, effect: Book, now: int) -> Booked:
        job, at = self.jobs[effect.job], max(effect.at, now)
        booked = job.state in (QUEUED, READY) and self.earliest(job, at, now) == at
        if booked:
            job.slot = at
        return Booked(job.name, at, effect.generation, had(booked), effect.for_peer)

    def claim(self, effect: Claim, now: int) -> Claimed:
        job = self.jobs[effect.job]
        claimed = job.state is QUEUED and job.slot is not None and job.slot <= now and job.nodes <= self.free
        if claimed:
            self._take(job, now)
            job.state = READY
            self.end_turn(job.name)
        return Claimed(job.name, had(claimed), effect.for_peer)
