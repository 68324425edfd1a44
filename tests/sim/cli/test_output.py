"""Files of a run, from the Python API."""

import json
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from cosched.schedulers.batch import BATCH
from cosched.schedulers.kind import SchedulerKind
from cosched.validation.types import Number, Settings
from cosched_sim import Domain, replay
from cosched_sim.reports import of_replay
from cosched_sim.results import output
from cosched_sim.results.output import RunInfo, summary, write_run
from cosched_sim.results.staging import staged
from tests.cli.conftest import tree

INFO = RunInfo("a test", 5, time.perf_counter())


@pytest.fixture
def result(logs, tmp_path):  # noqa: ARG001 (its files are used)
    domains = [Domain(name="a", trace=tmp_path / "a.swf"), Domain(name="b", trace=tmp_path / "b.swf.gz")]
    return replay(domains, pair_window="2m")


@pytest.mark.parametrize("rows", [1, 3, 8, 1000])
def test_jobs_are_the_same_whatever_the_pieces(result, tmp_path, monkeypatch, rows):
    monkeypatch.setattr(output, "ROWS_AT_ONCE", rows)
    write_run(result, tmp_path / "run", INFO)
    assert (tmp_path / "run/jobs.csv").read_text() == result.jobs.drop("wait_s").write_csv()


def test_the_summary(result, tmp_path):
    said = write_run(result, tmp_path / "run", INFO)
    assert json.loads((tmp_path / "run/summary.json").read_text()) == said
    assert (said["command"], said["seed"]) == ("a test", 5)
    assert said["timing"]["write_s"] > 0
    assert said["timing"]["wall_s"] >= said["timing"]["write_s"]
    assert {**summary(result, INFO), "timing": 0} == {**said, "timing": 0}


def test_the_summary_has_plain_values_whatever_a_kind_of_scheduler_tells(result, tmp_path, monkeypatch):
    class NumberKeys(Settings):
        share: Number = Decimal("0.25")

    class NumberKind(type(BATCH)):
        name, keys = "numbers", NumberKeys

        def facts(self, _, counts, ended):
            told = {"third": Fraction(1, 4), "counted": np.int64(3), "each": np.array([1, 2]), "file": Path("a.toml")}
            return SchedulerKind.facts(self, NumberKeys(), {**counts, **told, "endless": Decimal("inf")}, ended)

    monkeypatch.setattr(Domain, "scheduler_kind", NumberKind())
    write_run(result, tmp_path / "run", INFO)
    said = json.loads((tmp_path / "run/summary.json").read_text())["domains"]["a"]["numbers"]
    assert said == {"share": 0.25, "third": 0.25, "counted": 3, "each": [1, 2], "file": "a.toml", "endless": None}


def _fail(*_):
    raise ZeroDivisionError


def test_a_run_that_fails_half_way_keeps_what_it_has_written(result, tmp_path, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(type(BATCH), "facts", _fail)
        with pytest.raises(ZeroDivisionError) as caught:
            write_run(result, tmp_path / "run", INFO)
    kept = tmp_path / "run/unfinished-run"
    assert caught.value.__notes__ == [f"What was written before is in {kept}"]
    assert (kept / "jobs.csv").read_text() == result.jobs.drop("wait_s").write_csv()
    write_run(result, tmp_path / "run", INFO)
    assert not kept.exists()


def _fail_half_way(folder, error):
    with staged(folder) as stage:
        (stage / "file").write_text("half")
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_run_that_is_interrupted_or_cannot_be_written_leaves_nothing(tmp_path, error):
    with pytest.raises(error):
        _fail_half_way(tmp_path / "x/y", error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ZeroDivisionError()])
def test_a_report_that_fails_loses_no_replay(cosched, logs, tmp_path, monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setattr(of_replay, "write_report", fail)
    later = "all but the report is written: cosched report run draws it"
    if isinstance(error, OSError):
        said = cosched("replay", *logs, "--out", "run", exit_code=1).stderr
        assert said.splitlines()[-1] == f"cosched: run: No space left on device; {later}"
    else:
        cosched("replay", *logs, "--out", "run", exit_code=1)
        assert error.__notes__ == [later]
    assert tree(tmp_path / "run") == ["holds.csv", "jobs.csv", "summary.json", "yields.csv"]


def test_staged_files_replace_others_and_only_those(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "file").write_text("old")
    with staged(tmp_path) as stage:
        (stage / "file").write_text("new")
        (stage / "sub").mkdir()
        (stage / "sub/file").write_text("new")
        assert (tmp_path / "file").read_text() == "old"
    assert tree(tmp_path) == ["file", "old", "sub/file"]
    assert (tmp_path / "file").read_text() == "new"


def test_an_error_names_the_folder(tmp_path):
    with pytest.raises(OSError, match="Is a directory") as caught, staged(tmp_path / "run") as stage:
        stage.write_text("not a file")
    assert caught.value.filename == str(tmp_path / "run")
