"""A scheduler that resizes, preempts and restarts running jobs at random, paired with a batch domain."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars
import pytest

from cosched.core.allocation import Allocation
from cosched.core.job import JobState
from cosched.sim.reports.figures.series import running
from cosched.sim.reports.gantt.layout import Pieces, lay_out
from cosched.sim.reports.of_replay import write_report
from cosched.sim.reports.run import RunDomain, read_run
from cosched.sim.results.output import RunInfo, write_run
from cosched.workload.allocations import AllocationEnd
from tests.core.restless import work_done
from tests.sim.restless_pair import Played
from tests.tiers import seeds


@pytest.mark.parametrize("seed", seeds(6, 300))
def test_what_must_always_hold_does(seed):
    done = Counter()
    for number in range(8):
        played = Played(100 * seed + number)
        done += played.scheduler.done
        assert played.checks
        check_work(played)
        check_allocations(played)
        check_pairs(played)
    assert min(done["preempted"], done["resized"]) > 0, done


def test_running_jobs_lose_nodes_for_jobs_that_mates_ask_for():
    assert any(Played(seed).scheduler.done["made room"] for seed in range(20))


def check_work(played: Played) -> None:
    """Every job ends in the first second in which its work is done, which is on what it had last."""
    run = played.setups[0].workload.run.tolist()
    for row, outcome in enumerate(played.outcomes[0]):
        assert outcome.state == JobState.COMPLETED
        told = played.scheduler.told[played.job_name(row)]
        last = told[-1]
        assert isinstance(last, Allocation)
        assert outcome.end <= last.expected
        assert work_done(told, outcome.end) >= run[row]
        assert outcome.end == last.start or work_done(told, outcome.end - 1) < run[row]


def check_allocations(played: Played) -> None:
    """The allocations of a job do not overlap; together they are what was busy."""
    for row, mine in enumerate(played.rows()):
        outcome = played.outcomes[0][row]
        assert [number for number, *_ in mine] == list(range(1, len(mine) + 1))
        assert mine[0][2] == outcome.start
        assert [ended for *_, ended in mine].count(AllocationEnd.COMPLETED) == 1
        assert mine[-1][3:] == (outcome.end, AllocationEnd.COMPLETED)
        for (_, _, _, end, how), (_, _, start, _, _) in pairwise(mine):
            assert end == start if how == AllocationEnd.RESIZED else end <= start
    table = played.allocations
    assert int(table.nodes @ (table.end - table.start)) == played.scheduler.busy_seconds


def check_pairs(played: Played) -> None:
    """Mates start together, at first, whatever becomes of them later."""
    starts: Sequence[Sequence[int]] = [[job.start for job in outcomes] for outcomes in played.outcomes]
    for domains, rows in zip(played.pairing.domain.tolist(), played.pairing.job.tolist(), strict=True):
        one, other = (starts[domain][row] for domain, row in zip(domains, rows, strict=True))
        assert one == other


@pytest.mark.parametrize("seed", range(4))
def test_results_tell_what_each_job_had(seed, tmp_path):
    played = Played(seed)
    said = write_run(played.result(), tmp_path, RunInfo("restless", seed, time.perf_counter()))
    restless, batch = read_run(tmp_path).domains
    assert batch.allocations is None
    assert len(restless.allocations) == len(played.allocations.row)
    span = restless.last - restless.first
    assert said["domains"]["A"]["utilisation"] == played.scheduler.busy_seconds / (restless.nodes * span)
    busy = running(restless).means(np.array([restless.first, restless.last]))
    assert busy[0] * span == pytest.approx(played.scheduler.busy_seconds)
    check_layout(restless, lay_out(restless).runs)


def check_layout(domain: RunDomain, runs: Pieces) -> None:
    """Each allocation has its nodes, and no node two jobs; a job that is resized keeps what it can."""
    pieces = list(zip(*(getattr(runs, name).tolist() for name in runs.__slots__), strict=True))
    nodes = defaultdict(set)
    for job, first, count, begin, end in pieces:
        nodes[job, begin, end] |= set(range(first, first + count))
    had = domain.runs.filter(polars.col("start") < polars.col("end"))
    assert {key: len(taken) for key, taken in nodes.items()} == {(job, *span): n for job, n, *span in had.rows()}
    for (job, begin, end), taken in nodes.items():
        for (other, from_, to), others in nodes.items():
            if job == other and to == begin:
                assert len(taken & others) == min(len(taken), len(others))
            if job != other and from_ < end and begin < to:
                assert not taken & others


@pytest.mark.soak  # allocations are drawn of fluid domains, too
def test_a_report_draws_allocations(tmp_path):
    write_run(Played(1).result(), tmp_path, RunInfo("restless", 1, time.perf_counter()))
    assert "allocations.csv" in [path.name for path in tmp_path.iterdir()]
    assert write_report(tmp_path).exists()


def test_a_run_in_which_jobs_had_what_they_asked_for_has_no_table_of_allocations(tmp_path):
    played = Played(1)
    played.had = None
    write_run(played.result(), tmp_path, RunInfo("restless", 1, time.perf_counter()))
    assert "allocations.csv" not in [path.name for path in tmp_path.iterdir()]
