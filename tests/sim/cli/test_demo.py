"""`cosched demo`."""

import json
import re
import subprocess

import pytest

from cosched.installation.extras import PACKAGES, SIMULATOR
from tests.cli.conftest import CONSOLE_SCRIPT, tree
from tests.cli.test_extras import hiding
from tests.live.services import wait_until
from tests.once import made_once


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The folder of a demo that keeps its files, and what it said, as JSON."""

    def make(folder):
        command = [CONSOLE_SCRIPT, "demo", "--no-report", "--json", "--out", folder / "kept"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        (folder / "said").write_text(said)

    folder = made_once(tmp_path_factory, "demo", make)
    return folder / "kept", json.loads((folder / "said").read_text())


def processes_of(folder):
    """What runs with this folder on its command line."""
    return subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, check=False).stdout


def test_a_newcomer_sees_one_table_and_nothing_is_left_behind(console, tmp_path, tmp_path_factory, monkeypatch):
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(scratch))
    after_make_demo = hiding(tmp_path_factory.mktemp("hiding"), PACKAGES[SIMULATOR])
    result = console("demo", env=after_make_demo)
    assert tree(scratch) == []
    wait_until(lambda: not processes_of(scratch), "its last processes have ended")
    assert result.returncode == 0
    assert result.stderr in ("", "running 8 pairs of jobs ...\n"), "on a busy host it says what it does"
    lines = result.stdout.splitlines()
    assert lines[0].startswith("A generated month of two coupled machines is replayed")
    assert max(map(len, lines)) <= 80
    first = next(number for number, line in enumerate(lines) if line.startswith("none"))
    rows = [line.split() for line in lines[first : first + 10]]
    assert [row[0] for row in rows[::2]] == ["none", "hold-hold", "hold-yield", "yield-hold", "yield-yield"]
    assert all(row[-3:] == ["754", "of", "754"] for row in rows[2::2])
    assert "with it all do" in " ".join(lines)
    (together,) = re.findall(r"^(\d) of 8 pairs started together", result.stdout, re.MULTILINE)
    assert int(together) > 4  # to the second: a process may stall for longer as it begins
    assert lines[-1].endswith("cosched demo --out DIR")
    assert tree(tmp_path) == []


@pytest.mark.soak
def test_the_files_replay_to_the_same(cosched, kept):
    folder, _ = kept
    said = json.loads((folder / "comparison.json").read_text())
    files = tree(folder)
    inputs = ["eureka.swf.gz", "intrepid.swf.gz", "pairs.csv"]
    assert [file for file in files if "/" not in file] == sorted([*inputs, "comparison.json"])
    assert {f"{run}/jobs.csv" for run in said["combinations"]} <= set(files)
    domains = [part for name in ("intrepid", "eureka") for part in ("--domain", f"{name},trace={folder}/{name}.swf.gz")]
    again = json.loads(cosched("replay", *domains, "--pairs", folder / "pairs.csv", "--compare", "--json").stdout)
    for name, run in said["combinations"].items():
        assert run["domains"] == again["combinations"][name]["domains"]
        assert run["pairs"] == again["combinations"][name]["pairs"]


@pytest.mark.soak
def test_what_it_says_of_the_schemes_is_so(kept):
    runs = json.loads((kept[0] / "comparison.json").read_text())["combinations"]
    for name, run in runs.items():
        for scheme, domain in zip(name, run["domains"].values(), strict=False):
            assert (domain["held_node_seconds"] > 0) == (scheme == "H")
    for place, name in enumerate(("intrepid", "eureka")):
        sync = {run: runs[run]["domains"][name]["paired"]["sync_s"]["mean"] for run in ("HH", "HY", "YH", "YY")}
        yields, holds = (min(s for run, s in sync.items() if run[place] == scheme) for scheme in "YH")
        assert yields > holds


@pytest.mark.soak
def test_it_says_where_the_files_are(cosched):
    said = cosched("demo", "--no-report", "--out", "kept").stdout
    assert said.splitlines()[-1].startswith("kept: traces, pairs and each run's files")


@pytest.mark.soak  # a demo of its own; the one that a newcomer sees remains
def test_json(kept):
    folder, said = kept
    assert (said["command"], said["seed"]) == (f"cosched demo --no-report --json --out {folder}", 1)
    assert list(said["combinations"]) == ["none", "HH", "HY", "YH", "YY"]
    live = said["live"]["pairs"]
    assert [pair["pair"] for pair in live] == [f"p{number}" for number in range(1, 9)]
    skews = [1000 * abs(here - there) for here, there in (pair["began"] for pair in live)]
    assert [pair["skew_ms"] for pair in live] == pytest.approx(skews, abs=0.01)
