"""A fault simulation of the coscheduling core: policy domains on a virtual clock and a link that loses messages.

Every message is delayed at random, so that messages overtake each other; it may be late (the call has timed out by
then), dropped (the call times out), or delivered twice, the second time perhaps much later. Links are cut for a while:
calls fail before they go out. Answers to mutating calls are delivered though the call has timed out, or twice; those to
questions, which have no id, are dropped then, as a real link does. One seed reproduces one history. From `faults.end`
on messages are only delayed, and arrive before the deadline.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call
from cosched.core.events import Answered, Asked, CallFailed, Finished, Submitted
from cosched.core.job import JobState
from cosched.core.protocol import Failure, GetMateJobId, GetMateStatus, MateName, Reply
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme

from .first_fit import FirstFit, LocalJob

DEADLINE = 20  # of a call, in ticks of the virtual clock
DELAY = 9  # the longest delay of a message that is not late: an answer comes before the deadline
LATE = 200  # the longest delay of one that is
MAX_PATIENCE = 100  # with a peer
MAX_GRACE = 300  # of one
POLL = 50  # a domain looks at its queue at least that often


@dataclass(frozen=True)
class Faults:
    """How often what goes wrong, and until when."""

    drop: float
    late: float
    twice: float
    cuts: tuple[tuple[int, int], ...]
    end: int

    def cut(self, now: int) -> bool:
        return any(start <= now < end for start, end in self.cuts)


@dataclass(eq=False)
class Attempt:
    """One sending of a call: it ends with its first answer, or fails."""

    domain: str
    call: Call
    over: bool = False


class World:
    """A history, drawn from a seed; `run` it."""

    end_of_faults = 400
    numbers_of_cuts = (0, 0, 1, 3)
    most_groups = 4

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0
        self.faults = self._draw_faults()
        self.failed: set[str] = set()  # jobs one of whose calls failed
        self.cancelled: set[str] = set()
        self.groups: list[tuple[str, ...]] = []  # of two, a pair, or of three
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._serving: Attempt | None = None
        names = "ABC"[: self.random.choice([2, 2, 3])]
        self.domains = {name: self._domain(name) for name in names}
        for number in range(self.random.randint(1, self.most_groups)):
            self._draw_group(number)
        for name in self.domains:
            self._poll(name)

    def job(self, name: str) -> LocalJob:
        return self.domains[name[0].upper()].jobs[name]

    # What is drawn

    def _draw_faults(self) -> Faults:
        pick, end = self.random.choice, self.end_of_faults
        starts = self.random.sample(range(end), pick(self.numbers_of_cuts))
        cuts = tuple((start, min(end, start + self.random.randint(5, 150))) for start in starts)
        return Faults(pick([0, 0, 0.1, 0.3]), pick([0, 0.2]), pick([0, 0.2, 0.6]), cuts, end)

    def _domain(self, name: str) -> FirstFit:
        return FirstFit(Coscheduler(name, 10, self._draw_settings(0, 50, MAX_PATIENCE)), self)

    def _draw_settings(self, *patiences: int) -> CoschedulingSettings:
        pick = self.random.choice
        return CoschedulingSettings(
            scheme=pick([Scheme.HOLD, Scheme.YIELD]),
            release_interval=pick([60, 150]),
            max_held_fraction=pick([Decimal("0.6"), Decimal(1)]),
            max_yields=pick([0, 3]),
            on_peer_unreachable=pick(list(OnUnreachable)),
            peer_patience=pick(patiences),
            peer_grace=pick([0, 0, 60, MAX_GRACE]),
            retry_interval=pick([1, 10]),
        )

    def _draw_group(self, number: int) -> None:
        sides = self.random.sample(sorted(self.domains), 2)
        names = [f"{side.lower()}{number}" for side in sides]
        self.groups.append((names[0], names[1]))
        for side, name, peer in zip(sides, names, reversed(sides), strict=True):
            job = LocalJob(name, peer, self.random.randint(1, 7), self.random.randint(5, 90))
            submission = Submitted(name, MateName(peer, f"pair{number}"))
            at = self.random.randrange(300)
            self.at(at, lambda side=side, job=job, event=submission: self.domains[side].submit(job, event))
            if self.random.random() < 0.05:
                self.at(at + self.random.randrange(200), lambda side=side, name=name: self._cancel(side, name))

    def _cancel(self, domain: str, job: str) -> None:
        if not self.job(job).state.final:
            self.cancelled.add(job)
            self.domains[domain].finish(self.job(job), Finished(job, JobState.CANCELLED))

    # The clock

    def at(self, instant: int, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (max(instant, self.now), self._sequence, action))  # a timer may be overdue

    def _poll(self, name: str) -> None:
        self.domains[name].scan()
        self.at(self.now + POLL, lambda: self._poll(name))

    def run(self, until: int) -> None:
        while not self.over() and self._queue[0][0] <= until:
            self.now, _, action = heapq.heappop(self._queue)
            action()

    def over(self) -> bool:
        """All jobs have started or were cancelled, and what is under way has arrived."""
        ended = sum(job.state.final for domain in self.domains.values() for job in domain.jobs.values())
        return ended == sum(map(len, self.groups))

    # The link

    def call(self, domain: str, call: Call) -> None:
        attempt = Attempt(domain, call)
        if self.faults.cut(self.now):
            self.at(self.now + 1, lambda: self._fail(attempt, Failure.UNREACHABLE))
            return
        self.at(self.now + DEADLINE, lambda: self._fail(attempt, Failure.TIMEOUT))
        self._send(lambda: self._serve(attempt))

    def _fail(self, attempt: Attempt, failure: Failure) -> None:
        if not attempt.over:
            attempt.over = True
            job = attempt.call.job
            self.failed.add(job)
            self.domains[attempt.domain].feed(CallFailed(job, attempt.call.request, failure, attempt.call.peer))

    def _serve(self, attempt: Attempt) -> None:
        self._serving = attempt
        self.domains[attempt.call.peer].feed(Asked(attempt.domain, attempt.call.request))

    def answer(self, answer: Answer) -> None:
        attempt = self._serving
        assert attempt.call.request == answer.request
        self._send(lambda: self._reply(attempt, answer.answer))

    def _reply(self, attempt: Attempt, answer: Reply) -> None:
        request = attempt.call.request
        if attempt.over and type(request) in (GetMateJobId, GetMateStatus):
            return
        attempt.over = True
        self.domains[attempt.domain].feed(Answered(attempt.call.job, request, answer, attempt.call.peer))

    def _send(self, deliver: Callable[[], None]) -> None:
        """Deliver a message once, twice or not at all."""
        faults, calm = self.faults, self.now >= self.faults.end
        if not calm and self.random.random() < faults.twice:
            self.at(self.now + self.random.randint(1, LATE), deliver)
        if calm or self.random.random() >= faults.drop:
            late = not calm and self.random.random() < faults.late
            self.at(self.now + self.random.randint(1, LATE if late else DELAY), deliver)
