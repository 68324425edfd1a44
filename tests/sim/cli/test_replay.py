"""`cosched replay`: what it prints and writes."""

import csv
import json
import re

import pytest

from cosched_sim import Domain, replay
from tests.cli.conftest import hourly, swf, tree

WINDOW = ("--pair-window", "2m")
FILES = ["holds.csv", "jobs.csv", "summary.json", "yields.csv"]
COLUMNS = (
    "domain,job_id,submit,ready,start,end,nodes,requested_s,run_s,pair,mate_job_id,holds,yields,held_node_seconds,state"
)


def summary_of(result):
    return json.loads(result.stdout)


def without_run(summary):
    """What two runs of one replay have in common."""
    return {key: value for key, value in summary.items() if key not in ("timing", "command")}


def api(tmp_path, **options):
    domains = [Domain(name="a", trace=tmp_path / "a.swf"), Domain(name="b", trace=tmp_path / "b.swf.gz")]
    return replay(domains, **options)


def test_json_is_what_the_python_api_finds(cosched, logs, tmp_path):
    found = summary_of(cosched("replay", *logs, *WINDOW, "--json"))
    expected = api(tmp_path, pair_window="2m").summary()
    assert found["domains"] == expected["domains"]
    assert found["pairs"] == expected["pairs"]
    assert found["pairs"]["together"] == 8


def test_json_says_version_command_seed_and_timing(cosched, logs):
    found = summary_of(cosched("replay", *logs, "--pair-fraction", "0.5", "--seed", "7", "--json"))
    assert list(found) == ["version", "command", "seed", "timing", "stalled", "domains", "pairs"]
    assert found["command"] == f"cosched replay {' '.join(logs)} --pair-fraction 0.5 --seed 7 --json"
    assert found["seed"] == 7
    assert list(found["timing"]) == ["read_s", "compile_s", "simulate_cpu_s", "write_s", "wall_s"]


def test_the_tables(cosched, logs):
    result = cosched("replay", *logs, *WINDOW)
    lines = result.stdout.splitlines()
    assert lines[:2] == ["a: 10 nodes, scheme hold, policy wfp, easy backfilling", "9 jobs, 8 of them paired"]
    assert lines[2].split() == ["mean", "median", "p95", "p99", "max"]
    assert [line[:28].split("  ")[0].strip() for line in lines[3:10]] == [
        *("wait", "", ""), *("(bounded) slowdown", "", ""), "sync time"
    ]  # fmt: skip
    assert re.fullmatch(r"utilisation \d.*%, offered load .*%, makespan .* h", lines[10])
    assert re.fullmatch(
        r"lost to holds: [\d,]+ node-hours \([\d.]+ %\); \d+ holds?, \d+ forced releases?, \d+ yields?", lines[11]
    )
    assert lines[12:14] == ["", "b: 10 nodes, scheme hold, policy wfp, easy backfilling"]
    assert lines[-1] == "pairs: 8 of 8 started together"
    assert max(map(len, lines)) <= 80
    assert result.stderr == ""


@pytest.mark.usefixtures("logs")
def test_the_table_of_one_domain_has_nothing_on_pairs(cosched):
    result = cosched("replay", "--domain", "a,trace=a.swf,scheme=off,backfill=none,node_pool=partitioned:5x2")
    assert "a: 10 nodes, no coscheduling, policy wfp, no backfilling, partitioned:5x2\n9 jobs\n" in result.stdout
    assert "paired" not in result.stdout
    assert "sync" not in result.stdout
    assert result.stdout.endswith("\npairs: none\n")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "use --pairs, --pair-window or --pair-fraction"),
        (["--pair-window", "30s"], "no two were submitted within 30 s of each other"),
        (["--pair-fraction", "0.1"], "a share of 0.1 of 9 jobs makes no pair"),
        (["--pairs", "pairs.csv"], "pairs.csv has no row"),
    ],
)
def test_a_pairing_that_finds_nothing_says_why(cosched, logs, tmp_path, options, reason):
    (tmp_path / "pairs.csv").write_text("a,b\n")
    assert cosched("replay", *logs, *options).stderr == f"no jobs are paired: {reason}\n"


def test_logs_that_do_not_overlap_are_told_with_what_brings_them_together(cosched, logs):
    a, b = logs[1], logs[3]
    run = ["replay", "--domain", a, "--pair-window", "2m", "--domain"]
    said = cosched(*run, f"{b},shift=10d").stderr.splitlines()
    assert said == [
        "the logs do not overlap: jobs are submitted on a from 60.0 min to 8.0 h, on b from 10.0 d to 10.3 d; "
        "shift=TIME or start=TIME of a domain moves its jobs",
        "no jobs are paired: no two were submitted within 2.0 min of each other",
    ]
    moved = cosched(*run, f"{b},start=61m")
    assert moved.stdout.endswith("\npairs: 8 of 8 started together\n")
    assert moved.stdout == cosched(*run, f"{b},shift=0").stdout
    assert moved.stderr == ""


def test_files(cosched, logs, tmp_path):
    printed = cosched("replay", *logs, *WINDOW, "--out", "new/run", "--json", "--no-report")
    assert tree(tmp_path / "new") == [f"run/{name}" for name in FILES]
    assert json.loads((tmp_path / "new/run/summary.json").read_text()) == summary_of(printed)
    text = (tmp_path / "new/run/jobs.csv").read_text()
    assert text.startswith(f"{COLUMNS}\n")
    assert text == api(tmp_path, pair_window="2m").jobs.drop("wait_s").write_csv()


def test_rows_are_in_trace_order_with_empty_cells_for_what_is_unknown(cosched, logs, tmp_path):
    (tmp_path / "pairs.csv").write_text("b,a\n3,3\n\n1,1\n")
    cosched("replay", *logs, "--pairs", "pairs.csv", "--out", "run", "--no-report")
    with open(tmp_path / "run/jobs.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["domain"], row["job_id"]) for row in rows[:3]] == [("a", "1"), ("a", "2"), ("a", "9")]
    by_id = {(row["domain"], row["job_id"]): row for row in rows}
    assert by_id["a", "3"]["pair"] == by_id["b", "3"]["pair"] == "1"
    assert by_id["a", "1"]["mate_job_id"] == "1"
    assert (by_id["a", "2"]["pair"], by_id["a", "2"]["mate_job_id"]) == ("", "")
    assert by_id["a", "1"]["start"] == by_id["b", "1"]["start"]
    assert {row["state"] for row in rows} == {"completed"}


def test_events(cosched, logs, tmp_path):
    cosched("replay", *logs, *WINDOW, "--out", "run", "--events", "--no-report")
    assert tree(tmp_path / "run") == sorted(["events.jsonl", *FILES])
    events = [json.loads(line) for line in (tmp_path / "run/events.jsonl").read_text().splitlines()]
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    assert {"submitted", "started", "completed"} <= {event["event"] for event in events}
    assert sum(event["event"] == "submitted" for event in events) == 17


def test_two_runs_are_the_same_to_the_byte(console, cosched, logs, tmp_path):
    for out, run in (("one", console), ("two", cosched)):
        assert run("replay", *logs, "--pair-fraction", "0.6", "--out", out, "--events", "--no-report").stderr == ""
    for name in ("jobs.csv", "events.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    one, two = (json.loads((tmp_path / out / "summary.json").read_text()) for out in ("one", "two"))
    assert json.dumps(without_run(one)) == json.dumps(without_run(two))


def test_overrun(cosched, tmp_path):
    (tmp_path / "a.swf").write_text(swf((1, 0, 100, 4, 60), (2, 5, 50, 4, 50)))
    command = ("replay", "--domain", "a,trace=a.swf", "--json", "--overrun")
    runs = {overrun: summary_of(cosched(*command, overrun)) for overrun in ("extend", "kill")}
    assert runs["extend"]["domains"]["a"]["makespan_s"] == 100
    assert runs["kill"]["domains"]["a"]["makespan_s"] == 60


def test_a_script(cosched, logs, tmp_path):
    (tmp_path / "script").write_text("0 down a 10\n3d up a 10  # repaired\n1h cancel b 8\n")
    result = cosched("replay", *logs, "--script", "script", "--json")
    domains = summary_of(result)["domains"]
    assert domains["a"]["all"]["wait_s"]["max"] > 2 * 86_400
    assert domains["b"]["never_started"] == 1
    assert "b: 1 job never started\n" in result.stderr


@pytest.mark.usefixtures("logs")
def test_settings_reach_the_replay(cosched, tmp_path):
    (tmp_path / "r.toml").write_text(
        'pair_window = "2m"\n[[domain]]\nname = "a"\ntrace = "a.swf"\nscheme = "yield"\n'
        '[[domain]]\nname = "b"\ntrace = "b.swf.gz"\ncut = "0..4h"\n'
    )
    found = summary_of(cosched("replay", "--config", "r.toml", "--domain", "b,policy=fcfs,nodes=7", "--json"))
    a, b = found["domains"].values()
    assert (a["scheme"], b["scheme"], b["policy"], b["nodes"], b["jobs"]) == ("yield", "hold", "fcfs", 7, 3)


def test_what_is_left_out_is_said_and_counted(cosched, tmp_path):
    (tmp_path / "a.swf").write_text(swf((1, 0, 100, 4), (2, -5, 50, 4), (3, 5, 50, 11), (4, 6, 50, 12), (5, 7, 0, 1)))
    result = cosched("replay", "--domain", "a,trace=a.swf", "--json")
    assert result.stderr.splitlines() == [
        "a.swf: left out 1 job: no run time (first in line 6)",
        "a.swf: left out 2 jobs: larger than the machine (first in line 4)",
        "a.swf: left out 1 job: negative submit time (first in line 3)",
    ]
    rejected = {"no_run_time": 1, "larger_than_machine": 2, "negative_submit": 1}
    assert summary_of(result)["domains"]["a"]["rejected"] == rejected
    table = cosched("replay", "--domain", "a,trace=a.swf").stdout
    assert "left out: 1 no run time, 2 larger than the machine, 1 negative submit time\n" in table


SACCT = """\
JobID|Submit|Start|End|Elapsed|Timelimit|State|NNodes|Partition
1_4|2026-07-29T10:00:00|2026-07-29T10:00:00|2026-07-29T11:00:00|01:00:00|01:00:00|COMPLETED|6|a
2|2026-07-29T10:00:10|2026-07-29T11:00:00|2026-07-29T12:00:00|01:00:00|01:00:00|COMPLETED|10|a
00123|2026-07-29T10:00:20|2026-07-29T11:59:00|2026-07-29T12:30:00|00:31:00|UNLIMITED|COMPLETED|4|b
"""


@pytest.mark.parametrize(
    ("limit", "start", "said"),
    [
        ("", 7200, "1 gets the longest limit in the log, 1 h (partition_limit states another)"),
        (",partition_limit=b=2h", 7200, "1 gets that of partition_limit"),
        (",partition_limit=(a=1h,b=40m)", 20, "1 gets that of partition_limit"),
    ],
)
def test_a_job_without_a_limit_is_backfilled_by_a_stated_one_not_by_its_run(cosched, tmp_path, limit, start, said):
    (tmp_path / "log").write_text(SACCT)
    result = cosched("replay", "--domain", f"x,trace=log,nodes=10,policy=fcfs{limit}", "--out", "o", "--no-report")
    assert f"log: jobs without a time limit of their own: {said}" in result.stderr.splitlines()
    rows = {row["job_id"]: row for row in csv.DictReader((tmp_path / "o/jobs.csv").read_text().splitlines())}
    assert {job: int(row["start"]) for job, row in rows.items()} == {"1_4": 0, "2": 3600, "00123": start}


def test_keys_that_say_how_a_log_is_read_may_stand_in_a_file(cosched, tmp_path):
    (tmp_path / "log").write_text("\n".join(SACCT.splitlines()[1:]) + "\nbad\n")
    names = SACCT.splitlines()[0].replace("|", '", "')
    (tmp_path / "r.toml").write_text(
        f'[[domain]]\nname = "x"\ntrace = "log"\nnodes = 10\npolicy = "fcfs"\ncolumns = ["{names}"]\n'
        'skip_bad = 1\npartition_limit = { b = "40m" }\ntimezone = "Europe/Berlin"\nruns = "all"\n'
    )
    result = cosched("replay", "--config", "r.toml", "--json")
    assert summary_of(result)["domains"]["x"]["jobs"] == 3
    assert result.stderr.startswith("log: skipped 1 bad line: 4 (1 column, but the option columns names 9)\n")


@pytest.mark.parametrize("live", [(), ("--live",)])
@pytest.mark.usefixtures("undrawn")
def test_ids_are_text_from_the_log_to_the_report(cosched, tmp_path, live):
    ids = ["1_4", "00123", "11[2].pbs-server"]
    for name in "ab":
        rows = "".join(f"{job},{60 * row},100,2\n" for row, job in enumerate(ids))
        (tmp_path / f"{name}.csv").write_text(f"job_id,submit,run,nodes\n{rows}")
    domains = [f"--domain={name},trace={name}.csv,nodes=4" for name in "ab"]
    cosched("trace", "pair", *domains, "--pair-window", "10s", "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text().splitlines() == ["a,b", *(f"{job},{job}" for job in ids)]
    report = () if not live else ("--no-report",)
    cosched("replay", *domains, "--pairs", "pairs.csv", "--out", "o", *report, *live)
    rows = list(csv.DictReader((tmp_path / "o/jobs.csv").read_text().splitlines()))
    assert [(row["job_id"], row["mate_job_id"]) for row in rows] == 2 * [(job, job) for job in ids]
    if not live:
        assert all(f'"{job}"' in (tmp_path / "o/report.html").read_text() for job in ids)


def test_pairs_that_name_a_job_left_out_are_counted(cosched, logs, tmp_path):
    (tmp_path / "a.swf").write_text(swf(*hourly(8), (9, 8000, 9000, 99)))
    (tmp_path / "pairs.csv").write_text("a,b\n1,1\n9,2\n3,3\n")
    result = cosched("replay", *logs, "--pairs", "pairs.csv")
    assert result.stdout.endswith("pairs: 2 of 2 started together; 1 row dropped: a job of theirs was left out\n")


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("data", ["a.swf", "b.swf.gz"])
def test_standard_input(cosched, tmp_path, data):
    result = cosched("replay", "--domain", "x,trace=-", "--json", input=(tmp_path / data).read_bytes())
    assert result.stderr == ""
    assert summary_of(result)["domains"]["x"]["jobs"] == (9 if data == "a.swf" else 8)


def test_pairs_from_standard_input(console, logs):
    result = console("replay", *logs, "--pairs", "-", "--json", input="a,b\n1,1\n")
    assert summary_of(result)["pairs"]["pairs"] == 1


def test_a_public_log(cosched, traces):
    result = cosched("replay", "--domain", f"x,trace={traces / 'LLNL-Atlas-2006-2.1-cln'}.swf.gz", "--json")
    domain = summary_of(result)["domains"]["x"]
    assert (domain["jobs"], domain["rejected"], domain["never_started"]) == (36_600, {"no_run_time": 7178}, 0)
    left_out, processors = (line.split(": ", 1)[1] for line in result.stderr.splitlines())
    assert re.fullmatch(r"left out [\d,]+ jobs: no run time \(first in line \d+\)", left_out)
    assert processors.startswith("the log states 1,152 nodes; its processors are taken as nodes (procs_per_node=8 mend")


def test_of_many_domains_each_has_a_row(cosched, tmp_path):
    (tmp_path / "log.swf").write_text(swf(*hourly(4)))
    domains = [f"--domain=site{number},trace=log.swf" for number in range(9)]
    said = cosched("replay", *domains, "--pair-fraction", "0.5", "--group-size", "2-3").stdout.splitlines()
    rows = [line.split() for line in said if line.startswith("site")]
    assert [row[:3] for row in rows] == [[f"site{number}", "hold", "4"] for number in range(9)]
    assert sum(int(row[3]) for row in rows) in (17, 18)  # half of all jobs
    assert len(said) < 16


@pytest.mark.usefixtures("undrawn")
def test_what_if_events_and_their_victims_are_told(cosched, logs, tmp_path):
    (tmp_path / "script").write_text("2h down b 10\n4h up b 10\n4h cancel a 9\n")
    result = cosched("replay", *logs, *WINDOW, "--script", "script", "--out", "run")
    assert "\n1 job failed, 0 cancelled (what-if events)\n" in result.stdout
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["script"] == [
        {"time_s": 7200, "action": "down", "domain": "b", "nodes": 10},
        {"time_s": 14400, "action": "up", "domain": "b", "nodes": 10},
        {"time_s": 14400, "action": "cancel", "domain": "a", "job_id": "9"},
    ]
    assert "10 nodes of b go down; jobs on them fail" in (tmp_path / "run/report.html").read_text()
    with open(tmp_path / "run/figures/occupancy.csv") as stream:
        down = {row["from_s"]: float(row["down"]) for row in csv.DictReader(stream) if row["domain"] == "b"}
    assert (down["7200"], down["14400"]) == (10, 0)
