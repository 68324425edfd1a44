"""Molding on one machine, without mates, written from molding.md and not from the product: slow and obvious."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

HALF = Fraction(1, 2)


@dataclass
class RefMolded:
    """A job; `a`, `sigma`: its curve by Downey; `table`: its run times by sizes; else it has the simple curve."""

    number: int
    submit: int
    nodes: int
    run: int
    requested: int
    moldable: bool
    a: Fraction | None = None
    sigma: Fraction | None = None
    table: Mapping[int, int] | None = None
    allowed: tuple[int, int] = (0, 0)  # min_nodes and max_nodes; 0: as its curve has it
    guaranteed: int = 0
    fixed: int = 0
    size: int = 0
    start: int | None = None
    end: int | None = None  # when it ends; only the machine knows
    expected: int = 0


@dataclass
class RefForeseen:
    """Of one class: arrivals in each half hour of the day, and the means of N_opt, run(N_opt) and moldable jobs.

    `a`, `sigma`: the mean curve of Downey's, of all classes; 0: none has one.
    """

    arrivals: Sequence[float]
    nodes: float
    run: float
    moldable: float
    a: float = 0.0
    sigma: float = 0.0


@dataclass
class RefMolding:
    """A machine, and by which rules sizes are chosen: scojo_p, scojo, cirne_berman, none."""

    nodes: int
    jobs: list[RefMolded]
    sizing: str
    ideal: float = 0.9
    delta: float = 0.01
    max_bad: int = 2
    future: Sequence[RefForeseen] = ()
    sizes: tuple[Fraction, Fraction] = (HALF, Fraction(2))
    learns: bool = False  # the future, from its own past
    conservative: bool = False
    now: int = 0
    queue: list[RefMolded] = field(default_factory=list)
    running: list[RefMolded] = field(default_factory=list)

    def play(self) -> list[tuple[int, int, int]]:
        """Size, start and end of each job."""
        instants = {job.submit for job in self.jobs}
        while instants:
            self.now = min(instants)
            instants.remove(self.now)
            self.running = [job for job in self.running if job.end > self.now]
            for job in self.jobs:
                if job.submit == self.now:
                    self.queue.append(job)
                    if self.sizing == "cirne_berman":
                        self.choose(job)
            for job in self.iterate():
                instants.add(job.end)
        return [(job.size, job.start, job.end) for job in self.jobs]

    # Jobs

    def bounds(self, job: RefMolded) -> tuple[int, int]:
        if job.fixed:
            return job.fixed, job.fixed
        if not job.moldable or self.sizing == "none":
            return job.nodes, job.nodes
        least, most = self.curve_bounds(job)
        return job.allowed[0] or least, job.allowed[1] or most

    def curve_bounds(self, job: RefMolded) -> tuple[int, int]:
        if job.table:
            return min(job.table), min(max(job.table), self.nodes)
        if job.a is None:
            least = max(ceil(self.sizes[0] * job.nodes), 1)
            return least, max(least, min(floor(self.sizes[1] * job.nodes), self.nodes))
        last = 2 * job.a - 1 if job.sigma <= 1 else job.a + job.a * job.sigma - job.sigma
        return 1, min(ceil(last), self.nodes)

    def least(self, job: RefMolded) -> int:
        return max(self.bounds(job)[0], job.guaranteed)

    def size(self, job: RefMolded, m: float) -> int:
        return min(max(floor(m * job.nodes + 0.5), self.least(job)), self.bounds(job)[1])

    def time(self, job: RefMolded, n: int) -> int:
        if job.table:
            exact = Fraction(job.requested * job.table[n], job.table[job.nodes])
        else:
            exact = job.requested * self.speedup(job, job.nodes) / self.speedup(job, n)
        return max(1, floor(exact + HALF))

    def speedup(self, job: RefMolded, n: int) -> Fraction:
        opt = job.nodes
        if job.a is not None:
            return self.downey(job.a, job.sigma, n)
        if n <= opt:
            return Fraction(15, 100) * opt + HALF * n
        return HALF * opt + Fraction(15, 100) * n

    def downey(self, a: Fraction | float, sigma: Fraction | float, n: float) -> Fraction | float:
        if sigma <= 1:
            if n <= a:
                return a * n / (a + sigma * (n - 1) / 2)
            return a * n / (sigma * (a - HALF) + n * (1 - sigma / 2)) if n <= 2 * a - 1 else a
        return n * a * (sigma + 1) / (sigma * (n + a - 1) + a) if n <= a + a * sigma - sigma else a

    def level(self, job: RefMolded) -> int:
        level = 0 if job.requested < 60 else 1 if job.requested < 3600 else 2
        aged = self.now - job.submit >= 5 * job.requested
        return level - 1 if level > 0 and aged else level

    def in_order(self) -> list[RefMolded]:
        return sorted(self.queue, key=lambda job: (self.level(job), job.submit, job.number))

    # One iteration

    @property
    def free(self) -> int:
        return self.nodes - sum(job.size for job in self.running)

    def start(self, job: RefMolded, n: int) -> RefMolded:
        job.size, job.start, job.expected = n, self.now, self.now + self.time(job, n)
        job.end = self.now + ceil(Fraction(job.run * self.time(job, n), job.requested))
        self.queue.remove(job)
        self.running.append(job)
        return job

    def learned(self) -> list[RefForeseen]:
        """Means over the whole days since the first job, at most the last 28."""
        day, half_hour = 86400, 1800
        today, first = self.now // day, min(job.submit for job in self.jobs) // day
        days = [of for of in range(today - 28, today) if of > first]
        curves = [job for job in self.jobs if job.a is not None and job.submit // day in days]
        curve = [float(sum(of) / len(curves)) for of in zip(*((job.a, job.sigma) for job in curves), strict=True)]
        found = []
        for low, high in ((0, 60), (60, 3600), (3600, 10**12)) if days else ():
            jobs = [job for job in self.jobs if low <= job.requested < high and job.submit // day in days]
            came = [sum(job.submit % day // half_hour == half for job in jobs) / len(days) for half in range(48)]
            of = ([job.nodes for job in jobs], [job.requested for job in jobs], [job.moldable for job in jobs])
            found.append(RefForeseen(came, *(sum(values) / len(jobs) if jobs else 1.0 for values in of), *curve))
        return found

    def iterate(self) -> list[RefMolded]:
        if self.conservative:
            return self.plan()
        started: list[RefMolded] = []
        if self.learns:
            self.future = self.learned()
        while self.queue:
            first = self.in_order()[0]
            m, target = self.target(first)
            n, reserved, extra = self.place(first, target)
            if not n:
                return started + self.backfill(m, reserved, extra)
            started.append(self.start(first, n))
        return started

    def place(self, first: RefMolded, target: int) -> tuple[int, int, int]:
        """The size on which it starts now, or 0; its reservation, and what is left then."""
        if target <= self.free:
            return target, 0, 0
        if self.sizing == "scojo_p":
            return self.figure_3(first, target)
        for instant in self.ends():
            if self.free_at(instant) >= target:
                return 0, instant, self.free_at(instant) - target
        raise AssertionError

    def ends(self) -> list[int]:
        return sorted({max(job.expected, self.now) for job in self.running})

    def free_at(self, instant: int) -> int:
        return self.free + sum(job.size for job in self.running if max(job.expected, self.now) <= instant)

    def figure_3(self, first: RefMolded, target: int) -> tuple[int, int, int]:
        least, choices = self.least(first), []
        if self.free >= least:
            choices.append((self.time(first, self.free), 0, self.free, self.now))
        for number, instant in enumerate(self.ends(), 1):
            n = min(target, self.free_at(instant))
            if n >= least:
                choices.append((instant - self.now + self.time(first, n), number, n, instant))
            if self.free_at(instant) >= target:
                break
        _, number, n, instant = min(choices)
        if number == 0:
            return n, 0, 0
        first.guaranteed = n
        return 0, instant, self.free_at(instant) - n

    def backfill(self, m: float, reserved: int, extra: int) -> list[RefMolded]:
        started = []
        for job in self.in_order()[1:]:
            n = self.size(job, m)
            if self.sizing == "scojo" and job.requested < 3600 and n > self.free:
                n = max(self.free, self.least(job))
            in_time = self.now + self.time(job, n) <= reserved
            if n <= self.free and (in_time or n <= extra):
                extra -= 0 if in_time else n
                started.append(self.start(job, n))
        return started

    # Conservative backfilling

    def plan(self) -> list[RefMolded]:
        """In their order, each job has the earliest place that those before it have left."""
        taken = [(self.now, job.expected, job.size) for job in self.running]
        started = []
        for job in self.in_order():
            n = self.size(job, 1.0)
            t = self.time(job, n)
            instants = sorted({self.now, *(end for _, end, _ in taken if end > self.now)})
            instant = next(instant for instant in instants if self.fits(n, t, instant, taken))
            if instant == self.now and n <= self.free:
                started.append(self.start(job, n))
            taken.append((instant, instant + t, n))
        return started

    def fits(self, n: int, t: int, instant: int, taken: list[tuple[int, int, int]]) -> bool:
        """Whether so many nodes are free from then on for so long: free nodes become fewer when others start."""
        others = [start for start, _, _ in taken if instant < start < instant + t]
        used = [sum(size for start, end, size in taken if start <= at < end) for at in (instant, *others)]
        return max(used) + n <= self.nodes

    # The target

    def target(self, first: RefMolded) -> tuple[float, int]:
        if self.sizing == "scojo":
            m = self.nodes / sum(job.nodes for job in self.running + self.queue)
            return m, self.size(first, m)
        if self.sizing != "scojo_p":
            return 1.0, self.size(first, 1.0)
        return self.figure_2(first)

    def figure_2(self, first: RefMolded) -> tuple[float, int]:
        tried: list[tuple[float, float]] = []  # distance from the ideal, modifier
        m, bad = 1.0, 0
        while True:
            load = self.load(first, m)
            distance = abs(load - self.ideal)
            better = not tried or distance < min(tried)[0]
            bad = 0 if better else bad + 1
            tried.append((distance, m))
            if distance <= self.delta or bad == self.max_bad:
                break
            following = m * (self.ideal / load)
            if following == m:
                break
            m = following
        nearest = min(distance for distance, _ in tried)
        best = next(m for distance, m in tried if distance == nearest)
        return best, self.size(first, best)

    def load(self, first: RefMolded, m: float) -> float:
        n = self.size(first, m)
        t = self.time(first, n)
        work = n * t
        for job in self.running:
            left = min(max(job.expected - self.now, 0), t)
            work += left * job.size
        for job in self.queue:
            if job is not first:
                k = self.size(job, m)
                work += min(self.time(job, k), t) * k
        future = 0.0
        for each in self.future:
            future += self.arrivals(each, t) * self.work(each, m, t)
        return (work + future) / (self.nodes * t) if self.future else work / (self.nodes * t)

    def arrivals(self, each: RefForeseen, t: int) -> float:
        """In (now, now + t]: whole days first, then half hour after half hour."""
        days, at, end = t // 86400, self.now % 86400, self.now % 86400 + t % 86400
        found = days * sum(each.arrivals)
        while at < end:
            upto = min(at - at % 1800 + 1800, end)
            found += each.arrivals[at // 1800 % 48] * ((upto - at) / 1800)
            at = upto
        return found

    def work(self, each: RefForeseen, m: float, t: int) -> float:
        rigid = min(each.run, t) * each.nodes
        if each.moldable == 0:
            return rigid
        a, sigma = each.a, each.sigma
        if a:
            most = 2 * a - 1 if sigma <= 1 else a + a * sigma - sigma
            n = min(max(m * each.nodes, 1.0), most, float(self.nodes))
            time = each.run * self.downey(a, sigma, each.nodes) / self.downey(a, sigma, n)
        else:
            least, most = (float(share) * each.nodes for share in self.sizes)
            n = min(max(m * each.nodes, least, 1.0), most, float(self.nodes))
            speed = 3 * each.nodes + 10 * n if n <= each.nodes else 10 * each.nodes + 3 * n
            time = 13 * each.nodes * each.run / speed
        return each.moldable * (min(time, t) * n) + (1 - each.moldable) * rigid

    # Cirne and Berman

    def choose(self, job: RefMolded) -> None:
        """Play what is there once for each size."""
        ends = []
        low, high = self.bounds(job)
        for n in range(low, high + 1):
            copies = [replace(other, submit=other.submit) for other in self.queue]
            for other in copies:
                if other.number == job.number:
                    other.fixed = n
            running = [replace(other, end=max(other.expected, self.now)) for other in self.running]
            rest = replace(self, jobs=[], queue=copies, running=running)
            ends.append((rest.end_of(job.number, self.now), n))
        job.fixed = min(ends)[1]

    def end_of(self, number: int, now: int) -> int:
        instants = {now} | {job.end for job in self.running}
        while True:
            self.now = min(instants)
            instants.remove(self.now)
            self.running = [job for job in self.running if job.end > self.now]
            for job in self.iterate():
                job.end = job.expected
                instants.add(job.end)
                if job.number == number:
                    return job.end
