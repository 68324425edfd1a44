"""A small cut of generated traces through two real clusters, beside the simulator's prediction."""

import json
from pathlib import Path

import polars
import pytest

from deploy.slurm.trace.__main__ import main
from tests.slurm.cosched_hooks import check_for_compiler

JOBS = 30
DRAWN = f"jobs={JOBS}/days=0.03/utilisation=0.3/seed=7"
LOGS = ("--intrepid", f"generated:intrepid/{DRAWN}", "--eureka", f"generated:eureka/{DRAWN}", "--pair-window", "90s")
PACE = ("--speed", "1440", "--release-interval", "2", "--backoff", "1", "--try-patience", "1.2")


@pytest.mark.soak
def test_pairs_of_a_trace_start_together_on_real_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_for_compiler()
    assert main([*LOGS, *PACE, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for schemes in ("HH", "YY"):
        slurm, simulator = (read(tmp_path / schemes / of) for of in ("slurm", "simulator"))
        assert_all_ran_with_their_mates(slurm)
        same = ["domain", "job_id", "nodes", "requested_s", "pair", "mate_job_id"]
        assert slurm.select(same).equals(simulator.select(same))
        assert f"{slurm.filter(polars.col('domain') == 'eureka')['pair'].count()} pairs together in Slurm" in printed
    assert printed.count("mean sync time (s)") == 2 * 2


def read(folder: Path) -> polars.DataFrame:
    assert json.loads((folder / "summary.json").read_text())["pairs"]["never"] == 0
    return polars.read_csv(
        folder / "jobs.csv", schema_overrides=dict.fromkeys(("job_id", "mate_job_id"), polars.String)
    )


def assert_all_ran_with_their_mates(jobs: polars.DataFrame) -> None:
    assert jobs.height == 2 * JOBS
    assert jobs["state"].to_list() == ["completed"] * 2 * JOBS
    starts = jobs.drop_nulls("pair").group_by("pair").agg(polars.col("start"))["start"].to_list()
    assert len(starts) > JOBS // 4
    assert all(len(both) == 2 and both[0] == both[1] for both in starts)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--intrepid", "nowhere.swf"], "nowhere.swf: "),
        (["--eureka", "generated:mira"], "no machine is called 'mira'"),
        (["--eureka", "generated:eureka/jobs=5,speed=3"], "--eureka:speed: no key of a log"),
        (["--eureka", "generated:eureka/jobs=9/days=9,cut=1d.."], "--pair-window: no jobs are submitted within 60 s"),
    ],
)
def test_what_cannot_be_played_is_said_in_one_line(arguments, reason, capsys) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
