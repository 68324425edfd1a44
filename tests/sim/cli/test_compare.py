"""`cosched replay --compare`."""

import json

import polars
import pytest

from tests.cli.conftest import hourly, swf, tree

WINDOW = ("--pair-window", "2m")


def test_the_table(cosched, logs):
    table, differences = cosched("replay", *logs, *WINDOW, "--compare").stdout.split("\n\n")
    lines = table.splitlines()
    assert lines[1].split() == ["schemes", "machine", "wait", "slowdown", "sync", "node-h", "lost", "together"]
    schemes = ["none", "hold-hold", "hold-yield", "yield-hold", "yield-yield"]
    assert [line.split()[0] for line in lines[2::2]] == schemes
    assert [line.split()[0] for line in lines[3::2]] == ["b"] * 5
    assert all(line.endswith("8 of 8") for line in lines[4::2])
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in differences.splitlines()[3::2]] == schemes[1:]


def test_each_combination_is_a_replay_of_its_own(cosched, logs, tmp_path):
    cosched("replay", *logs, *WINDOW, "--compare", "--out", "all", "--no-report")
    runs = ["HH", "HY", "YH", "YY", "none"]
    assert tree(tmp_path / "all") == sorted(
        ["comparison.json"]
        + [f"{run}/{name}" for run in runs for name in ("holds.csv", "jobs.csv", "summary.json", "yields.csv")]
    )
    settings = ("--domain", "a,trace=a.swf,scheme=hold", "--domain", "b,trace=b.swf.gz,scheme=yield")
    cosched("replay", *settings, *WINDOW, "--out", "HY", "--no-report")
    assert (tmp_path / "HY/jobs.csv").read_bytes() == (tmp_path / "all/HY/jobs.csv").read_bytes()
    one, other = (json.loads((tmp_path / run / "summary.json").read_text()) for run in ("HY", "all/HY"))
    assert one["domains"] == other["domains"]


def test_json_and_the_differences_of_the_same_jobs(cosched, logs, tmp_path):
    found = json.loads(cosched("replay", *logs, *WINDOW, "--compare", "--json", "--out", "all", "--no-report").stdout)
    assert list(found) == ["version", "command", "seed", "combinations", "differences"]
    assert list(found["combinations"]) == ["none", "HH", "HY", "YH", "YY"]
    assert found == json.loads((tmp_path / "all/comparison.json").read_text())
    assert found["combinations"]["YH"] == json.loads((tmp_path / "all/YH/summary.json").read_text())
    none = found["combinations"]["none"]
    assert {domain["scheme"] for domain in none["domains"].values()} == {"off"}
    none, both = (polars.read_csv(tmp_path / f"all/{name}/jobs.csv") for name in ("none", "HH"))
    assert list(found["differences"]) == ["HH", "HY", "YH", "YY"]
    for name, measures in found["differences"]["HH"].items():
        mine = polars.col("domain") == name
        longer = both.filter(mine)["start"] - none.filter(mine)["start"]
        paired = none.filter(mine)["pair"].is_not_null()
        assert measures["wait_s"] == {"mean": longer.mean(), "ci95": None}  # too few jobs for an interval
        assert measures["paired_wait_s"]["mean"] == longer.filter(paired).mean()
        assert measures["unpaired_wait_s"]["mean"] == (longer.filter(~paired).mean() if not paired.all() else None)


def test_three_domains(cosched, tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.swf").write_text(swf(*hourly(4)))
    (tmp_path / "pairs.csv").write_text("a,b,c\n1,1,\n2,,2\n,3,3\n")
    domains = [part for name in "abc" for part in ("--domain", f"{name},trace={name}.swf")]
    found = json.loads(cosched("replay", *domains, "--pairs", "pairs.csv", "--compare", "--json").stdout)
    names = ["none", "HHH", "HHY", "HYH", "HYY", "YHH", "YHY", "YYH", "YYY"]
    assert list(found["combinations"]) == names
    assert all(found["combinations"][name]["pairs"]["together"] == 3 for name in names[1:])


def test_the_number_of_domains(refused, logs):
    one = refused("replay", *logs[:2], "--compare")
    assert one == "--compare: compares the schemes of 2 to 6 domains, not of 1"
    seven = [part for number in range(7) for part in ("--domain", f"d{number},trace=a.swf")]
    assert refused("replay", *seven, "--compare").endswith("not of 7")


def test_with_a_domain_that_meets_all_combinations_with_it_are_compared(cosched, logs):
    domains = (logs[0], f"{logs[1]},scheme=meet", *logs[2:])
    found = json.loads(cosched("replay", *domains, *WINDOW, "--compare", "--json").stdout)["combinations"]
    assert list(found) == ["none", "HH", "HY", "HM", "YH", "YY", "YM", "MH", "MY", "MM"]
    (a, b) = found["HM"]["domains"].values()
    assert (a["scheme"], b["scheme"], b["mate_budget"], b["slots"]) == ("hold", "meet", "0.5", "on")
    assert "mate_budget" not in a


def test_settings_of_their_own_are_kept_and_named(cosched, logs):
    domains = (logs[0], f"{logs[1]},scheme=meet,mate_budget=0.25", *logs[2:])
    found = json.loads(cosched("replay", *domains, *WINDOW, "--json").stdout)["domains"]["a"]
    assert (found["scheme"], found["mate_budget"], found["slots"]) == ("meet", "0.25", "on")
    assert "scheme meet, mate_budget 0.25" in cosched("replay", *domains, *WINDOW).stdout


@pytest.mark.parametrize("live", [(), ("--live",)])
def test_nothing_is_compared_where_nothing_is_paired(refused, logs, live):
    told = refused("replay", *logs[:3], f"{logs[3]},shift=10d", *WINDOW, "--compare", *live)
    assert told == (
        "--compare: all schemes would be equal: the logs do not overlap: jobs are submitted on a from 60.0 min to "
        "8.0 h, on b from 10.0 d to 10.3 d; shift=TIME or start=TIME of a domain moves its jobs"
    )
    told = refused("replay", *logs, "--pair-window", "30s", "--compare", *live)
    none = "no jobs are paired: no two were submitted within 30 s of each other"
    assert told == f"--compare: all schemes would be equal: {none}"
