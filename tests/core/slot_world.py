"""Histories of domains that meet, over a link that loses messages; domains are killed at any step, and start again.

As `faulty_link`, with an obvious scheduler that plans (`planner`). Owners cancel and unlink jobs, nodes are lost, jobs
run past their requested time, and domains drain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Answer, Call, Record
from cosched.core.events import Answered, Asked, CallFailed, Drained, Finished, Resumed, Submitted, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import Failure, GetMateJobId, GetMateStatus, GroupName, MateName, Reply
from cosched.core.settings import CoschedulingSettings, OnUnreachable
from cosched.core.story import What, Why

from .faulty_link import DEADLINE, MAX_PATIENCE, Attempt, Faults, World
from .planner import MortalDomain, PlannedJob

if TYPE_CHECKING:
    from .first_fit import LocalJob

END = 1000  # of all faults, in ticks
SUBMITTED = 500  # by then all jobs are
OUTAGE = 60  # the longest, of a domain
WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)


class SlotWorld(World):
    """A history, drawn from a seed. `calm`: without faults and troubles. `plant`: a mistake in each core."""

    domains: dict[str, MortalDomain]
    end_of_faults = END
    numbers_of_cuts = (0, 0, 1, 4)

    def __init__(self, seed: int, *, calm: bool = False, plant: Callable[[Coscheduler], None] = lambda _: None) -> None:
        self.calm = calm
        self.most_groups = 4 if calm else 12
        self.plant = plant
        self.launches: set[str] = set()
        self.unlinked: set[str] = set()
        self.jolted: set[str] = set()  # jobs that lost nodes, or whose domain died or drained
        self.story: dict[str, list[tuple[int, What, Why | None]]] = defaultdict(list)
        self.lost: list[tuple[int, str, Why | None]] = []  # slots
        self.alone = 0
        self.kept = 0  # jobs that started at slots
        super().__init__(seed)
        for _ in range(self.random.choice([0, 6, 12, 24])):
            self._draw_alone()
        if not calm:
            self._draw_troubles()

    def _draw_faults(self) -> Faults:
        self.deaths = 0.0 if self.calm else self.random.choice([0, 0, 0.01, 0.05])
        if self.calm:
            return Faults(0, 0, 0, (), END)
        return super()._draw_faults()

    def _domain(self, name: str) -> MortalDomain:
        settings = self._draw_settings(50 if self.calm else 0, 50, MAX_PATIENCE, MAX_PATIENCE)
        settings = replace(settings, mate_patience=1000, slots=self.random.random() < 0.9)
        return MortalDomain(self.core(name, settings), self, later=self.random.random() < 0.3 and not self.calm)

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
            named = MateName(others[0], f"pair{number}") if len(others) == 1 else GroupName(f"group{number}", others)
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

    # Deaths

    def dies(self, domain: MortalDomain) -> bool:
        return self.now < self.faults.end and self.random.random() < self.deaths and domain.up

    def died(self, domain: MortalDomain) -> None:
        self.jolted |= {name for group in self.groups for name in group}
        self.at(self.now + self.random.randint(1, OUTAGE), domain.rise)

    # The link: a domain that is down is not there

    def call(self, domain: str, call: Call) -> None:
        if self.domains[call.peer].up:
            super().call(domain, call)
            return
        attempt = self._attempt(domain, call)
        self.at(self.now + 1, lambda: self._fail(attempt, Failure.UNREACHABLE))

    def _attempt(self, domain: str, call: Call) -> Attempt:
        return Attempt(domain, call)

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

    # What is seen

    def launched(self, name: str) -> None:
        assert name not in self.launches, f"{name} is launched twice"
        self.launches.add(name)

    def noted(self, record: Record, exchange: str) -> None:
        job = self.job(record.job)
        self.story[record.job].append((self.now, record.what, record.why))
        if record.what is What.STARTED:
            job.why, job.exchange, job.proposal = record.why, exchange, record.detail.get("proposal", "")
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
