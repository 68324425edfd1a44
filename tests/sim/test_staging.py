"""What an older run has left in a folder goes when another takes its place, and nothing else does."""

import json
from pathlib import Path

from cosched_sim.results.staging import staged
from tests.cli.conftest import tree


def write(folder: Path, *files: str, compared: tuple[str, ...] = ()) -> None:
    """A run, or a comparison, as the commands stage it."""
    with staged(folder) as stage:
        for name in (*files, *(f"{name}/{file}" for name in compared for file in ("summary.json", "jobs.csv"))):
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_text("new")
        if compared:
            (stage / "comparison.json").write_text(json.dumps({"combinations": {name: {} for name in compared}}))


def test_a_comparison_leaves_nothing_of_an_older_run(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, "summary.json", "jobs.csv", "events.jsonl", "report.html", "figures/queue.svg")
    write(tmp_path, compared=("none", "HH"))
    kept = ["HH/jobs.csv", "HH/summary.json", "comparison.json", "none/jobs.csv", "none/summary.json", "notes.txt"]
    assert tree(tmp_path) == kept


def test_a_run_leaves_nothing_of_an_older_comparison(tmp_path):
    write(tmp_path, "report.html", "figures/waits.png", compared=("none", "HH"))
    (tmp_path / "HH" / "notes.txt").write_text("mine")
    write(tmp_path, "summary.json", "jobs.csv", "figures/queue.svg")
    assert tree(tmp_path) == ["HH/notes.txt", "figures/queue.svg", "jobs.csv", "summary.json"]
    assert not (tmp_path / "none").exists()


def test_a_comparison_leaves_nothing_of_another_with_more_domains(tmp_path):
    write(tmp_path, compared=("none", "HHH"))
    write(tmp_path, compared=("none", "HH"))
    assert [name for name in tree(tmp_path) if name.startswith("HHH")] == []


def test_a_file_that_is_no_comparison_is_forgotten_without_a_fault(tmp_path):
    (tmp_path / "comparison.json").write_text('{"combinations": ["../x", 7]}')
    write(tmp_path, "summary.json")
    assert tree(tmp_path) == ["summary.json"]
