"""A trivial local scheduler around a `Coscheduler`, for the fault simulation: a job starts if it fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import (
    Answer,
    AskAgain,
    Call,
    ClearTimer,
    Effect,
    Hold,
    Record,
    Release,
    Reschedule,
    SetTimer,
    Start,
    Timer,
    Try,
    Yield,
)
from cosched.core.events import (
    Answered,
    Asked,
    Event,
    Finished,
    GraceOver,
    PatienceOver,
    Ready,
    ReleaseDue,
    RetryDue,
    Submitted,
    Tried,
)
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER

if TYPE_CHECKING:
    from .faulty_link import World

TIMER_EVENTS = {
    Timer.RELEASE: ReleaseDue,
    Timer.PATIENCE: PatienceOver,
    Timer.RETRY: RetryDue,
    Timer.GRACE: GraceOver,
}


@dataclass
class LocalJob:
    """A job as the local scheduler sees it, and why it started."""

    name: str
    peer: str
    nodes: int
    run: int
    state: JobState = JobState.QUEUED
    passed_over: int = -1
    released: int = -1
    wanted_until: int = -1
    started: int | None = None
    why: str = ""  # the record's reason
    exchange: str = ""  # the id of the request, made or received, that its start came with


class FirstFit:
    """One policy domain; jobs are offered in order of submission, whoever fits."""

    def __init__(self, core: Coscheduler, world: World) -> None:
        self.core = core
        self.world = world
        self.free = core.ledger.nodes
        self.jobs: dict[str, LocalJob] = {}
        self._timers: dict[tuple[str, Timer], int] = {}
        self._scanning = False
        self._event: Event | None = None

    # What the world does

    def submit(self, job: LocalJob, event: Submitted) -> None:
        self.jobs[job.name] = job
        self.feed(event)
        self.scan()

    def finish(self, job: LocalJob, event: Finished) -> None:
        if job.state in (JobState.READY, JobState.HOLDING, JobState.RUNNING):
            self.free += job.nodes
        job.state = event.how
        self.feed(event)
        self.scan()

    def scan(self) -> None:
        """Offer what fits; after a release wanted jobs come first and the released ones last (coscheduling.md)."""
        if self._scanning:
            return
        self._scanning, now = True, self.world.now
        order = list(self.jobs.values())
        if any(job.released == now for job in order):
            order.sort(key=lambda job: 0 if now < job.wanted_until else 2 if job.released == now else 1)
        for job in order:
            if job.state is JobState.QUEUED and job.passed_over != now and job.nodes <= self.free:
                self.free -= job.nodes
                job.state = JobState.READY
                self.feed(Ready(job.name, job.nodes, FOREVER))
        self._scanning = False

    def feed(self, event: Event) -> None:
        """One event for the core, and its effects."""
        outer, self._event = self._event, event
        for effect in self.core.handle(event, self.world.now):
            CARRY_OUT[type(effect)](self, effect)
        self._event = outer
        self._check()

    def _check(self) -> None:
        by_core = self.core.jobs
        assert all(by_core[job.name].state is job.state for job in self.jobs.values())
        with_nodes = [job for job in self.jobs.values() if job.state in (2, 3, 4)]
        assert self.free == self.core.ledger.nodes - sum(job.nodes for job in with_nodes) >= 0
        held = sum(job.nodes for job in with_nodes if job.state is JobState.HOLDING)
        assert held == self.core.ledger.held_nodes <= int(self.core.settings.max_held_fraction * self.core.ledger.nodes)

    # Effects

    def _start(self, effect: Start) -> None:
        self._begin(self.jobs[effect.job])

    def _begin(self, job: LocalJob) -> None:
        assert job.started is None, f"{job.name} starts twice"
        job.state, job.started = JobState.RUNNING, self.world.now
        if type(self._event) in (Asked, Answered):
            job.exchange = getattr(self._event.request, "request_id", "")
        end = Finished(job.name, JobState.COMPLETED)
        self.world.at(self.world.now + job.run, lambda: job.state.final or self.finish(job, end))

    def _hold(self, effect: Hold) -> None:
        self.jobs[effect.job].state = JobState.HOLDING

    def _ask_again(self, effect: AskAgain) -> None:
        self.jobs[effect.job].state = JobState.READY

    def _yield(self, effect: Yield) -> None:
        job = self.jobs[effect.job]
        job.passed_over = self.world.now
        self._free(job)

    def _release(self, effect: Release) -> None:
        job = self.jobs[effect.job]
        job.released = self.world.now
        self._free(job)

    def _free(self, job: LocalJob) -> None:
        job.state = JobState.QUEUED
        self.free += job.nodes
        self.world.at(self.world.now, self.scan)

    def _try(self, effect: Try) -> None:
        job = self.jobs[effect.job]
        fits = job.nodes <= self.free
        if fits:
            self.free -= job.nodes
            self._begin(job)
        else:
            job.wanted_until = effect.wanted_until
        for told in self.core.handle(Tried(effect.job, fits), self.world.now):
            CARRY_OUT[type(told)](self, told)

    def _reschedule(self, effect: Reschedule) -> None:  # noqa: ARG002
        self.world.at(self.world.now, self.scan)

    def _record(self, effect: Record) -> None:
        if effect.what == "started":
            self.jobs[effect.job].why = str(effect.detail["why"])

    def _call(self, effect: Call) -> None:
        self.world.call(self.core.ledger.domain, effect)

    def _answer(self, effect: Answer) -> None:
        self.world.answer(effect)

    def _set_timer(self, effect: SetTimer) -> None:
        key = effect.job, effect.timer
        self._timers[key] = effect.at
        self.world.at(effect.at, lambda: self._fire(key, effect.at))

    def _clear_timer(self, effect: ClearTimer) -> None:
        self._timers.pop((effect.job, effect.timer), None)

    def _fire(self, key: tuple[str, Timer], at: int) -> None:
        if self._timers.get(key) == at:
            del self._timers[key]
            self.feed(TIMER_EVENTS[key[1]](key[0]))


CARRY_OUT: dict[type, Callable[[FirstFit, Effect], None]] = {
    Start: FirstFit._start,
    Hold: FirstFit._hold,
    Yield: FirstFit._yield,
    Release: FirstFit._release,
    AskAgain: FirstFit._ask_again,
    Try: FirstFit._try,
    Reschedule: FirstFit._reschedule,
    Record: FirstFit._record,
    Call: FirstFit._call,
    Answer: FirstFit._answer,
    SetTimer: FirstFit._set_timer,
    ClearTimer: FirstFit._clear_timer,
}
