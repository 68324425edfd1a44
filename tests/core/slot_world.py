"""Histories of domains that meet, over a link that loses messages; domains are killed at any step, and start again.

One seed is one history. Every message is delayed at random, so that messages overtake each other; it may be late (the
call has timed out by then), dropped (the call times out), or delivered twice, the second time perhaps much later. Links
are cut for a while: calls fail before they go out. Answers to mutating calls are delivered though the call has timed
out, or twice; those to questions, which have no id, are dropped then, as a real link does. The scheduler is an obvious
one that plans (`planner`). Owners cancel and unlink jobs, nodes are lost, jobs run past their requested time, and
domains drain. From `faults.end` on messages are only delayed, and arrive before the deadline.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, Record
from cosched.core.events import Answered, Asked, CallFailed, Drained, Finished, Resumed, Submitted, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import Failure, GetMateJobId, GetMateStatus, Reply, named_group, named_mate
from cosched.core.settings import CoschedulingSettings, OnUnreachable, Scheme
from cosched.core.story import What, Why

from .planner import MortalDomain, PlannedJob

if TYPE_CHECKING:
    from .first_fit import LocalJob

DEADLINE = 20  # of a call, in ticks of the virtual clock
DELAY = 9  # the longest delay of a message that is not late: an answer comes before the deadline
LATE = 200  # the longest delay of one that is
MAX_PATIENCE = 100  # with a peer
MAX_GRACE = 300  # of one
POLL = 50  # a domain looks at its queue at least that often
END = 1000  # of all faults, in ticks
SUBMITTED = 500  # by then all jobs are
OUTAGE = 60  # the longest, of a domain
WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)


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


class SlotWorld:
    """A history, drawn from a seed. `calm`: without faults and troubles. `plant`: a mistake in each core."""

    def __init__(self, seed: int, *, calm: bool = False, plant: Callable[[Coscheduler], None] = lambda _: None) -> None:
        self.calm = calm
        self.plant = plant
        self.launches: set[str] = set()
        self.unlinked: set[str] = set()
        self.jolted: set[str] = set()  # jobs that lost nodes, or whose domain died or drained
        self.story: dict[str, list[tuple[int, What, Why | None]]] = defaultdict(list)
        self.lost: list[tuple[int, str, Why | None]] = []  # slots
        self.without: dict[str, list[str]] = {}  # which domains a job has started without
        self.alone = 0
        self.kept = 0  # jobs that started at slots
        self.random = random.Random(seed)
        self.now = 0
        self.faults = self._draw_faults()
        self.failed: set[str] = set()  # jobs one of whose calls failed
        self.cancelled: set[str] = set()
        self.groups: list[tuple[str, ...]] = []  # of two, a pair, or of three
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        names = "ABC"[: self.random.choice([2, 2, 3])]
        self.domains: dict[str, MortalDomain] = {name: self._domain(name) for name in names}
        for number in range(self.random.randint(1, 4 if calm else 12)):
            self._draw_group(number)
        for name in self.domains:
            self._poll(name)
        for _ in range(self.random.choice([0, 6, 12, 24])):
            self._draw_alone()
        if not calm:
            self._draw_troubles()

    def job(self, name: str) -> LocalJob:
        return self.domains[name[0].upper()].jobs[name]

    def _draw_faults(self) -> Faults:
        self.deaths = 0.0 if self.calm else self.random.choice([0, 0, 0.01, 0.05])
        if self.calm:
            return Faults(0, 0, 0, (), END)
        pick = self.random.choice
        starts = self.random.sample(range(END), pick((0, 0, 1, 4)))
        cuts = tuple((start, min(END, start + self.random.randint(5, 150))) for start in starts)
        return Faults(pick([0, 0, 0.1, 0.3]), pick([0, 0.2]), pick([0, 0.2, 0.6]), cuts, END)

    def _domain(self, name: str) -> MortalDomain:
        settings = self._draw_settings(50 if self.calm else 0, 50, MAX_PATIENCE, MAX_PATIENCE)
        settings = replace(settings, mate_patience=1000, slots=self.random.random() < 0.9)
        return MortalDomain(self.core(name, settings), self, later=self.random.random() < 0.3 and not self.calm)

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

    def core(self, name: str, settings: CoschedulingSettings) -> Coscheduler:
        core = Coscheduler(name, 10, settings)
        self.plant(core)
        return core

    def _draw_job(self, name: str, peer: str) -> PlannedJob:
        run = self.random.randint(5, 90) if peer else self.random.randint(30, 300)
        over = self.random.random() < 0.1
        spare = 200 if self.calm else self.random.choice([0, 0, 20, 100])
        requested = max(1, run // 2) if over and not self.calm else run + spare
        nodes = self.random.randint(2, 6) if peer else self.random.randint(3, 9)
        return PlannedJob(name, peer, nodes, run, requested=requested)

    def _draw_group(self, number: int) -> None:
        sides = self.random.sample(sorted(self.domains), self.random.choice([2, 2, len(self.domains)]))
        names = [f"{side.lower()}{number}" for side in sides]
        self.groups.append(tuple(names))
        for side, name in zip(sides, names, strict=True):
            others = tuple(other for other in sides if other != side)
            named = (
                named_mate(others[0], f"pair{number}") if len(others) == 1 else named_group(f"group{number}", others)
            )
            self._submit_some_time(side, self._draw_job(name, others[0]), Submitted(name, named))

    def _draw_alone(self) -> None:
        self.alone += 1
        side = self.random.choice(sorted(self.domains))
        job = self._draw_job(f"{side.lower()}x{self.alone}", "")
        self._submit_some_time(side, job, Submitted(job.name))

    def _submit_some_time(self, side: str, job: PlannedJob, event: Submitted) -> None:
        self.at(self.random.randrange(SUBMITTED), lambda: self._submit(side, job, event))

    def _draw_troubles(self) -> None:
        pick, chance = self.random.choice, self.random.random
        for group in self.groups:
            for name in group:
                at = self.random.randrange(END)
                if chance() < 0.05:
                    self.at(at, lambda name=name: self._cancel(name[0].upper(), name))
                elif chance() < 0.05:
                    self.at(at, lambda name=name: self._unlink(name))
                elif chance() < 0.1:
                    self.at(at, lambda name=name: self._lose_nodes(name))
        if chance() < 0.15:
            side, at = pick(sorted(self.domains)), self.random.randrange(END - 100)
            self.at(at, lambda: self._drain(side))
        if self.deaths:
            side = pick(sorted(self.domains))
            self.at(self.random.randrange(END), lambda: self.domains[side].up and self.domains[side]._die())

    # What happens

    def _submit(self, side: str, job: PlannedJob, event: Submitted) -> None:
        if self.domains[side].up:
            self.domains[side].submit(job, event)
        else:
            self.at(self.now + 5, lambda: self._submit(side, job, event))

    def _cancel(self, domain: str, job: str) -> None:
        if self.domains[domain].up and job in self.domains[domain].jobs and not self.job(job).state.final:
            self.cancelled.add(job)
            self.domains[domain].finish(self.job(job), Finished(job, JobState.CANCELLED))

    def _unlink(self, name: str) -> None:
        domain = self.domains[name[0].upper()]
        if domain.up and name in domain.jobs and self.job(name).state in WAITING:
            self.unlinked.add(name)
            domain.tell(Unlinked(name))

    def _lose_nodes(self, name: str) -> None:
        self.jolted.add(name)
        self.domains[name[0].upper()].lose_nodes(name)

    def _drain(self, side: str) -> None:
        if not self.domains[side].up:
            self.at(self.now + 5, lambda: self._drain(side))
            return
        self.jolted |= {name for group in self.groups for name in group}
        self.domains[side].tell(Drained(self.now + 20))
        self.at(self.now + self.random.randint(1, 100), lambda: self.domains[side].tell(Resumed()))

    def over(self) -> bool:
        jobs = [job for domain in self.domains.values() for job in domain.jobs.values()]
        all_there = len(jobs) == sum(map(len, self.groups)) + self.alone and all(d.up for d in self.domains.values())
        return all_there and all(job.state.final for job in jobs)

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

    # Deaths

    def dies(self, domain: MortalDomain) -> bool:
        return self.now < self.faults.end and self.random.random() < self.deaths and domain.up

    def died(self, domain: MortalDomain) -> None:
        self.jolted |= {name for group in self.groups for name in group}
        self.at(self.now + self.random.randint(1, OUTAGE), domain.rise)

    # The link: a domain that is down is not there

    def call(self, domain: str, call: Call) -> None:
        attempt = Attempt(domain, call)
        if not self.domains[call.peer].up or self.faults.cut(self.now):
            self.at(self.now + 1, lambda: self._fail(attempt, Failure.UNREACHABLE))
            return
        self.at(self.now + DEADLINE, lambda: self._fail(attempt, Failure.TIMEOUT))
        self._send(lambda: self._serve(attempt))

    def _fail(self, attempt: Attempt, failure: Failure) -> None:
        if not attempt.over:
            attempt.over = True
            self.failed.add(attempt.call.job)
            if self.domains[attempt.domain].up:
                self.domains[attempt.domain].feed(
                    CallFailed(attempt.call.job, attempt.call.request, failure, attempt.call.peer)
                )

    def _serve(self, attempt: Attempt) -> None:
        peer = self.domains[attempt.call.peer]
        if peer.up:
            peer.served[attempt.call.request] = attempt
            peer.feed(Asked(attempt.domain, attempt.call.request))

    def answer_of(self, domain: MortalDomain, answer: Answer) -> None:
        attempt = domain.served[answer.request]
        self._send(lambda: self._reply(attempt, answer.answer))

    def _reply(self, attempt: Attempt, answer: Reply) -> None:
        request = attempt.call.request
        if (attempt.over and type(request) in (GetMateJobId, GetMateStatus)) or not self.domains[attempt.domain].up:
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

    # What is seen

    def launched(self, name: str) -> None:
        assert name not in self.launches, f"{name} is launched twice"
        self.launches.add(name)

    def noted(self, record: Record, exchange: str) -> None:
        job = self.job(record.job)
        self.story[record.job].append((self.now, record.what, record.why))
        if record.what is What.STARTED:
            job.why, job.exchange, job.proposal = record.why, exchange, record.detail.get("proposal", "")
            self.without[record.job] = record.detail.get("without", [])
            self.kept += record.why is Why.AT_SLOT
        elif record.what is What.LOST_SLOT:
            self.lost.append((self.now, record.job, record.why))

    def checked(self, domain: MortalDomain) -> None:
        """What holds after every event."""
        core, orders, turn = domain.core, {order.job for order in domain.machine.orders or ()}, domain.machine.turn
        agrees = turn is None or turn in orders or core.jobs[turn].group.agreement is not None
        assert agrees, f"the turn of {turn} stays"
        for job in core.jobs.values():
            local: LocalJob = domain.jobs[job.id]
            assert job.id in orders or local.slot == job.slot, f"{job.id} has the slots {job.slot} and {local.slot}"
            assert job.slot is None or job.state in WAITING
            if job.slot is not None and job.state is JobState.QUEUED:
                end = job.slot + core.settings.long_pause + core.settings.retry_interval + DEADLINE
                assert self.now <= max(end, domain.risen + DEADLINE), f"{job.id} is booked for ever"
            if job.state is JobState.HOLDING and core.settings.slots:
                assert core.settings.on_peer_unreachable is OnUnreachable.HOLD, f"{job.id} holds"
