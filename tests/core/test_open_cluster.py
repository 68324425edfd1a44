"""The live domain's scheduler against the simulator's, and with answers that take a while."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import parse_node_pool
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched.sim.engine import Engine
from cosched.sim.replaying import NO_PAIRS
from cosched.sim.world import DomainSetup
from cosched.workload.jobs import Workload

JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 8), st.integers(1, 40), st.integers(0, 30)), min_size=1, max_size=40
)
POLICIES = ("fcfs", "wfp", "shortest-first", "largest-first", "wait/requested+nodes")


def machine(policy: str, backfill: str, pool: str) -> ClusterSettings:
    partitions = parse_node_pool(pool)
    nodes = partitions.nodes if partitions else 8
    return ClusterSettings(nodes, parse_ordering(policy), BACKFILLING[backfill], partitions)


def workload(jobs: list[tuple[int, int, int, int]], cluster: OpenCluster) -> Workload:
    submit, nodes, run, slack = (np.array(column, np.int64) for column in zip(*sorted(jobs), strict=True))
    rounded = np.array([cluster.rounded(int(n)) for n in nodes], np.int64)
    return Workload("test", np.arange(len(submit)), submit, run, rounded, run + slack)


def simulated(work: Workload, cluster: ClusterSettings) -> list[int]:
    engine = Engine([DomainSetup("a", work, cluster, CoschedulingSettings())], NO_PAIRS)
    engine.run()
    return engine.tables.jobs["start"].tolist()


def live(work: Workload, cluster: OpenCluster) -> list[int]:
    """Start times where every ready job starts at once, as the simulator's unpaired jobs do."""
    start = [-1] * len(work)
    ends: list[tuple[int, int]] = []
    arrivals = list(range(len(work)))
    while arrivals or ends:
        now = min([int(work.submit[i]) for i in arrivals[:1]] + [end for end, _ in ends[:1]])
        cluster.enter(now)
        while ends and ends[0][0] == now:
            cluster.leave(str(heapq.heappop(ends)[1]), now, JobState.COMPLETED)
        while arrivals and work.submit[arrivals[0]] == now:
            i = arrivals.pop(0)
            cluster.submit(ClusterJob(str(i), int(work.nodes[i]), int(work.requested[i]), now, paired=False))
        while (ready := cluster.next(now)) is not None:
            cluster.start(ready.job, now)
            start[int(ready.job)] = now
            heapq.heappush(ends, (now + int(work.run[int(ready.job)]), int(ready.job)))
    return start


@pytest.mark.parametrize("backfill", BACKFILLING)
@pytest.mark.parametrize("pool", ["flat", "partitioned:4x2"])
@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=20, deadline=None)
@given(jobs=JOBS)
def test_its_schedule_is_the_simulators(policy, pool, backfill, jobs):
    """Also though its rows are assigned again: 256 of them for the first, fewer jobs than that are never there."""
    cluster = OpenCluster(machine(policy, backfill, pool))
    work = workload(jobs, cluster)
    assert live(work, cluster) == simulated(work, cluster.settings)
    assert cluster.free == cluster.nodes


def test_rows_are_given_out_anew_and_nothing_is_lost():
    cluster = OpenCluster(machine("wfp", "easy", "flat"))
    rng = np.random.default_rng(7)
    jobs = [tuple(map(int, rng.integers((0, 1, 1, 0), (9000, 9, 41, 31)))) for _ in range(3000)]
    work = workload(jobs, cluster)
    assert live(work, cluster) == simulated(work, cluster.settings)


class Waiting:
    """A domain whose mates answer late, and as chance will have it."""

    def __init__(self, data: st.DataObject, backfill: str, pool: str) -> None:
        self.cluster = OpenCluster(machine("fcfs", backfill, pool))
        self.data = data
        self.now = 0
        self.states: dict[str, JobState] = {}
        self.submitted = 0

    def step(self) -> None:
        self.now += self.data.draw(st.integers(0, 3))
        self.cluster.enter(self.now)
        choices = ["submit", *(f"{job} {state.name}" for job, state in self.states.items())]
        choice = self.data.draw(st.sampled_from(choices))
        if choice == "submit":
            self.submit()
        else:
            self.happen(*choice.split())
        self.iterate()
        self.check()

    def iterate(self) -> None:
        while (ready := self.cluster.next(self.now)) is not None:
            assert self.states[ready.job] is JobState.QUEUED
            self.states[ready.job] = JobState.READY

    def submit(self) -> None:
        self.submitted += 1
        job = str(self.submitted)
        nodes = self.cluster.rounded(self.data.draw(st.integers(1, 8)))
        requested, owner = self.data.draw(st.integers(1, 20)), "ab"[self.submitted % 2]
        self.cluster.submit(ClusterJob(job, nodes, requested, self.now, paired=True, owner=owner))
        self.states[job] = JobState.QUEUED

    def happen(self, job: str, state: str) -> None:
        possible = {
            "QUEUED": (self.try_start, self.leave),
            "READY": (self.start, self.hold, self.pass_over, self.leave),
            "HOLDING": (self.start, self.release, self.leave),
            "RUNNING": (self.leave,),
        }
        self.data.draw(st.sampled_from(possible[state]))(job)

    def start(self, job: str) -> None:
        self.cluster.start(job, self.now)
        self.states[job] = JobState.RUNNING

    def hold(self, job: str) -> None:
        self.cluster.hold(job, self.now, self.now + 5)
        self.states[job] = JobState.HOLDING

    def pass_over(self, job: str) -> None:
        self.cluster.pass_over(job, self.now, 1.0)
        self.states[job] = JobState.QUEUED

    def release(self, job: str) -> None:
        self.cluster.release(job, self.now)
        self.states[job] = JobState.QUEUED

    def try_start(self, job: str) -> None:
        if self.cluster.try_start(job, self.now, self.now + 5):
            self.states[job] = JobState.RUNNING

    def leave(self, job: str) -> None:
        self.cluster.leave(job, self.now, JobState.CANCELLED)
        del self.states[job]

    def check(self) -> None:
        """Every job is where it was put; nodes are counted once; what fits and waits is not forgotten."""
        for job, state in self.states.items():
            assert self.cluster.job(job).state is state
        used = self.cluster.used()
        assert sum(used.values()) + self.cluster.free == self.cluster.nodes
        if self.cluster.awaited is None:
            assert not self.cluster.changed

    def finish(self) -> None:
        """Answer and end everything: every job gets its turn."""
        for _ in range(10 * len(self.states) + 10):
            self.now += 10
            self.cluster.enter(self.now)
            self.cluster.reschedule()  # as the service does now and then: a job that yielded waits for an iteration
            for job, state in list(self.states.items()):
                if state in (JobState.READY, JobState.HOLDING):
                    self.start(job)
                elif state is JobState.RUNNING:
                    self.leave(job)
            self.iterate()
        assert not self.states
        assert self.cluster.free == self.cluster.nodes


@pytest.mark.parametrize("backfill", BACKFILLING)
@pytest.mark.parametrize("pool", ["flat", "partitioned:4x2"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_answers_may_be_late_and_other_things_happen_meanwhile(backfill, pool, data):
    """ "If something else changes in the domain meanwhile, the iteration is abandoned and another begins"
    (coscheduling.md)"""
    waiting = Waiting(data, backfill, pool)
    for _ in range(data.draw(st.integers(1, 30))):
        waiting.step()
    waiting.finish()


def submitted(cluster: OpenCluster, *sizes: int) -> None:
    for number, nodes in enumerate(sizes, 1):
        cluster.submit(ClusterJob(str(number), nodes, 10, 0, paired=True))


def test_an_instant_lasts_as_long_as_its_iteration():
    """Jobs that yielded stay passed over, and the released one stays last, while an answer is awaited."""
    cluster = OpenCluster(machine("fcfs", "easy", "flat"))
    submitted(cluster, 8, 8)
    cluster.enter(0)
    assert cluster.next(0).job == "1"
    cluster.hold("1", 0, 100)
    assert cluster.next(0) is None
    cluster.enter(100)
    cluster.release("1", 100)
    assert cluster.next(100).job == "2"
    cluster.enter(103)
    cluster.submit(ClusterJob("3", 8, 10, 103, paired=True))  # the domain changed
    assert cluster.next(103) is None, "job 2 keeps its nodes"
    cluster.enter(103)
    cluster.pass_over("2", 103, 1.0)
    assert cluster.next(103).job == "3", "job 1 was released, job 2 has yielded"


@pytest.mark.parametrize("backfill", BACKFILLING)
@pytest.mark.parametrize("pool", ["flat", "partitioned:8x1"])
def test_an_iteration_goes_on_in_the_next_second(pool, backfill):
    cluster = OpenCluster(machine("fcfs", backfill, pool))
    submitted(cluster, 4, 4)
    assert cluster.next(0).job == "1"
    cluster.enter(1)
    cluster.start("1", 1)
    assert cluster.next(1).job == "2"


def test_late_yields_alone_do_not_keep_iterations_going():
    """Two jobs that each need the whole machine, and whose answers take longer than an iteration waits."""
    cluster = OpenCluster(machine("fcfs", "easy", "flat"))
    for job in ("1", "2"):
        cluster.submit(ClusterJob(job, 8, 10, 0, paired=True))
    for now, job in ((10, "1"), (20, "2")):
        ready = cluster.next(now)
        assert ready is not None
        assert ready.job == job
        cluster.enter(now + 1)
        cluster.reschedule()  # patience is over
        assert cluster.next(now + 1) is None
        cluster.enter(now + 10)
        cluster.pass_over(job, now + 10, 1.0)
    assert cluster.next(30) is None
    cluster.enter(31)
    cluster.reschedule()  # anything else that happens
    ready = cluster.next(31)
    assert ready is not None
    assert ready.job == "1"


def test_what_is_read_of_a_job_can_be_submitted_again():
    """As after a restart."""
    cluster = OpenCluster(machine("fcfs", "easy", "partitioned:4x2"))
    submitted(cluster, 4, 2, 8)
    cluster.enter(0)
    assert cluster.next(0).job == "1"
    cluster.start("1", 0)
    assert cluster.next(0).job == "2"
    cluster.hold("2", 0, 50)
    assert cluster.try_start("3", 0, 77) is False
    again = OpenCluster(cluster.settings)
    for job in map(cluster.job, "123"):
        again.submit(job)
    assert [again.job(job) for job in "123"] == [cluster.job(job) for job in "123"]
    assert again.used() == cluster.used()
    assert again.job("3").wanted_until == 77


def test_a_job_larger_than_the_machine_is_refused():
    with pytest.raises(ValueError, match="9 nodes wanted, the machine has 8"):
        OpenCluster(machine("fcfs", "easy", "flat")).rounded(9)
