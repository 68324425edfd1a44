"""The compiled iteration of a domain that meets does what slow, obvious code does, on thousands of small histories."""

from random import Random

import pytest

from tests.core.meeting.fast import FastDomain
from tests.core.meeting.slow import Job, SlowDomain
from tests.tiers import SEED, soaked

NODES = 8


def some_jobs(rng: Random, units: bool) -> list[Job]:
    """Up to twelve jobs, in the order of their submission, half of them with mates."""
    submits = sorted(rng.randrange(60) for _ in range(rng.randint(2, 12)))
    jobs = []
    for row, submit in enumerate(submits):
        requested = rng.choice([1, 5, 10, 20, 40])
        nodes = rng.choice([1, 2, 4, 8]) if units else rng.randint(1, NODES)
        jobs.append(Job(row, submit, nodes, requested, rng.randint(1, requested), rng.random() < 0.5))
    return jobs


class History:
    """One history of a domain; what is random depends on the seed alone, so that two equal domains have the same."""

    def __init__(self, domain, jobs: list[Job], seed: int) -> None:
        self.domain, self.jobs, self.rng = domain, jobs, Random(seed)
        self.now = 0
        self.log: list[object] = []

    def run(self) -> list[object]:
        ends: dict[int, int] = {}
        claimed: dict[int, int] = {}  # since when
        while self.now < 150:
            for row in [row for row, end in ends.items() if end == self.now]:
                self.domain.end(row, self.now)
                del ends[row]
            for job in self.jobs:
                slot = self.domain.slot(job.row)
                if slot is not None and slot[0] <= self.now and job.row not in [*ends, *claimed]:
                    self.claim(job.row, claimed)
                if job.submit == self.now:
                    self.domain.submit(job.row)
            for _ in range(2):
                if self.rng.random() < 0.2:
                    self.peer_asks()
                self.domain.iterate(self.now, self.turn)
                self.settle(claimed)
            for row, (start, block) in self.domain.running().items():
                if row not in ends:
                    ends[row] = start + self.jobs[row].run
                    self.note("runs", row, start, block)
            self.now += 1
        return self.log

    def note(self, *what: object) -> None:
        self.log.append((self.now, *what))

    def claim(self, row: int, claimed: dict[int, int]) -> None:
        done = self.domain.claim(row, self.now)
        self.note("claims", row, done)
        if done:
            claimed[row] = self.now
        self.settle(claimed)

    def settle(self, claimed: dict[int, int]) -> None:
        """Ready jobs start at their slots, or give their nodes back, some of them later, but within their request."""
        for row, since in list(claimed.items()):
            if self.rng.random() < 0.5 or self.now + 1 >= since + self.jobs[row].requested:
                del claimed[row]
                self.answer(row, starts=0.7)

    def answer(self, row: int, starts: float) -> bool:
        """The ready job starts, or it is passed over."""
        done = self.rng.random() < starts
        (self.domain.run_job if done else self.domain.pass_over)(row, self.now)
        return done

    def peer_asks(self) -> None:
        """A mate's domain asks for some paired job that is there."""
        rows = [job.row for job in self.jobs if job.paired and job.submit <= self.now]
        if not rows:
            return
        row = self.rng.choice(rows)
        chance = self.rng.random()
        if chance < 0.1:
            self.domain.keep_in_turn(row, self.rng.random() < 0.7)
        if chance < 0.5:
            started = self.domain.try_start(row, self.now)
            self.note("tried", row, started, self.domain.pushes(row, self.now, tried=True) if started else None)
        elif chance < 0.9:
            self.propose(row)
        else:
            self.domain.unbook(row)

    def propose(self, row: int, ready: bool = False) -> bool:
        """The two domains agree on a slot for this job, or do not; whether a `ready` one starts."""
        at, agreed = self.now, self.rng.choice([0, 0, 1, 2, 9])
        for _ in range(agreed + 1):
            quoted = self.domain.quote(row, at, self.now)
            self.note("quoted", row, quoted)
            if quoted is None:
                return False
            at = quoted[0] + (agreed > 0)
        if agreed == 0:
            slot = self.domain.slot(row)
            if slot is None or at < slot[0]:
                self.note("booked", row, self.domain.book(row, at, self.now), self.domain.slot(row))
                if at == self.now and (ready or self.domain.claim(row, self.now)):
                    self.domain.run_job(row, self.now)
                    return True
        return False

    def turn(self, row: int, block: int | None) -> None:
        """A paired job is ready, or could be before its slot."""
        self.note("turn", row, block, None if block is None else self.domain.pushes(row, self.now))
        if self.rng.random() < 0.1:
            self.domain.unbook(row)
        if block is None:
            self.propose(row)
        elif self.rng.random() < 0.5:
            if not self.propose(row, ready=True):
                self.answer(row, starts=0.3)
        elif not self.answer(row, starts=0.3) and self.rng.random() < 0.7:
            self.propose(row)


@pytest.mark.parametrize("units", [False, True], ids=["flat", "partitioned"])
@pytest.mark.parametrize("backfill", ["easy", "conservative", "none"])
@pytest.mark.parametrize("cases", soaked((20, 20_000), 1))
def test_random_histories_are_those_of_the_slow_domain(cases, backfill, units):
    rng = Random(f"{SEED}/{backfill}/{units}")
    for _ in range(cases):
        seed, budget = rng.randrange(2**32), rng.choice(["0", "0.1", "0.5", "2"])
        histories = []
        for domain in (SlowDomain, FastDomain):
            jobs = some_jobs(Random(seed), units)
            histories.append(History(domain(NODES, units, backfill, budget, jobs), jobs, seed).run())
        assert histories[0] == histories[1], f"seed {seed}, budget {budget}"
