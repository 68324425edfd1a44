"""A tiny study of meet, from the command to the page."""

import json
from pathlib import Path

import polars
import pytest

from cosched_papers.studies.meet.design import WORK
from cosched_papers.studies.meet.experiments import ONE_SIDE, REQUESTS, experiments
from cosched_sim.configuration import replay_config
from cosched_sim.studies.measured import Measured
from cosched_sim.studies.running import read_study
from cosched_sim.workload import traces
from cosched_sim.workload.generate import generate
from tests.once import made_once

TINY = ("--days", 1, "--replications", 2, "--further", 1, "--seed", 5, "--workers", 1)


@pytest.fixture
def study(cosched, here, tmp_path, tmp_path_factory) -> Path:  # noqa: ARG001
    """The folder of a tiny study, and what the command printed in its file "printed"."""

    def make(folder: Path) -> None:
        for machine, nodes in (("intrepid", 40_960), ("eureka", 100)):
            jobs = generate(machine, span_s=2 * 86_400, utilisation=0.6, seed=1)
            traces.write_swf(jobs, tmp_path / f"{machine}.swf", {"MaxNodes": str(nodes), "MaxProcs": str(nodes)})
        logs = ("--logs", "intrepid.swf", "eureka.swf")
        (folder / "printed").write_text(cosched("study", "meet", *TINY, *logs, "--out", str(folder)).stdout)

    return made_once(tmp_path_factory, "meet", make)


def test_every_case_has_its_row(study):
    said = read_study(study)
    rows = polars.read_parquet(study / "results.parquet")
    assert len(rows) == len(WORK.cases(said, study))
    assert rows["error"].null_count() == len(rows)
    assert said["windows"][0]["name"] == "intrepid and eureka"
    assert {experiment.name for experiment in experiments(said, study)} == set(rows["experiment"])
    assert {row[0] for row in rows.select("experiment").rows()} >= {REQUESTS, ONE_SIDE, "logs 1", "three machines"}


def test_every_case_is_a_replay_of_its_schemes(study):
    words = {"H": "hold", "Y": "yield", "M": "meet", "B": "yield", "S": "yield", "O": "off"}
    for case in WORK.cases(read_study(study), study):
        config = replay_config("case", dict(case.settings))
        schemes = str(case.labels["schemes"])
        said = ["off"] * len(config.domains) if schemes == "none" else [words[letter] for letter in schemes]
        assert [domain.scheme for domain in config.domains] == said
        slots = [domain.coscheduling_settings().slots for domain in config.domains]
        assert slots == [letter in "MS" for letter in (schemes if schemes != "none" else "O" * len(slots))]


def test_pairs_start_together_and_no_node_is_held(study):
    rows = polars.read_parquet(study / "results.parquet")
    meeting = rows.filter(polars.col("schemes").is_in(["MM", "MMM"]))
    assert meeting["pairs"].sum() == meeting["pairs together"].sum() > 0
    assert meeting.select(polars.max_horizontal("intrepid held", "eureka held")).max().item() == 0
    together = rows.filter(~polars.col("schemes").is_in(["none", "MO", "OM"]))
    assert together["pairs"].sum() == together["pairs together"].sum()


def test_off_on_one_side_is_no_coscheduling(study):
    found = Measured(polars.read_parquet(study / "results.parquet"))
    for machine in ("intrepid", "eureka"):
        waits = [
            found.values(place, f"{machine} unpaired wait")[1]
            for place in (("load", 0.5, "none"), (ONE_SIDE, 0.5, "MO"), (ONE_SIDE, 0.5, "OM"))
        ]
        assert len(set(waits)) == 1


def test_the_page_and_the_terminal_have_the_verdict(study):
    page, printed = (study / "results.md").read_text(), (study / "printed").read_text()
    for text in (
        "Replications: 2 by Eureka's load, 1 of all else",
        "Nothing is decided: comparisons need at least 5 replications.",
    ):
        assert text in page.replace("**", "")
        assert text in printed
    assert "| 0.75 | MM |" in page
    assert "## Real logs" in page
    assert "–  |" not in page
    assert {path.name for path in (study / "tables").iterdir()} == {"averages.csv", "comparisons.csv"}


def test_the_report_of_a_study_is_made_anew(cosched, study, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("study.json", "results.parquet"):
        (out / name).write_bytes((study / name).read_bytes())
    assert cosched("report", "out").stdout == "out/report.html\n"
    for name in ("report.html", "results.md"):
        assert (out / name).read_bytes() == (study / name).read_bytes()
    assert "Nothing is decided" in (out / "report.html").read_text()


def test_recorded_numbers(study):
    """A change of the engine or of the study that changes them must be meant."""
    found = Measured(polars.read_parquet(study / "results.parquet"))
    waits = {load: round(found.mean(("load", load, "MM"), "pair wait").mean, 2) for load in (0.25, 0.5, 0.75)}
    assert waits == {0.25: 4.04, 0.5: 7.01, 0.75: 9.07}


def test_a_study_continues_with_more_replications_and_is_not_mixed_with_another(cosched, study, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    said = json.loads((study / "study.json").read_text())
    (other / "study.json").write_text(json.dumps({**said, "seed": 6}))
    result = cosched("study", "meet", *TINY, "--resume", "--out", "other", exit_code=2)
    assert "study.json: seed is 6 there and 5 now: --resume continues only the same study" in result.stderr
    refused = cosched("study", "meet", *TINY, "--out", str(study), exit_code=2)
    assert "already has results of a sweep; --resume continues it" in refused.stderr
