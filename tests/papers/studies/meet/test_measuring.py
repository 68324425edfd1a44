"""What one replay measures, on small workloads whose schedules are plain."""

import numpy as np
import pytest

import cosched_sim as sim
from cosched_papers.studies.meet import measuring
from cosched_papers.studies.meet.measuring import measures
from cosched_sim.workload.jobs import Workload

MINUTE = 60


def workload(name: str, *jobs: tuple[int, int, int]) -> Workload:
    """Jobs as (submit, run, nodes) in minutes; users know their run times."""
    submit, run, nodes = (np.array(column, np.int64) for column in zip(*jobs, strict=True))
    return Workload(name, np.arange(1, len(jobs) + 1), submit * MINUTE, run * MINUTE, nodes, run * MINUTE)


def replay(folder, scheme: str, a: Workload, b: Workload):
    """Job 2 of a and job 1 of b are mates."""
    (folder / "pairs.csv").write_text("a,b\n2,1\n")
    same = {"nodes": 10, "scheme": scheme, "policy": "fcfs", "release_interval": 0, "max_held_fraction": 1}
    domains = [sim.Domain(name=jobs.source, trace=jobs, **same) for jobs in (a, b)]
    return sim.replay(domains, pairs=folder / "pairs.csv", events=True)


A = workload("a", (0, 40, 10), (10, 50, 10), (20, 30, 10))
B = workload("b", (5, 50, 10), (60, 10, 10))


@pytest.fixture
def found(tmp_path):
    base, held = (replay(tmp_path, scheme, A, B) for scheme in ("off", "hold"))
    return measures(held, base)


def test_a_pair_waits_from_its_later_submission(found):
    """The later one is at 10, and a's machine is busy until 40; b holds meanwhile, from 5 on."""
    assert found[measuring.PAIR_WAIT] == found[measuring.PAIR_LONGEST] == 30
    assert (found[measuring.PAIRS], found[measuring.TOGETHER]) == (1, 1)
    assert found[f"b {measuring.SYNC}"] == 35
    assert found[f"b {measuring.HELD}"] == pytest.approx(100 * 35 / 95)
    assert found[measuring.CALLS] > 0
    assert found[measuring.PROPOSALS] == 0


def test_jobs_without_mates_lose_and_win_against_no_coscheduling(found):
    """b's second job starts at 90 and not at 60; a's third starts at 90 in both."""
    assert found[f"b {measuring.LOSERS}"] == 100
    assert found[f"b {measuring.LOSS}"] == found[f"b {measuring.MOST_LOST}"] == 30
    assert found[f"a {measuring.LOSERS}"] == found[f"a {measuring.WINNERS}"] == 0
    assert found[f"a {measuring.LOSS}"] is None


def test_nodes_are_idle_only_while_somebody_waits(tmp_path):
    """b is busy from 0 to 50 and free until 60, when nobody waits."""
    base = replay(tmp_path, "off", A, B)
    assert measures(base, base)[f"b {measuring.IDLE}"] == 0
    waiting = replay(tmp_path, "off", A, workload("b", (0, 50, 6), (0, 10, 6), (0, 100, 1), (100, 10, 1)))
    # The second job waits from 0 to 50; 3 nodes are idle meanwhile.
    assert measures(waiting, waiting)[f"b {measuring.IDLE}"] == pytest.approx(100 * 3 * 50 / (10 * 100))
