"""A trivial local scheduler in a `PolicyDomain`, for the fault simulation: a job starts if it fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.core.allocation import NOT_NOW, Allocation, Refused
from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.domain import Change, PolicyDomain
from cosched.core.effects import Answer, Call, ClearTimer, Record, SetTimer, Start, Timer
from cosched.core.events import Answered, Asked, Event, Finished, Ready, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.core.story import What, Why
from cosched.core.timers import TIMER_EVENTS

if TYPE_CHECKING:
    from .slot_world import SlotWorld


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
    why: Why | None = None
    exchange: str = ""  # the id of the request, made or received, that its start came with


class Machine:
    """Nodes, and jobs in order of submission: whoever fits is ready."""

    def __init__(self, nodes: int) -> None:
        self.free = nodes
        self.jobs: dict[str, LocalJob] = {}
        self.due = False  # an iteration is to be run

    def next(self, now: int) -> Ready | None:
        """After a release wanted jobs come first and the released ones last (coscheduling.md)."""
        order = list(self.jobs.values())
        if any(job.released == now for job in order):
            order.sort(key=lambda job: 0 if now < job.wanted_until else 2 if job.released == now else 1)
        for job in order:
            if job.state is JobState.QUEUED and job.passed_over != now and job.nodes <= self.free:
                self.free -= job.nodes
                job.state = JobState.READY
                return Ready(job.name, Allocation(job.nodes), FOREVER)
        return None

    def start(self, job: str, now: int) -> Allocation:
        self._run(self.jobs[job], now)
        return Allocation(self.jobs[job].nodes)

    def _run(self, job: LocalJob, now: int) -> None:
        assert job.started is None, f"{job.name} starts twice"
        job.state, job.started = JobState.RUNNING, now

    def hold(self, job: str, now: int, until: int) -> None:  # noqa: ARG002
        self.jobs[job].state = JobState.HOLDING

    def ask_again(self, job: str) -> None:
        self.jobs[job].state = JobState.READY

    def pass_over(self, job: str, now: int, boost: float) -> None:  # noqa: ARG002
        self.jobs[job].passed_over = now
        self._free(self.jobs[job])

    def release(self, job: str, now: int) -> None:
        self.jobs[job].released = now
        self._free(self.jobs[job])

    def _free(self, job: LocalJob) -> None:
        job.state = JobState.QUEUED
        self.free += job.nodes
        self.due = True

    def try_start(self, job: str, now: int, wanted_until: int, start_at: float | None = None) -> Allocation | Refused:  # noqa: ARG002
        tried = self.jobs[job]
        if tried.nodes > self.free:
            tried.wanted_until = wanted_until
            return NOT_NOW
        self.free -= tried.nodes
        return self.start(job, now)

    def reschedule(self, job: str | None = None) -> None:  # noqa: ARG002
        self.due = True

    def count_paired(self, job: str, paired: bool) -> None:
        """All are."""

    def leave(self, job: LocalJob, how: JobState) -> None:
        if job.state in (JobState.READY, JobState.HOLDING, JobState.RUNNING):
            self.free += job.nodes
        job.state = how


class FirstFit:
    """One policy domain in a world."""

    def __init__(self, core: Coscheduler, world: SlotWorld) -> None:
        self.core = core
        self.world = world
        self.machine = Machine(core.ledger.nodes)
        self.domain = PolicyDomain(core, self.machine, timers=self)
        self.jobs = self.machine.jobs
        self._timers: dict[tuple[str, Timer], int] = {}

    # What the world does

    def submit(self, job: LocalJob, event: Submitted) -> None:
        self.jobs[job.name] = job
        self.feed(event)
        self.scan()

    def finish(self, job: LocalJob, event: Finished) -> None:
        self.machine.leave(job, event.how)
        self.feed(event)
        self.scan()

    def scan(self) -> None:
        """Let the scheduler go on."""
        self._do_all(self.domain.schedule(self.world.now))

    def feed(self, event: Event) -> None:
        """One event for the domain, and what it wants done."""
        exchange = getattr(event.request, "request_id", "") if type(event) in (Asked, Answered) else ""
        self._do_all(self.domain.handle(event, self.world.now), exchange)

    def _do_all(self, changes: list[Change], exchange: str = "") -> None:
        for change in changes:
            self._do(change, exchange)
        if self.machine.due:
            self.machine.due = False
            self.world.at(self.world.now, self.scan)
        self._check()

    def _check(self) -> None:
        by_core = self.core.jobs
        assert all(by_core[job.name].state is job.state for job in self.jobs.values())
        with_nodes = [job for job in self.jobs.values() if job.state in (2, 3, 4)]
        assert self.machine.free == self.core.ledger.nodes - sum(job.nodes for job in with_nodes) >= 0
        held = sum(job.nodes for job in with_nodes if job.state is JobState.HOLDING)
        assert held == self.core.ledger.held_nodes <= int(self.core.settings.max_held_fraction * self.core.ledger.nodes)

    # What it wants done

    def _do(self, change: Change, exchange: str) -> None:
        if type(change) is Start:
            self._launch(self.jobs[change.job], exchange)
        elif type(change) is Record and change.what is What.STARTED:
            self.jobs[change.job].why = change.why
        elif type(change) is Call:
            self.world.call(self.core.ledger.domain, change)
        elif type(change) is Answer:
            self.world.answer(change)

    def _launch(self, job: LocalJob, exchange: str) -> None:
        job.exchange = exchange
        end = Finished(job.name, JobState.COMPLETED)
        self.world.at(self.world.now + job.run, lambda: job.state.final or self.finish(job, end))

    def set(self, _: str, timer: SetTimer) -> None:
        key = timer.job, timer.timer
        self._timers[key] = timer.at
        self.world.at(timer.at, lambda: self._fire(key, timer.at))

    def clear(self, _: str, timer: ClearTimer) -> None:
        self._timers.pop((timer.job, timer.timer), None)

    def _fire(self, key: tuple[str, Timer], at: int) -> None:
        if self._timers.get(key) == at:
            del self._timers[key]
            self.feed(TIMER_EVENTS[key[1]](key[0]))
