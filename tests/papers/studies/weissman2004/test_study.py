"""A tiny study, from its cases to its page; and how its numbers are decided."""

import json
import math
from dataclasses import replace

import numpy as np
import polars
import pytest

from cosched_papers.studies.weissman2004 import WEISSMAN, design, measuring, readings, setup
from cosched_papers.studies.weissman2004.cases import cases
from cosched_papers.studies.weissman2004.comparisons import statements
from cosched_papers.studies.weissman2004.goodness import goodness
from cosched_papers.studies.weissman2004.measuring import TOTAL, WAIT
from cosched_papers.studies.weissman2004.results import Results, at_load
from cosched_papers.studies.weissman2004.setup import BEST, IDEAL_ONLY, LOAD, SDSC, SHARES, Plan, fluid, percent
from cosched_sim.results.estimate import Estimate
from cosched_sim.studies.cases import labels
from cosched_sim.studies.paper import INPUT, compare
from cosched_sim.studies.running import carry_out, rebuild
from cosched_sim.studies.study import Told
from cosched_sim.studies.verdicts import FAILS, HOLDS, OPEN, Range
from cosched_sim.sweeps.case import run_case
from cosched_sim.sweeps.local_workers import local_workers
from cosched_sim.workload import fitted
from cosched_sim.workload.sdsc import SDSC as MODEL
from cosched_sim.workload.traces import write_swf

PLAN = Plan(traces=1, jobs=80, user_jobs=24, seed=1, quick=True)


@pytest.fixture
def log(tmp_path):
    write_swf(MODEL.log(800, None, seed=1), tmp_path / "sp2.swf")
    return str(tmp_path / "sp2.swf")


@pytest.mark.soak
def test_a_tiny_study(tmp_path, monkeypatch, log):
    """All cases run; every number has a result, every claim a verdict, and every figure is drawn."""
    monkeypatch.setattr(design, "QUICK_JOBS", 60)
    monkeypatch.setattr(design, "USER_JOBS", 12)
    given = {"command": "cosched study weissman2004 --quick", "quick": True, "traces": 1, "seed": 5, "log": [log]}
    out = tmp_path / "out"
    with local_workers(1) as one:
        carry_out(WEISSMAN, given, out, one, Told(print, lambda _: None), resume=False)
    assert rebuild(out).failed == 0
    said = json.loads((out / "study.json").read_text())
    assert len(polars.read_parquet(out / "results.parquet")) == len(cases(design.plan_of(said)))
    text = (out / "results.md").read_text()
    assert not [line for line in text.splitlines() if "| no result |" in line and "Wait" not in line]
    assert "## Goodness of fit" in text
    assert "| sp2, load 0.654 |" in text
    assert "whoever fits overtakes" in text
    assert json.loads((out / "study.json").read_text())["fits"][0]["name"] == "sp2"
    assert len(list((out / "figures").glob("*.svg"))) == 9


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_first_reading_is_that_of_the_kernels(share):
    jobs, nodes = measuring.jobs_of(fluid(PLAN.sp2(SDSC, 1.2, 1), share))
    slow, fast = readings.by_readings(jobs, nodes), measuring.policies(jobs, nodes)
    for name, _ in readings._policies(nodes):
        for measure in (WAIT, TOTAL):
            assert slow[f"{readings.AS_HERE}: {name} {measure}"] == fast[f"{name} {measure}"]


def test_jobs_that_may_not_choose_run_as_in_the_batch_scheduler():
    """IDEAL-ONLY is MOLDABLE, if the least size is the ideal."""
    trace = PLAN.sp2(SDSC, 1.2, 1)
    jobs, nodes = measuring.jobs_of(fluid(trace, 1))
    found, ideal = measuring.final(jobs, nodes), measuring.on_ideal(trace)
    assert found[f"{setup.MOLDABLE} {WAIT}"] == found[f"{BEST} {WAIT}"] == ideal[f"{IDEAL_ONLY} {WAIT}"]
    assert ideal[f"{setup.BACKFILL} {WAIT}"] <= ideal[f"{IDEAL_ONLY} {WAIT}"]


def test_all_policies_of_a_trace_are_on_the_same_jobs():
    found = [case for case in cases(PLAN) if case.labels["experiment"] in ("linear", "parabolic")]
    assert len({case.settings["domains"][0]["trace"] for case in found}) == 1
    assert len({case.key for case in cases(replace(PLAN, traces=2))}) == len(cases(replace(PLAN, traces=2)))
    row = run_case(found[0])
    assert row["error"] is None
    assert {
        f"{policy} {level} = or better" for policy in ("Even-H-FQ", "Low-Imp-FR") for level in ("3", "no limit")
    } < set(row)


def results(ideal: list[float], best: list[float]) -> Results:
    rows = []
    for trace, (one, other) in enumerate(zip(ideal, best, strict=True), 1):
        best_at = [(f"sdsc, {percent(share)}", f"{BEST} wait", other) for share in SHARES]
        for place, column, value in (("sdsc, ideal", f"{IDEAL_ONLY} wait", one), *best_at):
            rows.append({**labels("load", LOAD, place, trace), "error": None, column: value})
    return Results(polars.DataFrame(rows, infer_schema_length=None))


def test_a_ratio_is_that_of_means_with_the_interval_of_its_residuals():
    found = results([80, 120, 70], [1, 2, 1]).factor(SDSC, LOAD, IDEAL_ONLY, WAIT)
    residuals = np.array([80, 120, 70]) - 270 / 4 * np.array([1, 2, 1])
    assert found.mean == 270 / 4
    assert found.half == pytest.approx(4.302653 * residuals.std(ddof=1) / np.sqrt(3) / (4 / 3), rel=1e-5)
    assert results([1, 2], [0, 0]).factor(SDSC, LOAD, IDEAL_ONLY, WAIT) is None
    assert results([80, 120], [1, 2]).spread(
        at_load(SDSC, LOAD, IDEAL_ONLY, WAIT), at_load(SDSC, LOAD, BEST, WAIT)
    ) == (60, 80)


@pytest.mark.parametrize(
    ("low", "high", "given", "mean", "half", "agrees"),
    [
        (70, math.inf, "", 71, 0.1, HOLDS), (70, math.inf, "", 71, 2, OPEN), (70, math.inf, "", 69, 2, OPEN),
        (1.5, 20.5, "", 21, 0.1, FAILS), (2.445, 2.455, "", 3.2, 0.1, FAILS), (1.775, 1.785, "set", 1.78, 0.1, INPUT),
        (1.775, 1.785, "fitted", 1.9, 0.01, INPUT),
    ],
)  # fmt: skip
def test_what_agrees(low, high, given, mean, half, agrees):
    one = replace(statements()[0], fits=Range(low, high), input=given, ours=lambda _: {"": Estimate(mean, half)})
    compared = compare(one, results([1], [1]))
    assert compared.agrees == agrees
    assert ("off by 5 % at most" in compared.ours) is (mean == 21)
    assert ("not met" in compared.ours) is (mean == 1.9)


def test_goodness_of_fit(log):
    """The distances are small for a log that was drawn from the model, and the histograms are shares."""
    found = goodness(log)
    assert found["shape"] == fitted.fitted_file(log, 128).shape
    assert all(distance < 0.1 for distance in found["distances"].values())
    assert all(sum(shares) == pytest.approx(100) for both in found["histograms"].values() for shares in both.values())


def test_the_goodness_of_fit_of_the_sp2(traces):
    """4.2: "While the fit is not perfect, it captures the initial spike and tail-off effect"."""
    found = goodness(str(traces / "SDSC-SP2-1998.first5000.swf.gz"))
    assert {name: round(distance, 2) for name, distance in found["distances"].items()} == {
        "hour": 0.05, "gap": 0.2, "size": 0.0, "run": 0.13,
    }  # fmt: skip
    for of in ("gap", "run"):
        assert found["histograms"][of]["model"][0] == max(found["histograms"][of]["model"]) > 40


def test_a_log_that_is_missing_is_named_by_the_command(cosched):
    said = cosched("study", "weissman2004", "--quick", "--log", "missing.swf", "--out", "out", exit_code=2).stderr
    assert said.startswith("cosched: missing.swf: ")
