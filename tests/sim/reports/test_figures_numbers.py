"""The numbers behind a replay's figures against slow, obvious computations from its jobs, holds and yields."""

import numpy as np
import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cosched_sim as sim
from cosched_sim.reports.figures.actions import actions_figure, held_figure
from cosched_sim.reports.figures.distributions import slowdown_figure, sync_figure, wait_figure
from cosched_sim.reports.figures.mates import mates_figure
from cosched_sim.reports.figures.replay_figures import arrivals_figure, occupancy_figure, queue_figure
from cosched_sim.reports.figures.who_waits import who_waits_figure
from cosched_sim.reports.run import Run
from tests.sim.reports.runs import domain, run_of, tables

SMALL = "generated:eureka/jobs=150/days=2/utilisation=0.9"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Two busy clusters with many pairs: holds, releases and yields."""
    folder = tmp_path_factory.mktemp("run")
    domains = [sim.Domain(name="A", trace=f"{SMALL}/seed=1"), sim.Domain(name="B", trace=SMALL, scheme="yield")]
    return run_of(folder, domains, pair_fraction=0.4, seed=5)


def busy(rows: polars.DataFrame, begin: str, end: str, at: int) -> int:
    return sum(r["nodes"] for r in rows.to_dicts() if r[begin] <= at < r[end])


def check_occupancy(run: Run) -> None:
    for domain_, table in tables(run, occupancy_figure(run).table):
        for row in table.to_dicts():
            running = [busy(domain_.jobs, "start", "end", at) for at in (row["from_s"], row["to_s"] - 1)]
            held = busy(domain_.holds, "begin", "end", row["from_s"])
            assert running == [row["running"]] * 2 == [row["running_max"]] * 2
            assert held == row["held"] == row["held_max"]
            assert row["idle"] == domain_.nodes - row["running"] - row["held"] >= 0


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 50), st.integers(1, 8)), min_size=2, max_size=10))
def test_at_every_instant_nodes_run_are_held_or_are_idle_as_the_jobs_say(tmp_path, rows):
    rows = sorted(rows)
    domains = [domain("A", 8, *rows), domain("B", 8, *((s // 2, r, 9 - n) for s, r, n in rows))]
    check_occupancy(run_of(tmp_path, domains, [(1, 2), (2, 1)]))


def test_occupancy_adds_up_to_the_node_seconds_of_the_summary(run):
    for domain_, table in tables(run, occupancy_figure(run).table):
        seconds = table["to_s"] - table["from_s"]
        summary = domain_.summary
        assert (table["held"] * seconds).sum() == pytest.approx(summary["held_node_seconds"])
        used = summary["utilisation"] * summary["makespan_s"] * domain_.nodes
        assert (table["running"] * seconds).sum() == pytest.approx(used)


def test_the_queue_holds_every_job_from_its_submission_to_its_start(run):
    for domain_, table in tables(run, queue_figure(run).table):
        jobs = domain_.jobs.to_dicts()
        for row in table.to_dicts()[::7]:
            waiting = [j for j in jobs if j["submit"] <= row["from_s"] < j["start"]]
            assert row["waiting"] == row["waiting_max"] == len(waiting)
            assert row["waiting_paired_max"] == sum(j["pair"] is not None for j in waiting)
        assert table["waiting_max"].max() == domain_.summary["queue_length"]["max"]


def test_distributions_are_the_shares_of_the_jobs_that_are_at_most_as_large(run):
    wait = polars.col("start") - polars.col("submit")
    for figure, key, measure in (
        (wait_figure(run), "wait_s", wait),
        (slowdown_figure(run), "slowdown", (wait + polars.col("run_s")) / polars.col("run_s")),
    ):
        for domain_, table in tables(run, figure.table):
            paired = polars.col("pair").is_not_null()
            for group, chosen in {"all": True, "paired": paired, "unpaired": ~paired}.items():
                values = domain_.jobs.filter(chosen).select(measure.alias(key))[key]
                points = table.filter(polars.col("jobs") == group)
                assert points["share"].to_list() == [(values <= value).mean() for value in points[key]]
                assert points[key].max() == pytest.approx(domain_.summary[group][key]["max"])
    for domain_, table in tables(run, sync_figure(run).table):
        assert table["sync_s"].max() == domain_.summary["paired"]["sync_s"]["max"]


def test_holds_releases_and_yields_are_counted_once(run):
    total = 0
    for domain_, table in tables(run, actions_figure(run).table):
        counted = {key: table[key].sum() for key in ("holds", "releases", "yields")}
        assert counted == {key: domain_.summary[key] for key in counted}
        total += sum(counted.values())
        for row in table.to_dicts():
            begun = [b for b in domain_.holds["begin"] if row["from_s"] <= b < row["to_s"]]
            assert row["holds"] == len(begun)
    assert total > 20


def test_held_node_hours_add_up_to_the_summary(run):
    for domain_, table in tables(run, held_figure(run).table):
        assert table["held_node_hours"].sum() * 3600 == pytest.approx(domain_.summary["held_node_seconds"])
        shares = table["held_node_hours"] / ((table["to_s"] - table["from_s"]) / 3600 * domain_.nodes)
        assert table["held_share"].to_list() == pytest.approx(shares.to_list())


def test_every_pair_is_counted_once_by_the_gap_between_its_ready_times(run):
    a, b = (dict(d.jobs.select("pair", "ready").drop_nulls().iter_rows()) for d in run.domains)
    gaps = [b[pair] - a[pair] for pair in a]
    table = mates_figure(run).table
    assert table["pairs"].sum() == len(gaps) == run.summary["pairs"]["pairs"]
    for row in table.to_dicts():
        signed = {"A": gaps, "B": [-gap for gap in gaps], "": [gap for gap in gaps if gap == 0]}[row["ready_first"]]
        chosen = [gap for gap in signed if row["from_s"] <= gap < (row["below_s"] or 2**62)]
        assert row["pairs"] == (0 if row["from_s"] == 0 and row["ready_first"] else len(chosen))


def test_arrivals_are_the_submissions_and_their_work(run):
    for domain_, table in tables(run, arrivals_figure(run).table):
        assert (table["paired"] + table["unpaired"]).sum() == len(domain_.jobs)
        assert table["paired"].sum() == domain_.summary["paired"]["jobs"]
        row = table.to_dicts()[3]
        jobs = domain_.jobs.filter(polars.col("submit").is_between(row["from_s"], row["to_s"], closed="left"))
        capacity = domain_.nodes * (row["to_s"] - row["from_s"])
        assert row["offered_load"] == pytest.approx((jobs["nodes"] * jobs["run_s"]).sum() / capacity)


def test_mean_waits_by_size_and_run_time(run):
    for domain_, table in tables(run, who_waits_figure(run).table):
        assert table["jobs"].sum() == len(domain_.jobs)
        mean = domain_.summary["all"]["wait_s"]["mean"]
        assert np.average(table["mean_wait_s"], weights=table["jobs"]) == pytest.approx(mean)
        for row in table.to_dicts():
            jobs = domain_.jobs.filter(
                polars.col("nodes").is_between(row["nodes_from"], row["nodes_to"]),
                polars.col("run_s").is_between(row["run_from_s"], row["run_below_s"] or 2**60, closed="left"),
            )
            assert row["jobs"] == len(jobs)
            assert row["mean_wait_s"] == pytest.approx((jobs["start"] - jobs["submit"]).mean())
