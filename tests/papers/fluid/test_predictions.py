"""Jobs that tell how long they take on each size, before they start or while they run (fluid.md, Predictions)."""

import json
from collections import defaultdict
from dataclasses import replace
from random import Random

import pytest

from cosched.core.allocation import Malleable, Table
from cosched.core.job import JobState
from cosched.core.scheduling import base
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.fluid.cluster import FluidCluster
from cosched_papers.fluid.machine import FluidTrace
from cosched_papers.fluid.settings import FluidSettings
from cosched_papers.fluid.share import Share
from tests.papers.fluid.test_fluid_trace import columns, settings
from tests.reference.fluid import HARVESTING, Job, Machine, Rules
from tests.reference.fluid_workloads import random_case, tell
from tests.tiers import seeds


class Driven:
    """A cluster whose jobs come, tell, and end when they are expected to."""

    def __init__(self, rules: FluidSettings, jobs: list[Job], *, restarts: int = 0) -> None:
        """`restarts`: after so many instants it is made anew from what is kept of its jobs; 0: never."""
        self.rules, self.jobs, self.restarts = rules, jobs, restarts
        self.cluster = FluidCluster(rules)
        self.ends: dict[int, int] = {}
        self.sizes: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self.tables: dict[int, Table] = {}  # what is on record
        self.to_come = sorted(range(len(jobs)), key=lambda number: jobs[number].submit)
        self.known: dict[int, ClusterJob] = {}

    def run(self) -> None:
        instants, now = 0, -1
        while self.to_come or self.known:
            now = self.next_instant(now)
            if self.restarts and (instants := instants + 1) % self.restarts == 0:
                self.begin_anew()
            self.cluster.enter(now)
            self.instant(now)
            while (ready := self.cluster.next(now)) is not None:
                self.sizes[int(ready.job)].append((now, self.cluster.start(ready.job, now).nodes))
            for event in self.cluster.take_events():
                self.sizes[int(event.job)].append((now, event.allocation.nodes))

    def running(self) -> dict[int, int]:
        """The jobs that run, and when they are expected to end."""
        known = {number: self.cluster.job(str(number)) for number in self.known}
        return {number: job.expected for number, job in known.items() if job.state is JobState.RUNNING}

    def next_instant(self, now: int) -> int:
        told = [at for number in self.running() for at in self.jobs[number].tells if at > now]
        submits = [self.jobs[number].submit for number in self.to_come[:1]]
        return min([*submits, *self.running().values(), *told])

    def instant(self, now: int) -> None:
        for number in [number for number, end in self.running().items() if end == now]:
            self.cluster.leave(str(number), now, JobState.COMPLETED)
            self.ends[number] = now
            del self.known[number]
        for number in [number for number in self.running() if now in self.jobs[number].tells]:
            self.tables[number] = Table(*self.jobs[number].tells[now])
            self.cluster.predict(str(number), self.tables[number], now)
        while self.to_come and self.jobs[self.to_come[0]].submit == now:
            number = self.to_come.pop(0)
            job = self.jobs[number]
            if job.times:
                self.tables[number] = Table(job.times, job.costs)
            self.submit(number, ClusterJob(str(number), job.ideal, job.run, job.submit, paired=False))

    def submit(self, number: int, known: ClusterJob) -> None:
        job = self.jobs[number]
        how = Malleable(job.least, job.parabolic, job.fixed, job.data, self.tables.get(number))
        self.known[number] = replace(known, columns=how)
        self.cluster.submit(self.known[number])

    def begin_anew(self) -> None:
        kept = {number: self.cluster.job(str(number)) for number in self.known}
        self.cluster = FluidCluster(self.rules)
        for number, job in kept.items():
            self.submit(number, replace(job, kept=json.loads(json.dumps(job.kept))))


@pytest.mark.parametrize("seed", seeds(4, 1000))
@pytest.mark.parametrize("policy", [*HARVESTING, "moldable"])
def test_jobs_that_have_told_agree_with_the_slow_model(seed, policy):
    nodes, jobs, rules = random_case(seed, policy)
    tell(Random(f"{seed} {policy}"), jobs, while_running=False)
    tables = {row: Table(job.times, job.costs) for row, job in enumerate(jobs) if job.times}
    trace = FluidTrace(settings(nodes, rules), replace(columns(jobs), tables=tables))
    told = trace.run()
    Machine(nodes, jobs, rules).simulate()
    sizes = defaultdict(list)
    for row, at, procs in zip(told.row.tolist(), told.at.tolist(), told.procs.tolist(), strict=True):
        sizes[row].append((at, procs))
    assert [sizes[row] for row in range(len(jobs))] == [job.sizes for job in jobs]
    assert trace.state.jobs["end"].tolist() == [job.ended for job in jobs]


@pytest.mark.parametrize("seed", seeds(6, 1000))
@pytest.mark.parametrize("policy", HARVESTING)
def test_jobs_that_tell_while_they_run_agree_with_the_slow_model(seed, policy, monkeypatch):
    if seed % 2:  # rows of jobs that have left are given back at once
        monkeypatch.setattr(base, "FIRST_ROWS", 1)
        monkeypatch.setattr(base, "SPARE", 0)
    nodes, jobs, rules = random_case(seed, policy)
    tell(Random(f"{seed} {policy}"), jobs, while_running=True)
    driven = Driven(settings(nodes, rules), [replace(job) for job in jobs])
    driven.run()
    Machine(nodes, jobs, rules).simulate()
    assert [driven.sizes[number] for number in range(len(jobs))] == [job.sizes for job in jobs]
    assert driven.ends == {number: job.ended for number, job in enumerate(jobs)}


@pytest.mark.parametrize("seed", seeds(6, 300))
def test_what_was_told_survives_a_restart(seed):
    nodes, jobs, rules = random_case(seed, "even")
    tell(Random(seed), jobs, while_running=True)
    calm = replace(settings(nodes, rules), max_harvests=None, protect_age=0, benefit=False)  # a head is not tried again
    whole = Driven(calm, jobs)
    whole.run()
    anew = Driven(calm, jobs, restarts=2)
    anew.run()
    assert (anew.ends, anew.sizes) == (whole.ends, whole.sizes)


def ends(jobs: list[Job], **rules: bool) -> list[int]:
    driven = Driven(settings(4, Rules(**rules)), jobs)
    driven.run()
    Machine(4, jobs, Rules(**rules)).simulate()
    assert driven.ends == {number: job.ended for number, job in enumerate(jobs)}
    return [job.ended for job in jobs]


def test_a_job_past_its_knee_gives_without_loss():
    """The first tells at 40, with 60 s left, that it is as fast on three as on four. At 50 it gives one, at 80 has it
    back, and ends at 100; a linear job ends at 108, since it does 3 / 4 of its work for 30 s.
    """
    first, second = Job(0, 1, 4, 100), Job(50, 1, 1, 30)
    assert ends([first, second]) == [108, 80]
    first, second = Job(0, 1, 4, 100, tells={40: ((100, 60, 50, 50), (0, 0, 0, 0))}), Job(50, 1, 1, 30)
    assert ends([first, second]) == [100, 80]


def test_a_job_is_given_nothing_that_its_costs_outweigh():
    """Control, `benefit`: "a gift is made only if the job ends sooner, cost included". With 2 s to go on two processors
    a job would end 1 s sooner on four, but says that a resize costs it 2 s. At no cost it takes them.
    """
    for cost, end in ((2, 52), (0, 51)):
        table = (100, 50, 40, 25), (0, cost, 0, 0)
        jobs = [Job(0, 2, 2, 50), Job(0, 1, 4, 26, times=table[0], costs=table[1])]
        assert ends(jobs, benefit=True) == [50, end]


TABLE = Table((2, 1), (0, 0))


def runs(cluster: FluidCluster, job: str, nodes: int, requested: int, now: int = 0, least: int = 1) -> None:
    """A job that has come runs."""
    cluster.submit(ClusterJob(job, nodes, requested, now, paired=False, columns=Malleable(least)))
    cluster.enter(now)
    assert cluster.next(now) is not None
    cluster.start(job, now)


@pytest.mark.parametrize(
    ("requested", "table", "reason"),
    [
        (9, Table((3, 2, 1), (0, 0, 0)), "the job has 2 sizes, but tells 3 times and 3 costs"),
        (9, Table((2, 0), (0, 0)), "times must be 1 or more"),
        (9, Table((1 << 60, 1 << 60), (0, 0)), "and less than 1,152,921,504,606,846,976"),
        (9, Table((2, 1), (0, -1)), "costs from 0 s to less than 16,777,216 s"),
        (9, Table((1 << 21, 1), (0, 0)), "more than 1,048,576 times as long"),
        (1 << 24, TABLE, "requested for less than 16,777,216 s"),
    ],
)
def test_what_cannot_be_counted_is_refused_and_changes_nothing(requested, table, reason):
    cluster = FluidCluster(FluidSettings(2))
    runs(cluster, "1", 2, requested)
    before = cluster.job("1")
    with pytest.raises(ValueError, match=reason):
        cluster.predict("1", table, 4)
    assert cluster.job("1") == before


def test_where_slots_are_promised_times_do_not_change():
    cluster = FluidCluster(FluidSettings(2, slots=True))
    cluster.submit(ClusterJob("1", 2, 9, 0, paired=False, columns=Malleable(1)))
    with pytest.raises(ValueError, match="the slots here count with the times that were known before"):
        cluster.predict("1", TABLE, 4)


def test_curves_of_jobs_that_have_left_are_forgotten():
    cluster = FluidCluster(FluidSettings(4))
    for number in range(2000):
        job = str(number)
        runs(cluster, job, 4, 100, number)
        cluster.predict(job, Table((number + 4, 3, 2, 1), (0, 0, 0, 0)), number)
        assert Share(*cluster.job(job).kept["share"]) == Share(4, 100 << 38, number, number, number, 0, number + 1)
        cluster.leave(job, number, JobState.COMPLETED)
        assert len(cluster.rows.state.speeds) == len(cluster.rows.state.costs) == 0


def test_the_times_of_others_stay_when_a_job_that_has_told_leaves():
    """All run on their ideal size, and tell other times in turn; half of them leave."""
    cluster, tables = FluidCluster(FluidSettings(64)), {}
    for number in range(8):
        runs(cluster, str(number), 8, 100, number, 8 - number % 4)
    for number in (*range(8), *range(8)):
        tables[number] = Table((*range(90, 90 + number % 4), 50 + number), tuple(range(number % 4 + 1)))
        cluster.predict(str(number), tables[number], 9)
    for number in range(0, 8, 2):
        cluster.leave(str(number), 9, JobState.COMPLETED)
        for other in sorted(map(int, cluster.rows._row)):
            row, sizes = cluster.rows[str(other)], range(8 - other % 4, 9)
            speeds = [-(-min(tables[other].times) * 2**38 // time) for time in tables[other].times]
            assert [cluster.rows._speed(row, nodes) for nodes in sizes] == (speeds if other in tables else [*sizes])


def test_a_job_that_tells_again_and_again_takes_no_more_memory():
    cluster = FluidCluster(FluidSettings(1000))
    runs(cluster, "1", 1000, 1000)
    for now in range(1, 200):
        cluster.enter(now)
        cluster.predict("1", Table((1000 + now, *[1000] * 999), (0,) * 1000), now)
        assert cluster.next(now) is None
    assert len(cluster.rows.state.speeds) == len(cluster.rows.state.costs) == 1000
    assert Share(*cluster.job("1").kept["share"]) == Share(1000, 801 << 38, 199, 0, 0, 0, 1)
