"""The workloads and measures of the study, and a tiny one from its cases to its page."""

import json

import numpy as np
import polars
import pytest

from cosched_papers.studies.barsanti2006 import BARSANTI, design, measuring, setup
from cosched_papers.studies.barsanti2006.measuring import BIN_NAMES, CLASSES, bin_of, of_jobs, slowdowns
from cosched_papers.studies.barsanti2006.setup import ALPHA_1, NO_BACKFILLING, RULES, SMALLEST, TRADITIONAL, trace_of
from cosched_sim.studies.cases import replayed
from cosched_sim.studies.running import carry_out, rebuild
from cosched_sim.studies.study import Told
from cosched_sim.sweeps.local_workers import local_workers
from cosched_sim.workload.generated import read_generated
from cosched_sim.workload.traces import write_swf

SAID = {"replications": 1, "further": 1, "jobs": 150, "seed": 1, "windows": [], "quick": True}


def run(scheduler: str, **rules):
    settings = setup._domain(trace_of(200, ALPHA_1), 1, SAID, **{**RULES[scheduler], **rules})
    return replayed(settings).domains["machine"]


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_the_batch_scheduler_has_the_order_of_molding(backfill):
    """With the same backfilling its expression schedules every job as the traditional scheduler of molding.md does."""
    batch = run(NO_BACKFILLING, backfill=backfill)
    assert batch.jobs.start.tolist() == run(TRADITIONAL, backfill=backfill).jobs.start.tolist()
    assert batch.jobs.start.tolist() != run(NO_BACKFILLING, backfill="easy", policy="fcfs").jobs.start.tolist()


@pytest.mark.parametrize(
    ("scheduler", "low", "high"),
    [(setup.AT_MOST, 0.5, 1), (setup.AT_LEAST, 1, 2), (SMALLEST, 0.5, 0.5), (setup.CIRNE_BERMAN, 0.5, 2)],
)
def test_sizes_stay_within_their_bounds(scheduler, low, high):
    domain = run(scheduler)
    asked = domain.workload.nodes[domain.allocations.row]
    assert (domain.allocations.nodes >= np.ceil(low * asked)).all()
    assert (domain.allocations.nodes <= np.maximum(np.ceil(low * asked), np.floor(high * asked))).all()


def test_what_is_measured():
    domain = run(SMALLEST)
    row = of_jobs(domain)
    kept = slice(10, 190)
    response = (domain.jobs.end - domain.workload.submit)[kept]
    assert row["response"] == pytest.approx(response.mean() / 3600)
    short = domain.workload.run[kept] < 60
    assert row["short response"] == pytest.approx(response[short].mean() / 3600)
    assert row["short part of the jobs"] == pytest.approx(100 * short.mean())
    assert row["expanded"] == 0 < row["shrunk"]
    assert 0.5 <= row["shrunk to"] < row["size / N_opt"] < 1
    for name in CLASSES:
        assert sum(row[bin_of(name, upto)] for upto in BIN_NAMES) == pytest.approx(100)


def test_slowdowns():
    """5.1: "runtime(N_opt) < bound": max(T_response / bound, 1); else T_response / runtime(N_opt), below 1 possible."""
    assert slowdowns(np.array([20, 90, 20, 80]), np.array([10, 10, 40, 40])).tolist() == [1, 3, 0.5, 2]


def test_utilisation_is_that_between_the_first_and_the_last_job_that_counts():
    domain = run(TRADITIONAL)
    first, last = domain.workload.submit[10], domain.workload.submit[189]
    used = 0
    for start, end, nodes in zip(domain.jobs.start, domain.jobs.end, domain.workload.nodes, strict=True):
        used += max(0, min(end, last) - max(start, first)) * nodes
    assert of_jobs(domain)["utilisation"] == pytest.approx(100 * used / (128 * (last - first)))


def test_jobs_have_a_curve_each_and_are_compared_with_the_sizes_that_they_were_drawn_with(tmp_path):
    of_curves = (case for case in design.WORK.cases(SAID, tmp_path) if case.labels["experiment"] == setup.DOWNEY)
    case = next(case for case in of_curves if case.labels["schemes"] == TRADITIONAL)
    kept, jobs = slice(7, 143), replayed(case.settings).domains["machine"].workload
    assert (jobs.columns["downey_a"] > 0).all()
    asked = read_generated(trace_of(150, ALPHA_1), case.settings["seed"], "test").allocated
    assert case.measures()[measuring.ASKED] == pytest.approx((jobs.nodes / asked)[kept].mean())


def test_windows_of_a_log_share_no_job(tmp_path):
    write_swf(read_generated(trace_of(103, ALPHA_1), 1, "test"), tmp_path / "log.swf", {"MaxNodes": "128"})
    told = Told(print, lambda _: None)
    found = design.cut_windows({"trace": str(tmp_path / "log.swf")}, 1, tmp_path / "logs", told, quick=False)
    assert (found["name"], found["nodes"], found["jobs"], len(found["files"])) == ("log", 128, 20, 5)
    ids = [set(replayed(setup._domain(file, 1, SAID)).domains["machine"].workload.job_id) for file in found["files"]]
    assert len(set.union(*ids)) == 100


def test_a_log_that_is_missing(cosched):
    said = cosched("study", "barsanti2006", "--quick", "--log", "missing.swf", "--out", "out", exit_code=2).stderr
    assert said.startswith("cosched: missing.swf: ")


def test_all_schedulers_of_a_replication_have_the_same_jobs(tmp_path):
    cases = design.WORK.cases({**SAID, "replications": 2, "further": 2}, tmp_path)
    of_w1 = [case.settings for case in cases if case.labels["experiment"] in (setup.W1, setup.LIMITS, setup.IDEAL)]
    assert {each["seed"] for each in of_w1} == {1, 2}
    assert {each["domains"][0]["trace"] for each in of_w1} == {trace_of(150, ALPHA_1)}
    assert len({case.key for case in cases}) == len(cases)


@pytest.mark.soak
def test_a_tiny_study(tmp_path, monkeypatch):
    """All cases run; every claim has a verdict, and every figure is drawn."""
    monkeypatch.setattr(design, "QUICK_JOBS", 100)
    write_swf(read_generated(trace_of(300, ALPHA_1), 1, "test"), tmp_path / "log.swf", {"MaxNodes": "128"})
    logs = [{"trace": str(tmp_path / "log.swf")}]
    given = {
        "command": "cosched study barsanti2006", "quick": True, "replications": 1, "seed": 1, "logs": logs,
        "further": None,
    }  # fmt: skip
    out = tmp_path / "out"
    with local_workers(1) as one:
        carry_out(BARSANTI, given, out, one, Told(print, lambda _: None), resume=False)
    assert rebuild(out).failed == 0
    said = json.loads((out / "study.json").read_text())
    assert len(polars.read_parquet(out / "results.parquet")) == len(design.WORK.cases(said, out))
    text = (out / "results.md").read_text()
    assert "| no result |" not in text
    assert "log: 128 nodes, 2 windows of 150 jobs" in text
    assert len(list((out / "figures").glob("*.svg"))) == 11
