"""Files of a run, from the Python API."""

import json
import time

import pytest

from cosched.sim import Domain, replay
from cosched.sim.results import output
from cosched.sim.results.output import RunInfo, summary, write_run
from cosched.sim.results.staging import staged
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
    without_files = summary(result, INFO)
    assert {**without_files, "timing": 0} == {**said, "timing": 0}


def _fail_half_way(folder):
    with staged(folder) as stage:
        (stage / "file").write_text("half")
        raise ZeroDivisionError


def test_an_error_while_staged_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        _fail_half_way(tmp_path / "x/y")
    assert list(tmp_path.iterdir()) == []


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
