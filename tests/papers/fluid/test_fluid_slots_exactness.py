"""Quotes, bookings and starts at slots agree with the slow model (tests/reference/fluid_slots.py)."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from random import Random

import pytest

from cosched.core.allocation import Malleable
from cosched.core.effects import Book, Claim, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.share import Share
from tests.papers.fluid.test_fluid_trace import settings
from tests.reference.fluid import HARVESTING, Job, Rules
from tests.reference.fluid_slots import Slots
from tests.reference.fluid_workloads import random_rules
from tests.tiers import seeds


class Product:
    """A domain that is played."""

    def __init__(self, nodes: int, rules: Rules, paired: set[int]) -> None:
        self.cluster = FluidCluster(replace(settings(nodes, rules), slots=True))
        self.paired, self.now = paired, 0
        self.here: list[str] = []

    def enter(self, now, submitted):
        """Jobs that are expected to end do, and these are submitted."""
        self.now = now
        self.cluster.enter(now)
        for job, (_, end) in self.sizes().items():
            if end <= now:
                self.cluster.leave(str(job), now, JobState.COMPLETED)
                self.here.remove(str(job))
        for job in submitted:
            self._submit(job)

    def start_booked(self):
        for job, slot in self._slots().items():
            if slot <= self.now:
                assert self.cluster.meeting.claim(Claim(job), self.now).allocation is not None
                self.cluster.start(job, self.now)

    def _submit(self, job: Job) -> None:
        how = Malleable(job.least, job.parabolic, job.fixed, job.data)
        paired = job.number in self.paired
        self.cluster.submit(ClusterJob(str(job.number), job.ideal, job.run, self.now, paired, columns=how))
        self.here.append(str(job.number))

    def iterate(self, ask):
        """Jobs with mates yield, after `ask`."""
        self.cluster.reschedule()
        while (ready := self.cluster.next(self.now)) is not None:
            if int(ready.job) in self.paired:
                ask(int(ready.job))
                self.cluster.pass_over(ready.job, self.now, 1.0)
            else:
                self.cluster.start(ready.job, self.now)

    def quote(self, job, not_before):
        return self.cluster.meeting.quote(Quote(str(job), not_before), self.now).at

    def book(self, job, at):
        return self.cluster.meeting.book(Book(str(job), at, 1), self.now).allocation is not None

    def unbook(self, job):
        self.cluster.meeting.unbook(str(job), self.now)

    def waiting(self):
        """Queued jobs with mates."""
        queued = [job for job in self.here if self.cluster.job(job).state is JobState.QUEUED]
        return [int(job) for job in queued if int(job) in self.paired]

    def _slots(self) -> dict[str, int]:
        slots = {job: self.cluster.job(job).kept.get("slot") for job in self.here}
        return {job: slot for job, slot in slots.items() if slot is not None}

    def ahead(self):
        """Ends and slots."""
        return [*self._slots().values(), *(end for _, end in self.sizes().values())]

    def sizes(self):
        """What each running job has, and when it is expected to end."""
        known = [self.cluster.job(job) for job in self.here]
        running = [job for job in known if job.state is JobState.RUNNING]
        return {int(job.id): (Share(*job.kept["share"]).nodes, job.expected) for job in running}


class Model:
    """The same by the slow model."""

    def __init__(self, nodes: int, jobs: list[Job], rules: Rules, paired: set[int]) -> None:
        self.machine = Slots(nodes, jobs, rules, paired)
        self.jobs = self.machine.jobs
        self.booked = False

    def enter(self, now, submitted):
        self.machine.enter(now)
        for job in [job for job in self.machine.running if job.end() <= now]:
            self.machine.end(job)
        for job in submitted:
            self.machine.submit(job)

    def start_booked(self):
        self.machine.start_booked()

    def iterate(self, ask):
        self.booked = True
        while self.booked:  # another iteration is due where a slot was booked in one
            self.booked = False
            self.machine.iterate(lambda job: ask(job.number))

    def quote(self, job, not_before):
        return self.machine.quote(self.jobs[job], not_before)

    def book(self, job, at):
        booked = self.machine.book(self.jobs[job], at)
        self.booked = self.booked or booked
        return booked

    def unbook(self, job):
        self.machine.slots.pop(job, None)

    def waiting(self):
        return sorted(job.number for job in self.machine.queue if job.number in self.machine.paired)

    def ahead(self):
        return [*self.machine.slots.values(), *(job.end() for job in self.machine.running)]

    def sizes(self):
        return {job.number: (job.procs, job.end()) for job in self.machine.running}


def case(seed: int) -> tuple[int, list[Job], Rules, set[int]]:
    random = Random(f"slots {seed}")
    nodes, costs, gap = random.choice([4, 8, 16]), random.choice([0, 0, 0, 0.3]), random.choice([2, 10, 25])
    submit, jobs = 0, []
    for number in range(random.randint(3, 12)):
        submit += random.randint(0, gap)
        ideal = random.randint(1, nodes)
        job = Job(submit, random.randint(1, ideal), ideal, random.randint(1, 40), random.random() < 0.3)
        if random.random() < costs:
            job.fixed, job.data = random.randint(0, 9), random.choice([0, 10**6])
        job.number = number
        jobs.append(job)
    paired = {job.number for job in jobs if random.random() < 0.5}
    return nodes, jobs, random_rules(random, random.choice(HARVESTING)), paired


def play(side: Product | Model, seed: int, jobs: list[Job]) -> list[object]:
    """All that was seen: quotes, bookings, and who ran on what after each instant. At the end nobody is paired."""
    seen: list[object] = []
    to_come, last, now = list(jobs), jobs[-1].submit + 300, 0
    while now < last:
        submitted = [job for job in to_come if job.submit <= now]
        to_come = to_come[len(submitted) :]
        side.enter(now, submitted)
        side.start_booked()
        random = Random(f"{seed} {now}")
        side.iterate(lambda job, random=random, now=now: ask(side, random, now, job, seen))
        if side.waiting():
            other = random.choice(side.waiting())
            if random.random() < 0.1:
                side.unbook(other)
            else:
                ask(side, random, now, other, seen)
        side.start_booked()
        side.iterate(lambda _: None)
        seen.append((now, sorted(side.sizes().items())))
        ahead = [at for at in side.ahead() if at > now] + [job.submit for job in to_come[:1]] + [now + 20]
        now = min(ahead)
    return seen


def ask(side: Product | Model, random: Random, now: int, job: int, seen: list[object]) -> None:
    """As a mate's domain does: when could it be, and then, or at another instant, is it?"""
    not_before, shift = now + random.choice([0, 0, 7, 40]), random.choice([0, 0, 0, -1, 3])
    books, guess = random.random() < 0.5, random.random() < 0.3
    quoted = side.quote(job, not_before)
    seen.append((now, job, "quoted", quoted))
    at = not_before if guess or quoted is None else max(now, quoted + shift)
    if books:
        seen.append((now, job, "booked", at, side.book(job, at)))


@lru_cache(maxsize=100)
def product(seed: int) -> list[object]:
    nodes, jobs, rules, paired = case(seed)
    return play(Product(nodes, rules, paired), seed, jobs)


def model(seed: int) -> list[object]:
    nodes, jobs, rules, paired = case(seed)
    return play(Model(nodes, jobs, rules, paired), seed, jobs)


@pytest.mark.parametrize("seed", seeds(8, 300))
def test_quotes_and_bookings_agree_with_the_slow_model(seed):
    for number in range(10 * seed, 10 * seed + 10):
        assert product(number) == model(number)


def test_the_cases_have_it_all():
    seen = Counter()
    for seed in range(100):
        for entry in product(seed):
            if "booked" in entry:
                seen["booked" if entry[-1] else "refused"] += 1
            elif "quoted" in entry:
                now, _, _, at = entry
                seen["never" if at is None else "now" if at == now else "later"] += 1
    assert min(seen[what] for what in ("booked", "refused", "now", "later")) > 20, seen
    assert seen["never"], seen
