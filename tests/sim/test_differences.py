"""Differences between replays of the same jobs: means by job, intervals by batches."""

import statistics

import pytest

from cosched_sim import Domain, replay
from cosched_sim.results.differences import BATCHES, differences

DOMAINS = ("generated:intrepid/jobs=300/days=1/utilisation=0.9", "generated:eureka/jobs=60/days=1/utilisation=0.5")


def result(scheme, **options):
    settings = [Domain(name=n, trace=t, scheme=scheme) for n, t in zip(("intrepid", "eureka"), DOMAINS, strict=True)]
    return replay(settings, pair_window="5m", seed=3, **options)


@pytest.fixture(scope="module")
def none():
    return result("off")


def test_the_interval_is_that_of_the_means_of_twenty_batches(none):
    held = result("hold")
    jobs = [run.jobs.filter(run.jobs["domain"] == "intrepid") for run in (none, held)]
    longer = (jobs[1]["start"] - jobs[0]["start"]).to_list()
    batches = [statistics.fmean(longer[at : at + 15]) for at in range(0, 300, 15)]
    assert len(batches) == BATCHES
    found = differences(none, held)
    assert found["intrepid"]["wait_s"]["mean"] == pytest.approx(statistics.fmean(longer))
    half = 2.093 * statistics.stdev(batches) / 20**0.5  # the quantile of Student's t for 19 degrees of freedom
    assert found["intrepid"]["wait_s"]["ci95"] == pytest.approx(half, rel=1e-4)
    assert found["eureka"]["wait_s"]["ci95"] is None  # three jobs in a batch tell nothing
    assert found["eureka"]["wait_s"]["mean"] is not None


def test_a_replay_differs_in_nothing_from_itself(none):
    for measures in differences(none, none).values():
        assert {value["mean"] for value in measures.values()} == {0}


def test_jobs_that_failed_in_one_of_the_replays_are_left_out(none, tmp_path):
    script = tmp_path / "script"
    script.write_text("12h down intrepid 40960\n13h up intrepid 40960\n")
    failed = result("off", script=script)
    summary = failed.summary()["domains"]["intrepid"]
    assert summary["failed"] > 0
    jobs = failed.jobs.filter(failed.jobs["domain"] == "intrepid", failed.jobs["state"] == "completed")
    slowdowns = ((jobs["end"] - jobs["submit"]) / jobs["run_s"]).to_list()
    assert summary["all"]["slowdown"]["mean"] == pytest.approx(statistics.fmean(slowdowns))
    both = none.jobs.join(jobs, on=["domain", "job_id"], suffix=" failed")
    longer = (both["start failed"] - both["start"]).mean()
    assert differences(none, failed)["intrepid"]["wait_s"]["mean"] == pytest.approx(longer)
