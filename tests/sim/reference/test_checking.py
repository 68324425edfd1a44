"""The suite replayed by cosched, and schedules of other simulators compared with it."""

import csv
import os
import shutil
from pathlib import Path

import pytest

from cosched.words.errors import InputError
from cosched_sim.reference import checking
from cosched_sim.reference.suite import WORKLOADS, workloads

ALL = workloads()
SHADOW = "07-easy-shadow-time"
PAIRED = "36-mate-unsubmitted"
DEADLOCK = "40-deadlock"


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    """The suite and cosched's results, as run_reference writes them."""
    folder = tmp_path_factory.mktemp("reference") / "suite"
    said: list[str] = []
    assert checking.run_reference(folder, said.append)
    assert said == [*(f"{workload.name}: ok" for workload in ALL), f"{len(ALL)} of {len(ALL)} workloads are right"]
    return folder


@pytest.fixture
def mine(suite, tmp_path) -> Path:
    """Right results, to be spoiled."""
    return Path(shutil.copytree(suite / "results", tmp_path / "mine"))


def check(folder: Path) -> tuple[bool, list[str]]:
    said: list[str] = []
    return checking.check_results(folder, said.append), said


def wrong(folder: Path) -> list[str]:
    """What is said of results that are not right."""
    right, said = check(folder)
    assert not right
    return said


def about(said: list[str], name: str) -> list[str]:
    """The line of a workload and the hints below it."""
    first = next(i for i, line in enumerate(said) if line.startswith(f"{name}: "))
    hints = []
    for line in said[first + 1 :]:
        if not line.startswith("    "):
            break
        hints.append(line.strip())
    return [said[first], *hints]


def change(folder: Path, name: str, edit) -> None:
    path = folder / f"{name}.csv"
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows = edit(rows)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def with_start(job_id: str, start: str):
    return lambda rows: [{**row, "start": start} if row["job_id"] == job_id else row for row in rows]


def only(*columns: str):
    return lambda rows: [{name: row[name] for name in columns} for row in rows]


# run_reference


def test_cosched_is_right_everywhere_and_its_files_are_those_of_the_suite(suite):
    for workload in ALL:
        copied = suite / "workloads" / workload.name
        assert {path.name: path.read_bytes() for path in copied.iterdir()} == {
            path.name: path.read_bytes() for path in workload.folder.iterdir()
        }
        expected = (workload.folder / "expected.csv").read_text()
        results = (suite / "results" / f"{workload.name}.csv").read_text()
        assert sorted(results.splitlines()) == sorted(expected.splitlines())
    assert {path.name for path in suite.iterdir()} == {"README.md", "mistakes.csv", "results", "workloads"}
    assert not list(suite.rglob("__pycache__"))


def test_a_schedule_of_cosched_that_is_wrong_is_told_with_job_and_column(tmp_path, monkeypatch):
    folder = tmp_path / SHADOW
    shutil.copytree(WORKLOADS / SHADOW, folder)
    settings = (folder / "replay.toml").read_text()
    (folder / "replay.toml").write_text(settings.replace('backfill = "easy"', 'backfill = "none"'))
    monkeypatch.setattr("cosched_sim.reference.suite.WORKLOADS", tmp_path)
    said: list[str] = []
    assert not checking.run_reference(None, said.append)
    assert said == [f"{SHADOW}: A job 3: start: expected 11, found 150 (and 3 more)", "0 of 1 workloads are right"]


# check_results


def test_the_results_of_cosched_pass(suite):
    right, said = check(suite / "results")
    assert right
    assert said[-1] == f"{len(ALL)} right, 0 wrong, 0 missing of {len(ALL)} workloads"


def test_a_wrong_start_is_told_with_the_mistake_that_gives_it(mine):
    change(mine, SHADOW, with_start("4", "150"))
    change(mine, SHADOW, only("domain", "job_id", "start"))
    said = wrong(mine)
    line, hint = about(said, SHADOW)
    assert line == f"{SHADOW}: A job 4: start: expected 20, found 150"
    assert hint.endswith("not by it (<=) (strict-shadow)")
    assert not [line for line in said if line.startswith("all of this")]  # it would show elsewhere too


def test_a_wrong_start_that_no_known_mistake_gives_points_to_the_explanation(mine):
    change(mine, SHADOW, with_start("4", "21"))
    assert about(wrong(mine), SHADOW)[1:] == [f"see {SHADOW}/README.md"]


@pytest.mark.parametrize("mistake", ["strict-shadow", "actual-run-times", "no-extra", "first-fit"])
def test_one_mistake_throughout_is_named(tmp_path, mistake):
    for workload in ALL:
        starts = workload.wrong.get(mistake) or {job: row["start"] for job, row in workload.expected.items()}
        lines = ["domain,job_id,start", *(f"{domain},{job},{start}" for (domain, job), start in starts.items())]
        (tmp_path / f"{workload.name}.csv").write_text("\n".join(lines) + "\n")
    explained = [line for line in wrong(tmp_path) if line.startswith("all of this is explained if ")]
    assert [line.endswith(f"({mistake})") for line in explained] == [True]


def test_a_missing_job_is_told(mine):
    change(mine, SHADOW, lambda rows: [row for row in rows if row["job_id"] != "2"])
    assert about(wrong(mine), SHADOW)[0] == f"{SHADOW}: A job 2: start: expected 100, found no such job"


def test_a_job_that_is_to_be_left_out_must_not_start(mine):
    change(mine, "29-dirty-trace", lambda rows: [*rows, {**rows[0], "job_id": "2", "start": "5", "end": "5"}])
    said = wrong(mine)
    expected = "A job 2: start: expected none, the job is to be left out; found 5"
    assert about(said, "29-dirty-trace")[0] == f"29-dirty-trace: {expected}"
    change(mine, "29-dirty-trace", with_start("2", "-1"))
    assert check(mine)[0]


def test_missing_workloads_are_listed_by_kind(mine):
    (mine / f"{SHADOW}.csv").unlink()
    for workload in ALL:
        if workload.paired:
            (mine / f"{workload.name}.csv").unlink()
    said = wrong(mine)
    assert f"missing, of one cluster: {SHADOW}" in said
    assert said[-2].startswith("missing, of two clusters: 30-hold, 31-yield, ")
    single = sum(not workload.paired for workload in ALL)
    assert said[-1] == f"{single - 1} right, 0 wrong, {len(ALL) - single + 1} missing of {len(ALL)} workloads"


def test_starts_alone_are_enough_and_one_cluster_needs_no_name(mine):
    for workload in ALL:
        columns = ("domain", "job_id", "start") if workload.paired else ("job_id", "start")
        change(mine, workload.name, only(*columns))
    assert check(mine)[0]


def test_numbers_may_be_written_as_a_simulator_likes_and_other_columns_are_its_own(mine):
    def floats(rows):
        return [{**row, "start": f" {float(row['start'])}", "state": "DONE"} for row in rows]

    change(mine, SHADOW, floats)
    change(mine, SHADOW, lambda rows: rows[::-1])
    assert check(mine)[0]


def test_a_job_that_never_starts_may_have_no_row_or_minus_one(mine):
    change(mine, DEADLOCK, lambda rows: [{**row, "start": "-1"} for row in rows[1:]])
    assert check(mine)[0]
    change(mine, DEADLOCK, with_start("2", "1200"))
    said = wrong(mine)
    assert about(said, DEADLOCK)[0] == f"{DEADLOCK}: A job 2: start: expected none, found 1200 (and 1 more)"


def test_other_columns_of_the_suite_are_compared_where_they_are_there(mine):
    change(mine, PAIRED, lambda rows: [{**row, "holds": "9"} if row["holds"] == "3" else row for row in rows])
    assert about(wrong(mine), PAIRED)[0] == f"{PAIRED}: A job 1: holds: expected 3, found 9"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("domain,job_id\nA,1\n", ":1: no column 'start'"),
        ("job_id,start\n1,soon\n", ":2: start: 'soon' is not a number"),
        ("job_id,start\n1,nan\n", ":2: start: 'nan' is not a number"),
        ("job_id,start\n1,0\n1,0\n", ":3: A job 1 occurs twice"),
        ("job_id,start\n1\n", ":2: not as many cells as the header has"),
        ('job_id,start\n"1,0\n', ": not CSV: unexpected end of data"),
        ("", ":1: no column 'job_id'"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_its_line(mine, text, reason):
    path = mine / f"{SHADOW}.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        check(mine)
    assert str(error.value) == f"{path}{reason}"


def test_a_file_that_is_no_text_is_told(mine):
    (mine / f"{SHADOW}.csv").write_bytes(b"job_id,start\n\xff\xfe,0\n")
    with pytest.raises(InputError, match="not a text file"):
        check(mine)


@pytest.mark.parametrize("folder", ["empty", "none"])
def test_a_folder_without_results_is_told(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no results here: .*01-fcfs-blocking\.csv"):
        check(tmp_path / folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(mine):
    (mine / f"{SHADOW}.csv").chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        check(mine)
