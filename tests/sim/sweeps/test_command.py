"""`cosched sweep`: what it prints and writes, and what it refuses."""

import itertools
import json
from pathlib import Path

import polars
import pytest

from cosched_sim.sweeps.averages import averages

ONE = ("--workers", 1, "--no-report")  # since a worker takes a second to start, and a report as long
LOADS = '"eureka.load" = [0.25, 0.5]'


def test_the_table(cosched, sweep_file):
    result = cosched("sweep", sweep_file(), *ONE)
    lines, differences = (part.splitlines() for part in result.stdout.split("\n\n"))
    assert lines[0].split() == ["mean", "mean", "mean", "lost", "pairs"]
    assert lines[1].split() == [
        *("schemes", "eureka.load", "machine", "cases", "wait", "slowdown", "sync", "node-h", "lost", "together")
    ]
    assert [line.split()[:4] for line in lines[2::2]] == [
        [scheme, load, "intrepid", "3"] for scheme in ("none", "HH", "YH") for load in ("0.25", "0.5")
    ]
    assert all(line.split()[0] == "eureka" for line in lines[3::2])
    assert "±" in lines[4]
    # Without coscheduling no sync time, nothing lost.
    assert len(lines[2].split()) == len(lines[6].split()) - (4 + 3 + 4)
    assert differences[0] == "Differences from schemes none, replication by replication:"
    points = [tuple(line.split()[:2]) for line in differences[3::2]]
    assert points == list(itertools.product(("HH", "YH"), ("0.25", "0.5")))
    assert result.stderr == ""


def test_the_files(cosched, sweep_file):
    said = json.loads(cosched("sweep", sweep_file(), "--out", "out", "--json", *ONE).stdout)
    results = polars.read_parquet("out/results.parquet")
    assert len(results) == 18
    assert results["error"].is_null().all()
    measures = results.columns[results.columns.index("error") + 1 :]
    expected = averages(results, ["schemes", "eureka.load"], measures)
    assert said["averages"] == expected.to_dicts()
    assert Path("out/averages.csv").read_text() == expected.write_csv()
    kept = json.loads(Path("out/sweep.json").read_text())
    assert {key: said[key] for key in kept} == kept
    assert list(said) == [*kept, "failed", "averages", "differences"]
    points = [(row["schemes"], row["eureka.load"]) for row in said["differences"]]
    assert points == list(itertools.product(("HH", "YH"), (0.25, 0.5)))
    assert polars.read_csv("out/differences.csv").rows() == [tuple(row.values()) for row in said["differences"]]
    assert kept["command"] == "cosched sweep s.toml --out out --json --workers 1 --no-report"
    assert (kept["cases"], kept["replications"], kept["seed"]) == (18, 3, 5)
    assert kept["grid"] == {"schemes": ["none", "HH", "YH"], "eureka.load": [0.25, 0.5]}


def test_failed_cases_are_listed_and_do_not_stop_the_others(cosched, sweep_file):
    # So few jobs in a day cannot make such a load.
    trace = '"eureka.trace" = ["generated:eureka/jobs=20", "generated:eureka/jobs=20/days=900/utilisation=0.9"]'
    result = cosched("sweep", sweep_file((LOADS, trace)), "--out", "out", *ONE, exit_code=1)
    lines = result.stderr.splitlines()
    place = "schemes=none, eureka.trace=generated:eureka/jobs=20/days=900/utilisation=0.9, replication=1"
    assert lines[0].startswith(f"{place}: --domain eureka:trace: 20 jobs in 77760000 s cannot make a load of 0.9")
    assert len(lines) == 10
    assert lines[-1] == "cosched: 9 of 18 cases failed"
    assert len(result.stdout.split("\n\n")[0].splitlines()) == 2 + 2 * 6
    again = cosched("sweep", "s.toml", "--out", "out", "--resume", *ONE, exit_code=1)
    assert (again.stdout, again.stderr) == (result.stdout, result.stderr)


def test_many_failed_cases(cosched, sweep_file):
    trace = ('"generated:eureka/jobs=20"', '"generated:eureka/jobs=20/days=900/utilisation=0.9"')
    lines = cosched("sweep", sweep_file(trace), *ONE, exit_code=1).stderr.splitlines()
    assert lines[-2:] == ["and 8 more", "cosched: 18 of 18 cases failed"]
    assert len(lines) == 12


@pytest.mark.soak  # test_running resumes without the command
def test_more_replications_go_on_with_a_sweep(cosched, sweep_file):
    cosched("sweep", sweep_file(), "--out", "out", *ONE)
    first = polars.read_parquet("out/results.parquet")
    more = cosched("sweep", "s.toml", "--out", "out", "--resume", "--replications", 4, *ONE).stdout
    assert polars.read_parquet("out/results.parquet")[: len(first)].equals(first)
    assert more == cosched("sweep", "s.toml", "--replications", 4, *ONE).stdout


SAME = "--resume continues only the same sweep"
OTHERS = [
    ((LOADS, '"eureka.load" = [0.25]'), (), "grid.'eureka.load' is [0.25, 0.5] there and [0.25] now"),
    ((LOADS, ""), (), "grid.'eureka.load' is [0.25, 0.5] there and missing now"),
    (('"HH"', '"HY"'), (), 'grid.schemes.2 is "HH" there and "HY" now'),
    (('pair_window = "10m"', 'pair_window = "5m"'), (), 'settings.pair_window is "10m" there and "5m" now'),
    (
        ('"generated:intrepid/jobs=20"', '"generated:intrepid/jobs=21"'),
        (),
        'settings.domains.1.trace is "generated:intrepid/jobs=20" there and "generated:intrepid/jobs=21" now',
    ),
    (("replications", "replications"), ("--seed", 6), "seed is 5 there and 6 now"),
    (("replications", "replications"), ("--replications", 2), "replications is 3 there and 2 now"),
]


def test_another_sweep_is_not_resumed(cosched, sweep_file):
    cosched("sweep", sweep_file(), "--out", "out", *ONE)
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    for replaced, flags, expected in OTHERS:
        result = cosched("sweep", sweep_file(replaced), "--out", "out", "--resume", *flags, *ONE, exit_code=2)
        assert result.stderr == f"cosched: out/sweep.json: {expected}: {SAME}\n"
    refused = cosched("sweep", sweep_file(), "--out", "out", *ONE, exit_code=2)
    assert refused.stderr == "cosched: out: already has a sweep; --resume continues it\n"
    assert {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before


def write(run):
    """A trace of a job, and of one that is left out."""
    rest = "-1 -1 1 9 -1 1 1 -1 -1 -1 -1 -1 -1"
    Path("a.swf").write_text(f"; MaxProcs: 4\n1 0 -1 {run} 1 {rest}\n2 0 -1 -1 1 {rest}\n")


@pytest.mark.soak  # other warnings of a sweep remain
def test_replications_of_what_is_not_drawn_are_the_same(cosched, sweep_file):
    sweep_file()
    write(5)
    Path("s.toml").write_text("replications = 2\n[[domain]]\nname = 'a'\ntrace = 'a.swf'\n[grid]\nscale = [1, 2]\n")
    result = cosched("sweep", "s.toml", "--workers", 1, "--out", "out")
    assert result.stderr == "all replications will be the same: no trace and no pairs are drawn\n"
    assert "Jobs left out of the trace of a case: 1 no run time." in Path("out/report.html").read_text()
    assert cosched("sweep", "s.toml", "--replications", 1, *ONE).stderr == ""


def test_a_trace_that_has_changed_is_noticed(cosched, sweep_file):
    sweep_file()
    write(5)
    cosched("sweep", sweep_file(('"generated:intrepid/jobs=20"', '"a.swf"')), "--out", "out", *ONE)
    write(6)
    result = cosched("sweep", "s.toml", "--out", "out", "--resume", *ONE, exit_code=2)
    assert result.stderr.startswith('cosched: out/sweep.json: settings.domains.1.trace is "sha256:')


@pytest.mark.parametrize("content", ["{}", "{"])
def test_a_folder_that_is_no_sweep(cosched, sweep_file, content):
    Path("out").mkdir()
    Path("out/sweep.json").write_text(content)
    result = cosched("sweep", sweep_file(), "--out", "out", "--resume", *ONE, exit_code=2)
    assert result.stderr == "cosched: out/sweep.json: is not what `cosched sweep` writes\n"


def test_resume_needs_a_folder(cosched, sweep_file):
    result = cosched("sweep", sweep_file(), "--resume", *ONE, exit_code=2)
    assert result.stderr == "cosched: --resume: needs the folder to continue: --out DIR\n"


def test_a_folder_that_cannot_be_written(cosched, sweep_file):
    file = sweep_file()
    Path("taken").touch()
    result = cosched("sweep", file, "--out", "taken/out", *ONE, exit_code=1)
    assert result.stderr == "cosched: taken/out: Not a directory\n"
