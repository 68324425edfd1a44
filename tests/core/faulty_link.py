"""A fault simulation of the coscheduling core: policy domains on a virtual clock and a link that loses messages.

Every delivery of a message is delayed at random (so messages overtake each other), may be dropped (the caller's call
times out) and may be delivered twice, the second time perhaps much later; links may be cut for a while (calls fail
before they go out). One seed reproduces one history. From `faults_end` on the link only delays, by less than a call's
deadline.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from cosched.core.coscheduling import Coscheduler
from cosched.core.effects import (
    Answer,
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
    CallFailed,
    Event,
    Finished,
    PatienceOver,
    Ready,
    ReleaseDue,
    RetryDue,
    Submitted,
    Tried,
)
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, Failure, Reply, Request
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme

NODES = 10
DEADLINE = 20  # of a call, in ticks of the virtual clock
LATENCY = 6  # the longest delay of a message that is not late
LATE = 120  # the longest delay of one that is
POLL = 50  # a domain looks at its queue at least that often


@dataclass
class Faults:
    """How often what goes wrong, until when."""

    drop: float
    late: float
    twice: float
    cuts: list[tuple[int, int]]
    end: int


@dataclass
class LocalJob:
    """A job of the trivial local scheduler: it fits or not."""

    name: str
    nodes: int
    run: int
    state: JobState = JobState.QUEUED
    passed_over: int = -1
    released: int = -1
    wanted_until: int = -1
    started: int | None = None


@dataclass
class Cause:
    """Why a job started: its record, the call whose answer it was (made), or the call of its mate (asked)."""

    why: str
    made: str | None = None
    asked: str | None = None


@dataclass
class Node:
    """One policy domain: the core and a first-fit scheduler."""

    core: Coscheduler
    jobs: dict[str, LocalJob] = field(default_factory=dict)
    timers: dict[tuple[str, Timer], int] = field(default_factory=dict)
    free: int = NODES
    scanning: bool = False


class World:
    """A history, drawn from a seed; `run` it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self.causes: dict[str, Cause] = {}
        self.lost: set[str] = set()  # jobs one of whose calls failed, or was lost on its way
        self.pairs: list[tuple[str, str]] = []
        self._event: tuple[str, Event] | None = None  # what is handled at present
        self._why: dict[str, str] = {}
        self.faults = self._draw_faults()
        names = "ABC"[: self.random.choice([2, 2, 3])]
        self.nodes = {name: Node(Coscheduler(name, NODES, self._draw_settings())) for name in names}
        for number in range(self.random.randint(2, 4)):
            self._draw_pair(number)
        for name in self.nodes:
            self._poll(name)

    # What is drawn

    def _draw_faults(self) -> Faults:
        pick = self.random.choice
        end = 600
        cuts = [(start, start + self.random.randint(5, 200)) for start in self.random.sample(range(end), pick([0, 0, 2]))]
        return Faults(pick([0, 0.05, 0.3]), pick([0, 0.1]), pick([0, 0.1, 0.5]), cuts, end)

    def _draw_settings(self) -> CoschedulingSettings:
        pick = self.random.choice
        return CoschedulingSettings(
            scheme=pick([Scheme.HOLD, Scheme.YIELD]),
            release_interval=pick([60, 150]),
            max_held_fraction=pick([Decimal("0.6"), Decimal(1)]),
            max_yields=pick([0, 3]),
            on_peer_unreachable=pick(list(OnUnreachable)),
            peer_patience=pick([0, 50, 100]),
            retry_interval=pick([1, 10]),
        )

    def _draw_pair(self, number: int) -> None:
        sides = self.random.sample(sorted(self.nodes), 2)
        names = [f"{side.lower()}{number}" for side in sides]
        self.pairs.append((names[0], names[1]))
        for side, name, peer in zip(sides, names, reversed(sides), strict=True):
            job = LocalJob(name, self.random.randint(1, 7), self.random.randint(5, 90))
            at = self.random.randrange(300)
            self._at(at, lambda side=side, job=job, peer=peer: self._submit(side, job, peer, f"pair{number}"))

    # The clock

    def _at(self, instant: int, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (instant, self._sequence, action))

    def run(self, until: int) -> None:
        while self._queue and self._queue[0][0] <= until and not self.finished():
            self.now, _, action = heapq.heappop(self._queue)
            action()

    def finished(self) -> bool:
        """All jobs have started."""
        return len(self.causes) == 2 * len(self.pairs)

    # The local scheduler

    def _submit(self, name: str, job: LocalJob, peer: str, pair: str) -> None:
        self.nodes[name].jobs[job.name] = job
        self._feed(name, Submitted(job.name, peer, pair))
        self._scan(name)

    def _poll(self, name: str) -> None:
        self._scan(name)
        self._at(self.now + POLL, lambda: self._poll(name))

    def _scan(self, name: str) -> None:
        """Offer what fits: wanted jobs first and released ones last in the instant of a release (coscheduling.md)."""
        node = self.nodes[name]
        if node.scanning:
            return
        node.scanning = True
        queued = [job for job in node.jobs.values() if job.state is JobState.QUEUED and job.passed_over != self.now]
        if any(job.released == self.now for job in node.jobs.values()):
            queued.sort(key=self._rank)
        for job in queued:
            if job.state is JobState.QUEUED and job.nodes <= node.free:
                node.free -= job.nodes
                job.state = JobState.READY
                self._feed(name, Ready(job.name, job.nodes, FOREVER))
        node.scanning = False

    def _rank(self, job: LocalJob) -> int:
        return 0 if self.now < job.wanted_until else 2 if job.released == self.now else 1

    def _begin(self, name: str, job: LocalJob) -> None:
        assert job.started is None, f"{job.name} starts twice"
        job.state, job.started = JobState.RUNNING, self.now
        self.causes[job.name] = self._cause(job.name)
        self._at(self.now + job.run, lambda: self._end(name, job))

    def _end(self, name: str, job: LocalJob) -> None:
        job.state = JobState.COMPLETED
        self.nodes[name].free += job.nodes
        self._feed(name, Finished(job.name, JobState.COMPLETED))
        self._scan(name)

    def _cause(self, job: str) -> Cause:
        event = self._event[1]
        cause = Cause(self._why.get(job, ""))
        if type(event) is Answered:
            cause.made = getattr(event.request, "request_id", None)
        elif type(event) is Asked:
            cause.asked = event.request.request_id
        return cause

    # Events in, effects out

    def _feed(self, name: str, event: Event) -> None:
        outer = self._event
        if type(event) is not Tried:  # the cause is the request that led to it
            self._event = name, event
        for effect in self.nodes[name].core.handle(event, self.now):
            CARRY_OUT[type(effect)](self, name, effect)
        self._event = outer
        held = sum(j.nodes for j in self.nodes[name].jobs.values() if j.state is JobState.HOLDING)
        assert held == self.nodes[name].core.held_nodes <= self.nodes[name].core._cap
        assert self.nodes[name].free >= 0

    def _job(self, name: str, job: str) -> LocalJob:
        return self.nodes[name].jobs[job]

    def _start(self, name: str, effect: Start) -> None:
        self._begin(name, self._job(name, effect.job))

    def _hold(self, name: str, effect: Hold) -> None:
        self._job(name, effect.job).state = JobState.HOLDING

    def _yield(self, name: str, effect: Yield) -> None:
        job = self._job(name, effect.job)
        job.state, job.passed_over = JobState.QUEUED, self.now
        self.nodes[name].free += job.nodes
        self._scan(name)

    def _release(self, name: str, effect: Release) -> None:
        job = self._job(name, effect.job)
        job.state, job.released = JobState.QUEUED, self.now
        self.nodes[name].free += job.nodes
        self._scan(name)

    def _try(self, name: str, effect: Try) -> None:
        job, node = self._job(name, effect.job), self.nodes[name]
        fits = job.nodes <= node.free
        if fits:
            node.free -= job.nodes
            self._why[job.name] = "asked"
            self._begin(name, job)
        else:
            job.wanted_until = effect.wanted_until
        self._feed(name, Tried(effect.job, fits))

    def _reschedule(self, name: str, effect: Reschedule) -> None:  # noqa: ARG002
        self._scan(name)

    def _record(self, name: str, effect: Record) -> None:  # noqa: ARG002
        if effect.what == "started":
            self._why[effect.job] = str(effect.detail["why"])

    def _set_timer(self, name: str, effect: SetTimer) -> None:
        key = effect.job, effect.timer
        self.nodes[name].timers[key] = effect.at
        self._at(effect.at, lambda: self._fire(name, key, effect.at))

    def _clear_timer(self, name: str, effect: ClearTimer) -> None:
        self.nodes[name].timers.pop((effect.job, effect.timer), None)

    def _fire(self, name: str, key: tuple[str, Timer], at: int) -> None:
        if self.nodes[name].timers.get(key) == at:
            del self.nodes[name].timers[key]
            self._feed(name, TIMER_EVENTS[key[1]](key[0]))

    # The link

    def _call(self, name: str, effect: Call) -> None:
        attempt = Attempt(name, effect)
        if self._is_cut():
            self._at(self.now + 1, lambda: self._fail(attempt, Failure.UNREACHABLE))
            return
        self._at(self.now + DEADLINE, lambda: self._fail(attempt, Failure.TIMEOUT))
        self._send(attempt, lambda: self._deliver(attempt))

    def _deliver(self, attempt: Attempt) -> None:
        self._feed(attempt.call.peer, Asked(attempt.caller, attempt.call.request))

    def _answer(self, name: str, effect: Answer) -> None:
        self._send(Attempt(name, effect), lambda: self._reply(effect))

    def _reply(self, effect: Answer) -> None:
        job = effect.request.caller
        self.answered.add((job, effect.request))
        self._feed(effect.peer, Answered(job, effect.request, effect.answer))

    def _fail(self, attempt: Attempt, failure: Failure) -> None:
        job = attempt.call.job
        if failure is Failure.TIMEOUT and (job, attempt.call.request) in self.answered:
            return
        self.lost.add(job)
        self._feed(attempt.caller, CallFailed(job, attempt.call.request, failure))
        self._scan(attempt.caller)
