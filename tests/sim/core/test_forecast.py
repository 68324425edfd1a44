"""When jobs of a live domain are expected to start: what the simulator then does."""

import heapq
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.core.effects import Book, Quote
from cosched.core.job import JobState
from cosched.core.scheduling.batch.open_cluster import OpenCluster
from cosched.core.scheduling.forecast import Forecast, Foreseen, foresee_with
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.scheduler import ClusterJob, ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.replaying import NO_PAIRS
from cosched_sim.workload.jobs import Workload
from tests.conformance.schedulers.kinds import machine
from tests.core.test_open_meeting_cluster import meeting
from tests.sim.exact import POLICIES

JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 8), st.integers(1, 40), st.integers(0, 30)), min_size=1, max_size=40
)


def workload(jobs: list[tuple[int, int, int, int]], cluster: OpenCluster) -> Workload:
    submit, nodes, run, slack = (np.array(column, np.int64) for column in zip(*sorted(jobs), strict=True))
    rounded = np.array([cluster.rounded(int(n)) for n in nodes], np.int64)
    return Workload("test", np.arange(len(submit)), submit, run, rounded, run + slack)


def simulated(work: Workload, cluster: ClusterSettings) -> list[int]:
    engine = Engine([DomainSetup("a", work, cluster, CoschedulingSettings())], NO_PAIRS)
    engine.run()
    return engine.tables.jobs["start"].tolist()


def starts_of(foreseen: Iterable[Foreseen]) -> dict[str, int]:
    return {each.job: each.at for each in foreseen}


def submitted(cluster: OpenCluster, *sizes: int) -> None:
    for number, nodes in enumerate(sizes, 1):
        cluster.submit(ClusterJob(str(number), nodes, 10, 0, paired=True))


def expected_and_true(cluster: OpenCluster, jobs: list[tuple[int, int, int, int]]) -> tuple[dict, dict]:
    """By job: what is foreseen after the last of these arrivals, and what the simulator does."""
    work = workload(jobs, cluster)
    truth = simulated(work, replace(cluster.settings, mate_budget=0, slots=False))
    last, ends, arrivals = int(work.submit[-1]), [], list(range(len(work)))
    for now in sorted({*map(int, work.submit), *(t + int(r) for t, r in zip(truth, work.requested, strict=True))}):
        if now > last:
            break
        cluster.enter(now)
        while ends and ends[0][0] == now:
            cluster.leave(str(heapq.heappop(ends)[1]), now, JobState.COMPLETED)
        while arrivals and work.submit[arrivals[0]] == now:
            i = arrivals.pop(0)
            cluster.submit(ClusterJob(str(i), int(work.nodes[i]), int(work.requested[i]), now, paired=False))
        while (ready := cluster.next(now)) is not None:
            cluster.start(ready.job, now)
            heapq.heappush(ends, (now + int(work.requested[int(ready.job)]), int(ready.job)))
    queued = {job for job in list(cluster.rows.row) if cluster.job(job).state is JobState.QUEUED}
    return starts_of(Forecast(cluster, last).starts()), {job: truth[int(job)] for job in queued}


@pytest.mark.parametrize("backfill", BACKFILLING)
@pytest.mark.parametrize("pool", ["flat", "partitioned:4x2"])
@settings(max_examples=15, deadline=None)
@given(jobs=JOBS, policy=st.sampled_from([*POLICIES]), meets=st.booleans())
def test_without_further_jobs_and_with_exact_run_times_it_is_the_true_start(pool, backfill, jobs, policy, meets):
    exact = [(submit, nodes, run, 0) for submit, nodes, run, _ in jobs]
    cluster = OpenCluster(meeting(backfill, pool, policy) if meets else machine(policy, backfill, pool))
    expected, true = expected_and_true(cluster, exact)
    assert expected == true


@settings(max_examples=20, deadline=None)
@given(jobs=JOBS, policy=st.sampled_from([*POLICIES]))
def test_it_changes_nothing(jobs, policy):
    cluster = OpenCluster(meeting("easy", "flat", policy))
    now = 70
    for number, (submit, nodes, requested, _) in enumerate(sorted(jobs)):
        cluster.submit(ClusterJob(str(number), nodes, requested, submit, paired=True))
    cluster.enter(now)
    ready = cluster.next(now)
    before = [cluster.job(job) for job in cluster.rows.row], cluster.used(), cluster.free, cluster.awaited
    starts = list(Forecast(cluster, now).starts())
    assert {each.job for each in starts} == set(cluster.rows.row)
    assert starts[0] == Foreseen(ready.job, now)
    assert ([cluster.job(job) for job in cluster.rows.row], cluster.used(), cluster.free, cluster.awaited) == before


@pytest.mark.parametrize("pool", ["flat", "partitioned:4x2"])
@settings(max_examples=20, deadline=None)
@given(jobs=JOBS, policy=st.sampled_from([*POLICIES]), meets=st.booleans())
def test_a_job_that_is_not_submitted_would_start_as_if_it_were(pool, jobs, policy, meets):
    cluster = OpenCluster(meeting("easy", pool, policy) if meets else machine(policy, "easy", pool))
    now = 70
    *others, (_, nodes, requested, _) = sorted(jobs)
    for number, (submit, size, limit, _) in enumerate(others):
        cluster.submit(ClusterJob(str(number), cluster.rounded(size), limit, submit, paired=False))
    cluster.enter(now)
    while (ready := cluster.next(now)) is not None:
        cluster.start(ready.job, now)
    before = [cluster.job(job) for job in cluster.rows.row], cluster.used(), cluster.free
    more = ClusterJob("more", cluster.rounded(nodes), requested, now, paired=False)
    would = starts_of(foresee_with(cluster, more, now).starts())
    assert ([cluster.job(job) for job in cluster.rows.row], cluster.used(), cluster.free) == before
    cluster.submit(more)
    assert starts_of(Forecast(cluster, now).starts()) == would


def test_a_job_that_is_not_submitted_fits_into_the_plan():
    """8 nodes: 5 are taken until 10, then a job wants all 8 until 20. 3 for 10 s start now, for 11 s at 20; so do 4."""
    cluster = OpenCluster(machine("fcfs", "easy", "flat"))
    submitted(cluster, 5, 8)
    cluster.enter(0)
    assert cluster.start(cluster.next(0).job, 0).nodes == 5
    assert cluster.next(0) is None
    quotes = [
        starts_of(foresee_with(cluster, ClusterJob("3", nodes, requested, 0, paired=False), 0).starts())["3"]
        for nodes, requested in ((3, 10), (3, 11), (4, 1))
    ]
    assert quotes == [0, 20, 20]


def test_a_hold_ends_in_time_or_never():
    cluster = OpenCluster(machine("fcfs", "easy", "flat"))
    submitted(cluster, 4, 8)
    cluster.enter(0)
    assert cluster.next(0).job == "1"
    cluster.hold("1", 0, 100)
    assert starts_of(Forecast(cluster, 0).starts()) == {"1": 0, "2": 100}
    cluster.ask_again("1")
    cluster.hold("1", 0, 1 << 62)
    assert starts_of(Forecast(cluster, 0).starts()) == {"1": 0}


def test_a_slot_is_kept():
    cluster = OpenCluster(meeting("easy", "flat"))
    submitted(cluster, 8, 8)
    cluster.enter(0)
    cluster.reschedule()
    at = cluster.meeting.quote(Quote("2", 50), 0).at
    assert cluster.meeting.book(Book("2", at, 1), 0).allocation is not None
    assert starts_of(Forecast(cluster, 0).starts()) == {"1": 0, "2": 50}


def test_the_order_of_the_queue():
    cluster = OpenCluster(machine("largest-first", "easy", "flat"))
    submitted(cluster, 2, 7, 5)
    assert cluster.copy().in_order(0) == ["2", "3", "1"]
    assert cluster.next(0).job == "2"
    assert cluster.copy().in_order(0) == ["3", "1"]


def test_of_a_long_queue_only_the_first_jobs_are_played(monkeypatch):
    monkeypatch.setattr("cosched.core.scheduling.forecast.MOST", 2)
    cluster = OpenCluster(machine("largest-first", "easy", "flat"))
    submitted(cluster, 2, 7, 5, 6)
    forecast = Forecast(cluster, 0)
    assert forecast.order == ["2", "4", "3", "1"]
    assert starts_of(forecast.starts()) == {"2": 0, "4": 10}
