"""A slow and obvious model of the heterogeneous scheduler, written from its definition (docs/heterogeneous.md).

Times are in dictionaries: `seq[class, machine]`, `par[class, cluster]`; what is absent cannot run there. Machines and
clusters are known by numbers. A placement is (job, kind, resource, start, end), `kind` M or C.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

M, C = "machine", "cluster"
HIGH, MEDIUM, LOW = 0, 1, 2


@dataclass
class RefSite:
    """`machines` of them, and clusters as lists of their members. `quantum`, `preemptive`, `promote_after`."""

    machines: int
    clusters: list[list[int]]
    seq: dict[tuple[str, int], int]
    par: dict[tuple[str, int], int]
    quantum: int = 0
    preemptive: bool = False
    promote_after: int = 0


@dataclass
class RefJob:
    """`job_class` and `priority`; and what becomes of it."""

    id: int
    submit: int
    job_class: str
    priority: int = MEDIUM
    end: int = -1
    preempted: int = 0
    runs: list[tuple[str, int, int, int]] = field(default_factory=list)  # kind, resource, start, end; the stopped, too


def completion(site: RefSite, avail: list[int], job: RefJob, machine: int) -> int | None:
    time = site.seq.get((job.job_class, machine))
    return None if time is None else avail[machine] + time


def best_machine(site, avail, job, order) -> tuple[int, int]:
    """(completion, machine)"""
    found = None
    for machine in order:
        end = completion(site, avail, job, machine)
        if end is None:
            continue
        if found is None or end < found[0]:
            found = end, machine
    return found


def olb(site, jobs, avail, order=None):
    avail, placed = list(avail), []
    for job in jobs:
        able = [m for m in machine_order(site, order) if (job.job_class, m) in site.seq]
        machine = min(able, key=lambda m: avail[m])
        placed.append(put(site, avail, job, machine))
    return placed


def met(site, jobs, avail, order=None):
    avail, placed = list(avail), []
    for job in jobs:
        able = [m for m in machine_order(site, order) if (job.job_class, m) in site.seq]
        placed.append(put(site, avail, job, min(able, key=lambda m: site.seq[job.job_class, m])))
    return placed


def mct(site, jobs, avail, order=None):
    avail, placed = list(avail), []
    for job in jobs:
        able = [m for m in machine_order(site, order) if (job.job_class, m) in site.seq]
        placed.append(put(site, avail, job, min(able, key=lambda m: avail[m] + site.seq[job.job_class, m])))
    return placed


def machine_order(site, order):
    return list(range(site.machines)) if order is None else order[0]


def cluster_order(site, order):
    return list(range(len(site.clusters))) if order is None else order[1]


def put(site, avail, job, machine):
    start = avail[machine]
    avail[machine] = start + site.seq[job.job_class, machine]
    return job, M, machine, start, avail[machine]


def greedy(site, jobs, avail, order, largest):
    avail, left, placed = list(avail), list(jobs), []
    while left:
        chosen = None
        for job in left:
            end, machine = best_machine(site, avail, job, machine_order(site, order))
            if chosen is None or (end > chosen[0] if largest else end < chosen[0]):
                chosen = end, machine, job
        _, machine, job = chosen
        left.remove(job)
        placed.append(put(site, avail, job, machine))
    return placed


def min_min(site, jobs, avail, order=None):
    return greedy(site, jobs, avail, order, largest=False)


def max_min(site, jobs, avail, order=None):
    return greedy(site, jobs, avail, order, largest=True)


def metric(placed) -> int:
    return sum(end for *_, end in placed)


def sjs(site, jobs, avail, order=None):
    one, other = min_min(site, jobs, avail, order), max_min(site, jobs, avail, order)
    return other if metric(other) < metric(one) else one


def pjs(site, jobs, avail, order=None, goes_on=False):
    """`goes_on`: on_failure = next."""
    committed, failed = [], set()
    best = sjs(site, jobs, avail, order)
    while True:
        free = after(site, avail, committed)
        done = [job for job, *_ in committed]
        pair = None
        for job in jobs:
            for cluster in cluster_order(site, order):
                time = site.par.get((job.job_class, cluster))
                if job in done or time is None or (job.job_class, cluster) in failed:
                    continue
                sequential, _ = best_machine(site, free, job, machine_order(site, order))
                profit = sequential - (max(free[m] for m in site.clusters[cluster]) + time)
                if profit > 0 and (pair is None or profit > pair[0]):
                    pair = profit, job, cluster, time
        if pair is None:
            return best
        _, job, cluster, time = pair
        start = max(free[m] for m in site.clusters[cluster])
        attempt = [*committed, (job, C, cluster, start, start + time)]
        rest = [other for other in jobs if other not in [job for job, *_ in attempt]]
        schedule = attempt + sjs(site, rest, after(site, avail, attempt), order)
        if metric(schedule) < metric(best):
            committed, best = attempt, schedule
        elif goes_on:
            failed.add((job.job_class, cluster))
        else:
            return best


def after(site, avail, placed):
    avail = list(avail)
    for _, kind, resource, _, end in placed:
        for machine in machines(site, kind, resource):
            avail[machine] = max(avail[machine], end)
    return avail


def machines(site, kind, resource) -> list[int]:
    return [resource] if kind == M else site.clusters[resource]


def sufferage(site, jobs, avail, order=None):
    """Maheswaran et al. 1999, figure 3: rounds in which each machine is claimed by the job that suffers most."""
    avail, left, placed = list(avail), list(jobs), []
    while left:
        claims: dict[int, tuple[float, RefJob]] = {}
        for job in left:
            ends = sorted(
                (completion(site, avail, job, m), place, m)
                for place, m in enumerate(machine_order(site, order))
                if (job.job_class, m) in site.seq
            )
            second = ends[1][0] if len(ends) > 1 else float("inf") if site.machines > 1 else ends[0][0]
            suffers = second - ends[0][0]
            machine = ends[0][2]
            if machine not in claims or suffers > claims[machine][0]:
                claims[machine] = suffers, job
        for machine, (_, job) in claims.items():
            placed.append(put(site, avail, job, machine))
            left.remove(job)
    return placed


ALGORITHMS: dict[str, Callable] = {
    "olb": olb, "met": met, "mct": mct, "min_min": min_min, "max_min": max_min, "sjs": sjs, "pjs": pjs,
    "sufferage": sufferage,
}  # fmt: skip


# The event model


@dataclass
class RefCommitment:
    job: RefJob
    kind: str
    resource: int
    start: int
    end: int
    started: bool = False

    @property
    def duration(self) -> int:
        return self.end - self.start


class RefDomain:
    """Jobs come, are placed at passes, start and end."""

    def __init__(self, site: RefSite, algorithm: str, *, goes_on: bool = False) -> None:
        self.site = site
        self.place = partial(pjs, goes_on=True) if goes_on else ALGORITHMS[algorithm]
        self.commitments: list[RefCommitment] = []
        self.queue: list[RefJob] = []
        self.displaced = 0

    def run(self, jobs: Iterable[RefJob]) -> None:
        to_come = sorted(jobs, key=lambda job: (job.submit, job.id))
        while to_come or self.queue or self.commitments:
            now = self.next_instant(to_come)
            for of in [of for of in self.commitments if of.started and of.end == now]:
                self.commitments.remove(of)
                of.job.end = now
                of.job.runs.append((of.kind, of.resource, of.start, now))
            submitted = False
            while to_come and to_come[0].submit == now:
                self.queue.append(to_come.pop(0))
                submitted = True
            due = now % self.site.quantum == 0 if self.site.quantum else submitted
            if self.queue and due:
                self.do_pass(now)
            self.start(now)

    def next_instant(self, to_come) -> int:
        instants = [of.end for of in self.commitments if of.started]
        instants += [job.submit for job in to_come[:1]]
        if self.queue and self.site.quantum:
            last = max(job.submit for job in self.queue)
            instants.append(-(-last // self.site.quantum) * self.site.quantum)
        return min(instants)

    def priority(self, job: RefJob) -> int:
        promoted = self.site.promote_after and job.preempted >= self.site.promote_after
        return MEDIUM if job.priority == LOW and promoted else job.priority

    def machines(self, of: RefCommitment) -> list[int]:
        return machines(self.site, of.kind, of.resource)

    def do_pass(self, now: int) -> None:
        for priority in (HIGH, MEDIUM, LOW):
            jobs = [job for job in self.queue if self.priority(job) == priority]
            jobs.sort(key=lambda job: (job.submit, job.id))
            if not jobs:
                continue
            preempts = self.site.preemptive and priority == HIGH
            low = [of for of in self.commitments if preempts and self.priority(of.job) == LOW]
            avail = [now] * self.site.machines
            for of in self.commitments:
                if of not in low:
                    for machine in self.machines(of):
                        avail[machine] = max(avail[machine], of.end)
            order = self.order(low) if preempts else None
            for job, kind, resource, start, end in self.place(self.site, jobs, avail, order):
                self.queue.remove(job)
                if preempts:
                    self.take(kind, resource, start, now)
                self.commitments.append(RefCommitment(job, kind, resource, start, end))
            self.compact(now)

    def order(self, low) -> tuple[list[int], list[int]]:
        used = {machine for of in low for machine in self.machines(of)}
        by_machine = sorted(range(self.site.machines), key=lambda m: m in used)
        by_cluster = sorted(range(len(self.site.clusters)), key=lambda c: any(m in used for m in self.site.clusters[c]))
        return by_machine, by_cluster

    def take(self, kind: str, resource: int, start: int, now: int) -> None:
        wanted = machines(self.site, kind, resource)
        for of in list(self.commitments):
            if self.priority(of.job) != LOW or not set(wanted) & set(self.machines(of)):
                continue
            if of.end <= start:
                continue
            if of.started:
                of.job.preempted += 1
                of.job.runs.append((of.kind, of.resource, of.start, now))
            else:
                self.displaced += 1
            self.commitments.remove(of)
            self.queue.append(of.job)

    def compact(self, now: int) -> None:
        avail = [now] * self.site.machines
        for of in sorted(self.commitments, key=lambda of: not of.started):
            if not of.started:
                start = max(avail[machine] for machine in self.machines(of))
                of.start, of.end = start, start + of.duration
            for machine in self.machines(of):
                avail[machine] = max(avail[machine], of.end)

    def start(self, now: int) -> None:
        for number, of in enumerate(self.commitments):
            before = self.commitments[:number]
            if of.started or any(set(self.machines(of)) & set(self.machines(other)) for other in before):
                continue
            if of.start > now:
                continue
            of.started, of.start, of.end = True, now, now + of.duration
