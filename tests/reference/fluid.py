"""Fluid scheduling of one machine, slow and obvious: jobs grow and shrink while they run.

Written from the definition (docs/fluid.md) and from Weissman et al. (2004), 2.2 and 4.3; it shares nothing with the
product. All times are whole seconds, all work is counted in integers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

HARVESTING = ("never", "even", "fair", "long", "short", "low_impact")
BASELINES = ("ideal_only", "moldable", "ideal_backfill", "ideal_easy")


@dataclass
class Job:
    submit: int
    least: int
    ideal: int
    run: int  # seconds on `ideal` processors
    parabolic: bool = False
    fixed: int = 0  # seconds that each resize costs, ...
    data: int = 0  # ... and bytes: shared by so many processors as it has before, 9 seconds for 100,000 of them
    times: tuple[int, ...] = ()  # of an iteration on `least`, ... `ideal` processors, if the application has told,
    costs: tuple[int, ...] = ()  # and the seconds that a resize costs which finds it on so many
    tells: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)  # if it runs at an instant

    number: int = 0
    procs: int = 0
    left: int = 0
    since: int = 0
    resume: int = 0
    start: int | None = None
    ended: int | None = None
    harvests: int = 0
    sizes: list[tuple[int, int]] = field(default_factory=list)  # (since when, how many), also those of no time

    def work(self) -> int:
        return self.run * self.speed(self.ideal)

    def speed(self, procs: int) -> int:
        if self.times:
            return math.ceil(Fraction(2**38 * min(self.times), self.times[procs - self.least]))
        if not self.parabolic:
            return procs
        return math.ceil(Fraction(2**38 * 2 * self.ideal * procs, self.ideal**2 + procs**2))

    def cost(self) -> int:
        if self.times:
            return self.costs[self.procs - self.least]
        return self.fixed + math.ceil(Fraction(9 * self.data, 100_000 * self.procs))

    def end(self) -> int:
        return max(self.since, self.resume) + math.ceil(Fraction(self.left, self.speed(self.procs)))

    def count(self, now: int) -> None:
        self.left -= self.speed(self.procs) * max(0, now - max(self.since, self.resume))
        self.since = now
        assert self.left > 0

    # "What it has done counts as the same part of its work; what is left is rounded up."
    def predict(self, now: int) -> None:
        self.count(now)
        part = Fraction(self.left, self.speed(self.ideal))
        self.times, self.costs = self.tells[now]
        self.left = math.ceil(part * self.speed(self.ideal))

    def resize(self, now: int, procs: int) -> None:
        assert self.least <= procs <= self.ideal
        self.count(now)
        if now > self.start:
            self.resume = max(self.resume, now) + self.cost()
        self.procs = procs
        self.sizes.append((now, procs))

    def end_if(self, now: int, procs: int) -> int:
        other = replace(self, sizes=[])
        other.resize(now, procs)
        return other.end()


@dataclass
class Rules:
    harvesting: str = "even"
    favor_running: bool = False
    level: float = math.inf  # M of achieve_mp
    max_harvests: float = math.inf
    protect_age: int = 0
    benefit: bool = False
    baseline: str | None = None


class Machine:
    def __init__(self, nodes: int, jobs: list[Job], rules: Rules, check: Callable[["Machine"], None] | None = None):
        self.nodes, self.jobs, self.rules, self.check = nodes, jobs, rules, check
        for number, job in enumerate(jobs):
            job.number = number
        self.now = 0
        self.avail = nodes
        self.to_come = sorted(jobs, key=lambda job: job.submit)
        self.queue: list[Job] = []
        self.running: list[Job] = []  # in the order of starting
        self.version = 0  # of what a harvest depends on
        self.failed: tuple[int, int] | None = None  # the head that could not be had, and the version then
        self.tried = self.had = 0

    def simulate(self) -> "Machine":
        assert all(job.least <= self.nodes for job in self.jobs)
        while self.to_come or self.running:
            ends = [job.end() for job in self.running]
            starts = [self.now + 1] if self.rules.baseline == "ideal_backfill" and self.queue else []
            told = [at for job in self.running for at in job.tells if at > self.now]
            self.now = min([job.submit for job in self.to_come[:1]] + ends + starts + told)
            self.instant()
            if self.check:
                self.check(self)
        assert not self.queue
        return self

    def instant(self) -> None:
        for job in [job for job in self.running if job.end() == self.now]:
            job.ended = self.now
            self.running.remove(job)
            self.avail += job.procs
            self.version += 1
        for job in [job for job in self.running if self.now in job.tells]:
            job.predict(self.now)
            self.version += 1
        while self.to_come and self.to_come[0].submit == self.now:
            self.queue.append(self.to_come.pop(0))
        if self.rules.baseline:
            self.iterate_baseline()
        else:
            self.iterate()

    def start(self, job: Job, procs: int) -> None:
        assert job.least <= procs <= min(self.avail, job.ideal)
        self.queue.remove(job)
        self.running.append(job)
        job.procs, job.left, job.start, job.since = procs, job.work(), self.now, self.now
        job.sizes.append((self.now, procs))
        self.avail -= procs
        self.version += 1

    def resize(self, job: Job, procs: int) -> None:
        self.avail += job.procs - procs
        assert self.avail >= 0
        job.resize(self.now, procs)
        self.version += 1

    # "1. While deg < M: head fits (avail >= min): start it on min(avail, ideal); else harvest min - avail and start it
    # on min; else go to 2. 2. favor_running: give, admit, give. favor_queued: admit, give."
    def iterate(self) -> None:
        while self.queue and len(self.running) < self.rules.level:
            head = self.queue[0]
            if self.avail >= head.least:
                self.start(head, min(self.avail, head.ideal))
            elif self.harvest(head):
                self.start(head, head.least)
            else:
                break
        if self.rules.favor_running:
            self.give()
        self.admit()
        self.give()

    # "Admit: while the head fits, start it on min(avail, ideal)."
    def admit(self) -> None:
        while self.queue and self.avail >= self.queue[0].least:
            self.start(self.queue[0], min(self.avail, self.queue[0].ideal))

    # "A harvest is all or nothing: planned first, refused if the candidates' sum of (procs - min) is short."
    def harvest(self, head: Job) -> bool:
        plan = self.plan_harvest(head)
        if plan is None:
            return False
        self.had += 1
        for job, procs in plan:
            if procs != job.procs:
                job.harvests += 1
                self.resize(job, procs)
        return True

    def plan_harvest(self, head: Job) -> list[tuple[Job, int]] | None:
        # "A head that could not be had is tried again only after a job started, ended, was resized"
        if self.failed == (head.number, self.version):
            return None
        self.tried += 1
        need = head.least - self.avail
        victims = self.candidates()
        plan = None
        if sum(job.procs - job.least for job in victims) >= need:
            plan = self.plan(victims, need, -1)
        if plan is None or (self.rules.benefit and not self.worth_it(head, victims, plan)):
            self.failed = (head.number, self.version)
            return None
        return list(zip(victims, plan, strict=True))

    def candidates(self) -> list[Job]:
        now, n = self.now, len(self.running)
        rule = self.rules.harvesting
        jobs = list(self.running)
        if rule == "never":
            jobs = []
        elif rule == "fair":  # "harvests x n <= sum of harvests"
            jobs = [job for job in jobs if job.harvests * n <= sum(other.harvests for other in self.running)]
        elif rule == "long":  # "age x n > sum of ages; oldest first"
            ages = sum(now - job.start for job in self.running)
            jobs = [job for job in jobs if (now - job.start) * n > ages]
        elif rule == "short":  # "time left x n > sum; longest first"
            times = sum(job.end() - now for job in self.running)
            jobs = [job for job in jobs if (job.end() - now) * n > times]
            jobs.sort(key=lambda job: -job.end())
        control = self.rules
        return [job for job in jobs if job.harvests < control.max_harvests and now - job.start >= control.protect_age]

    # "`benefit`: a harvest only if it moves the victims' ends by less, in sum, than (first instant at which min comes
    # free with present sizes) - now"
    def worth_it(self, head: Job, victims: list[Job], plan: list[int]) -> bool:
        moved = 0
        for job, procs in zip(victims, plan, strict=True):
            if procs != job.procs:
                moved += job.end_if(self.now, procs) - job.end()
        free = self.avail
        for job in sorted(self.running, key=Job.end):
            free += job.procs
            if free >= head.least:
                return moved < job.end() - self.now
        raise AssertionError

    # "Give: to procs < ideal, no candidates' rule, until avail = 0."
    def give(self) -> None:
        takers = [job for job in self.running if job.procs < job.ideal]
        while True:
            ordered = self.in_order_of_gifts(takers)
            plan = self.plan(ordered, self.avail, +1)
            if not self.rules.benefit:
                break
            # "`benefit`: a gift only if the job ends sooner, cost included (else it is left out and the gift planned
            # again)"
            gifts = {id(job): procs for job, procs in zip(ordered, plan, strict=True)}
            idle = [j for j in takers if gifts[id(j)] != j.procs and j.end_if(self.now, gifts[id(j)]) >= j.end()]
            if not idle:
                break
            takers = [job for job in takers if job is not idle[0]]
        for job, procs in zip(ordered, plan, strict=True):
            if procs != job.procs:
                self.resize(job, procs)

    def in_order_of_gifts(self, jobs: list[Job]) -> list[Job]:
        rule = self.rules.harvesting
        if rule == "fair":  # "most harvested first"
            return sorted(jobs, key=lambda job: -job.harvests)
        if rule == "long":  # "youngest first"
            return sorted(jobs, key=lambda job: -job.start)
        if rule == "short":  # "shortest first"
            return sorted(jobs, key=Job.end)
        return list(jobs)

    # Who has how many after `count` processors were taken (step -1) or given (+1), one after the other
    def plan(self, jobs: list[Job], count: int, step: int) -> list[int]:
        procs = [job.procs for job in jobs]

        def may(i: int) -> bool:
            return procs[i] > jobs[i].least if step < 0 else procs[i] < jobs[i].ideal

        if self.rules.harvesting == "low_impact":
            for _ in range(count):
                able = [i for i in range(len(jobs)) if may(i)]
                if not able:
                    break
                if step < 0:  # "each processor from the largest (procs - 1) / ideal"
                    i = max(able, key=lambda i: Fraction(procs[i] - 1, jobs[i].ideal))
                else:  # "each to the smallest procs / ideal"
                    i = min(able, key=lambda i: Fraction(procs[i], jobs[i].ideal))
                procs[i] += step
            return procs
        while count and any(map(may, range(len(jobs)))):  # "one from each above its min, in order, round after round"
            for i in range(len(jobs)):
                if count and may(i):
                    procs[i] += step
                    count -= 1
        return procs

    # "IDEAL-ONLY: FCFS at ideal. MOLDABLE: FCFS, min(avail, ideal) if avail >= min, never changed. IDEAL-BACKFILL:
    # ideal, conservative; EASY as variant."
    def iterate_baseline(self) -> None:
        if self.rules.baseline == "moldable":
            self.admit()
            return
        if self.rules.baseline == "ideal_backfill":
            self.start_as_planned()
            return
        while self.queue and self.queue[0].ideal <= self.avail:
            self.start(self.queue[0], self.queue[0].ideal)
        if self.queue and self.rules.baseline == "ideal_easy":
            self.backfill()

    def start_as_planned(self) -> None:
        """Every job starts at the first instant at which it fits beside all that were submitted before it."""
        planned = [(self.now, job.end(), job.procs) for job in self.running]
        for job in list(self.queue):
            for at in sorted({self.now} | {end for _, end, _ in planned}):
                busy = [
                    sum(procs for start, end, procs in planned if start <= t < end)
                    for t in {at} | {start for start, _, _ in planned if at <= start < at + job.run}
                ]
                if max(busy) + job.ideal <= self.nodes:
                    planned.append((at, at + job.run, job.ideal))
                    if at == self.now:
                        self.start(job, job.ideal)
                    break

    def backfill(self) -> None:
        """Whoever fits and does not delay the head: it ends in time, or the head leaves enough processors."""
        head, *others = self.queue
        free = self.avail
        for shadow in sorted({job.end() for job in self.running}):
            free = self.avail + sum(job.procs for job in self.running if job.end() <= shadow)
            if free >= head.ideal:
                break
        extra = free - head.ideal
        for job in others:
            if job.ideal > self.avail:
                continue
            if self.now + job.run <= shadow:
                self.start(job, job.ideal)
            elif job.ideal <= extra:
                extra -= job.ideal
                self.start(job, job.ideal)
