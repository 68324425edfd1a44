"""`cosched trace`: info, convert, generate, pair."""

import gzip
import json

import pytest

from cosched_sim.workload.traces import clean, machine_nodes, read_trace
from tests.cli.conftest import hourly, swf

CSV = "job_id,submit,run,nodes,requested,user\none,0,100,2,300,ann\ntwo,50,80,4,60,bob\nthree,60,0,4,60,bob\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "jobs.csv").write_text(CSV)
    return "jobs.csv"


# info


def test_info(cosched, traces):
    result = cosched("trace", "info", traces / "KTH-SP2-1996-2.swf.gz")
    lines = {line[:14].strip(): line[14:].strip() for line in result.stdout.splitlines()}
    assert lines["machine"] == "100 nodes"
    assert lines["jobs"] == "28,481 of 28,489 in the file"
    assert lines["left out"] == "8 no run time"
    assert lines["users"] == "214"
    assert lines["submitted"] == "0 s to 339.9 d, a span of 339.9 d; time 0 is 1996-09-23T12:00:31Z"
    assert lines["offered load"] == "68.8 %"
    assert lines["overrun"] == "475 jobs ran past the request"
    assert lines["nodes"].split() == ["7.7", "1", "1", "3", "8", "32", "72", "100"]
    assert result.stderr == ""


def test_info_of_logs_that_do_not_overlap(cosched, traces):
    names = ("ANL-Intrepid-2009-1.first3000", "LLNL-Atlas-2006-2.1-cln")
    intrepid, atlas = (traces / f"{name}.swf.gz" for name in names)
    result = cosched("trace", "info", intrepid, atlas)
    assert result.stdout.count("\nsubmitted ") == 2
    assert f"on {intrepid.name} from 0 s to 20.2 d, on {atlas.name} from 38.0 d to 230.9 d; shift=TIME" in result.stderr
    both = cosched("trace", "info", intrepid, intrepid, "--json")
    assert (len(json.loads(both.stdout)), both.stderr) == (2, "")


def test_info_as_json(cosched, table):
    found = json.loads(cosched("trace", "info", table, "--nodes", 4, "--json").stdout)
    assert (found["nodes"], found["jobs_in_file"], found["jobs"]) == (4, 3, 2)
    assert found["rejected"] == {"no_run_time": 1}
    assert (found["first_submit_s"], found["last_submit_s"], found["span_s"]) == (0, 50, 50)
    assert found["offered_load"] == (2 * 100 + 4 * 80) / (4 * 50)
    assert (found["without_request"], found["ran_past_request"], found["users"]) == (0, 1, 2)
    assert (found["run_s"]["min"], found["run_s"]["mean"], found["run_s"]["max"]) == (80, 90, 100)
    assert found["logged_wait_s"]["mean"] is None
    assert found["computer"] is found["start"] is None


def test_info_of_a_machine_of_unknown_size(cosched, table):
    out = cosched("trace", "info", table).stdout
    assert "size not stated (--nodes N)" in out
    assert "offered load" not in out


def test_info_in_nodes_of_several_processors_and_a_window(cosched, traces):
    path = traces / "ANL-Intrepid-2009-1.first3000.swf.gz"
    found = json.loads(cosched("trace", "info", path, "--procs-per-node", 4, "--cut", "0..10d", "--json").stdout)
    assert found["nodes"] == 40_960
    assert found["nodes_per_job"]["max"] == 32_768
    assert found["jobs"] < 3000
    assert found["last_submit_s"] < 864_000


def test_processors_are_not_called_nodes(cosched, traces):
    out = cosched("trace", "info", traces / "LLNL-Atlas-2006-2.1-cln.swf.gz").stdout
    assert "machine       9,216 processors in 1,152 nodes of 8: --procs-per-node 8\n" in out
    assert "\nprocessors            448.9 " in out
    assert "9,216 nodes" not in out


@pytest.mark.usefixtures("table")
def test_info_from_standard_input(cosched):
    result = cosched("trace", "info", "-", "--format", "csv", "--json", input=CSV)
    assert json.loads(result.stdout)["source"] == "standard input"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--nodes", "0"], "--nodes: 0 is not from 1 to 1000000000"),
        (["--procs-per-node", "-1"], "--procs-per-node: -1 is not from 1 to 1000000000"),
        (["--cut", "5"], "--cut: '5' is not a time window START..END such as 0..20d"),
        (["--cut", "0..x"], "--cut: 'x' is not a duration such as 90, 20m, 12h or 3d"),
        (["--cut", "1d..2d"], "--cut: no job is submitted in the time window; the submit times are 0 to 60"),
        (["--cut", "2d..1d"], "--cut: a time window ends after its start, but 86400 is not after 172800"),
        (["--format", "sacct"], "jobs.csv:1: the column JobIDRaw or JobID is missing"),
        (["--nodes", "1"], "jobs.csv: no job is left: no run time (1), larger than the machine (2)"),
        (["--columns", "a,a"], "--columns: the column a occurs twice"),
        (["--columns", "a,"], "--columns: 'a,' is not a list of columns such as JobID,Submit,Elapsed,NNodes"),
        (["--timezone", "Mars"], "--timezone: 'Mars' is not a time zone that is known here, as Europe/Berlin"),
        (["--timezone", "../x"], "--timezone: '../x' is not a time zone that is known here, as Europe/Berlin"),
        (["--partition-limit", "24h"], "--partition-limit: '24h' is not NAME=TIME, as batch=24h"),
        (["--partition-limit", "a=x"], "--partition-limit: 'x' is not a duration such as 90, 20m, 12h or 3d"),
        (["--partition-limit", "a=0"], "--partition-limit: 'a=0': a time limit is above 0"),
        (["--runs", "all"], "jobs.csv:runs: is for logs of sacct and accounting; this one is csv"),
    ],
)
def test_info_refuses(refused, table, arguments, reason):
    assert refused("trace", "info", table, *arguments) == reason


RUNS = """\
JobID|Submit|Start|End|ElapsedRaw|State|NNodes|Timelimit
101|2026-10-25T00:05:00|2026-10-25T00:05:10|2026-10-25T00:10:00|290|REQUEUED|4|02:00:00
101|2026-10-25T00:10:00|2026-10-25T00:12:10|2026-10-25T01:12:10|3600|COMPLETED|4|UNLIMITED
bad
102|2026-10-25T02:50:00|2026-10-25T02:10:00|2026-10-25T03:10:00||COMPLETED|1|00:30:00
"""


def test_info_says_how_a_log_was_read(cosched, tmp_path):
    (tmp_path / "log").write_text(RUNS)
    result = cosched("trace", "info", "log", "--skip-bad", 1)
    said = [line for line in result.stdout.splitlines() if line.startswith(("time zone", "as read"))]
    assert said == [
        "time zone  times that name none are taken as UTC (--timezone)",
        "as read    skipped 1 bad line: 4 (1 column, but the first line names 8)",
        "as read    left out 1 earlier run: the last run of a job counts (runs=all: each)",
        "as read    jobs without a time limit of their own: 1 gets the longest run in the log, 1 h "
        "(partition_limit states another)",
    ]
    options = "--timezone", "Europe/Berlin", "--runs", "all", "--partition-limit", "*=3h", "--partition-limit", "a=1h"
    found = json.loads(cosched("trace", "info", "log", "--skip-bad", 2, *options, "--json").stdout)
    assert (found["jobs"], found["local_times"], found["start"]) == (3, "Europe/Berlin", "2026-10-24T22:05:00Z")
    assert (found["run_s"]["max"], found["requested_s"]["max"]) == (3600, 10_800)
    assert len(found["remarks"]) == 4


def test_info_of_a_log_without_a_header(cosched, tmp_path):
    (tmp_path / "log").write_text("\n".join(RUNS.splitlines()[1:3]))
    names = "JobID,Submit,Start,End,ElapsedRaw,State,NNodes,Timelimit"
    assert json.loads(cosched("trace", "info", "log", "--columns", names, "--json").stdout)["jobs"] == 1


# convert


def test_convert_keeps_every_job(cosched, table):
    result = cosched("trace", "convert", table, "out.swf", "--nodes", 8)
    assert (result.stdout, result.stderr) == ("", "out.swf: 3 jobs\n")
    log = read_trace("out.swf")
    assert log.submit.tolist() == [0, 50, 60]
    assert log.requested_time.tolist() == [300, 60, 60]
    assert log.user.tolist() == [1, 2, 2]
    assert machine_nodes(log) == 8


def test_convert_to_standard_output_and_packed(cosched, table, tmp_path):
    plain = cosched("trace", "convert", table, "-")
    assert plain.stderr == ""
    cosched("trace", "convert", table, "out.swf.gz")
    assert gzip.decompress((tmp_path / "out.swf.gz").read_bytes()).decode() == plain.stdout


def test_convert_clean_is_what_a_replay_takes(cosched, traces, tmp_path):
    path = traces / "SDSC-SP2-1998.first5000.swf.gz"
    result = cosched("trace", "convert", path, "out.swf", "--clean", "--procs-per-node", 8, "--load", "0.4")
    left_out = f"{path}: left out 355 jobs: no run time (first in line 40)"
    assert result.stderr.splitlines() == [left_out, "out.swf: 4,606 jobs"]
    runs = [f"x,trace={path},procs_per_node=8,load=0.4", "x,trace=out.swf"]
    for number, domain in enumerate(runs):
        cosched("replay", "--domain", domain, "--out", str(number), "--no-report")
    assert (tmp_path / "0/jobs.csv").read_bytes() == (tmp_path / "1/jobs.csv").read_bytes()


@pytest.mark.parametrize(("runs", "kept"), [("last", [3600, 3600]), ("all", [290, 3600, 3600])])
def test_convert_tells_what_it_leaves_out(cosched, tmp_path, runs, kept):
    (tmp_path / "log").write_text(RUNS)
    result = cosched("trace", "convert", "log", "out.swf", "--skip-bad", 1, "--runs", runs)
    assert read_trace("out.swf").run.tolist() == kept
    assert result.stderr.splitlines()[0].startswith("log: skipped 1 bad line: 4 (")
    assert len(result.stderr.splitlines()) == 4


def test_convert_writes_no_negative_times(cosched, tmp_path):
    (tmp_path / "a.swf").write_text(swf((1, 0, -5, 4), (2, 5, 10, 4)))
    cosched("trace", "convert", "a.swf", "out.swf")
    assert read_trace("out.swf").run.tolist() == [-1, 10]


def test_convert_leaves_the_machine_of_the_header_alone(cosched, traces):
    path = traces / "ANL-Intrepid-2009-1.first3000.swf.gz"
    cosched("trace", "convert", path, "out.swf", "--cut", "0..5d")
    log, copy = read_trace(path), read_trace("out.swf")
    assert copy.header["MaxProcs"] == log.header["MaxProcs"] == "163840"
    assert copy.header.get("MaxNodes") == log.header.get("MaxNodes")
    assert len(copy) == (log.submit < 432_000).sum()


def test_convert_scales(cosched, table):
    cosched("trace", "convert", table, "out.swf", "--scale", "1.5")
    assert read_trace("out.swf").submit.tolist() == [0, 75, 90]
    cosched("trace", "convert", table, "out.swf", "--load", "1.3", "--nodes", 4)
    assert read_trace("out.swf").submit.tolist() == [0, 100, 120]


def test_convert_onto_itself(cosched, tmp_path):
    (tmp_path / "a.swf").write_text(swf(*hourly(5)))
    cosched("trace", "convert", "a.swf", "a.swf", "--cut", "2h..")
    assert len(read_trace("a.swf")) == 4


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--scale", "0"], "--scale: a scale factor is a number above 0, not 0"),
        (["--scale", "1e999999999"], "--scale: a scale factor is a number above 0, not 1e999999999"),
        (["--load", "x", "--nodes", "4"], "--load: a target load is a number above 0, not x"),
        (["--load", "1"], "--load: needs --nodes, since the log does not state the machine's size"),
    ],
)
def test_convert_refuses(refused, table, tmp_path, arguments, reason):
    assert refused("trace", "convert", table, "out.swf", *arguments) == reason
    assert not (tmp_path / "out.swf").exists()


def test_scale_and_load_exclude_each_other(cosched, table):
    cosched("trace", "convert", table, "-", "--scale", "2", "--load", "1", exit_code=2)


# generate


def test_generate(cosched):
    result = cosched("trace", "generate", "eureka", "--days", "2.5", "out.swf", "--seed", 3)
    assert result.stderr.startswith("out.swf: ")
    log = read_trace("out.swf")
    assert (int(log.submit.max()), machine_nodes(log)) == (216_000, 100)
    assert "seed 3" in log.header["Note"]
    assert len(clean(log, 100)) == len(log)


@pytest.mark.parametrize("options", [(), ("--jobs", 50), ("--utilisation", "0.2"), ("--days", 5, "--jobs", 200)])
def test_generate_is_the_same_for_the_same_seed(cosched, options):
    command = ("trace", "generate", "intrepid", *options, "-")
    first, again, other = (cosched(*command, "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again != other
    if "--jobs" in options:
        assert f"; MaxJobs: {options[options.index('--jobs') + 1]}\n" in first


def test_generate_makes_the_load(cosched):
    cosched("trace", "generate", "eureka", "--days", 10, "--jobs", 900, "--utilisation", "0.6", "out.swf")
    found = json.loads(cosched("trace", "info", "out.swf", "--json").stdout)
    assert found["offered_load"] == pytest.approx(0.6, rel=1e-3)
    assert (found["jobs"], found["span_s"]) == (900, 864_000)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--jobs", "0"], "--jobs: 0 is not a number of jobs; give 1 or more"),
        (["--days", "0"], "--days: 0 is not a number of days above 0"),
        (["--days", "nan"], "--days: nan is not a number of days above 0"),
        (["--utilisation", "0"], "--utilisation: 0.0 is not a load; give a number above 0"),
        (["--seed", "-1"], "--seed: -1 is not a seed; give 0 or more"),
    ],
)
def test_generate_refuses(refused, arguments, reason):
    assert refused("trace", "generate", "eureka", "out.swf", *arguments) == reason


# pair


def test_pair_makes_the_pairs_of_a_replay(cosched, logs, tmp_path):
    result = cosched("trace", "pair", *logs, "--pair-window", "2m", "pairs.csv")
    assert result.stderr == "pairs.csv: 8 pairs among the jobs, 9 of a and 8 of b\n"
    for out, how in (("one", ("--pairs", "pairs.csv")), ("two", ("--pair-window", "2m"))):
        cosched("replay", *logs, *how, "--out", out, "--no-report")
    assert (tmp_path / "one/jobs.csv").read_bytes() == (tmp_path / "two/jobs.csv").read_bytes()


def test_pair_by_fraction(cosched, logs):
    command = ("trace", "pair", *logs, "--pair-fraction", "0.34", "-")
    drawn = [cosched(*command, "--seed", seed).stdout for seed in (1, 1, 2)]
    assert drawn[0].startswith("a,b\n")
    assert drawn[0].count("\n") == 1 + 3
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.usefixtures("logs")
def test_pair_with_a_file_of_settings(cosched, tmp_path):
    (tmp_path / "r.toml").write_text(
        'pair_window = 120\n[[domain]]\nname = "x"\ntrace = "a.swf"\n[[domain]]\nname = "y"\ntrace = "b.swf.gz"\n'
    )
    assert cosched("trace", "pair", "--config", "r.toml", "-").stdout.startswith("x,y\n1,1\n2,2\n")


def test_pair_refuses(cosched, refused, logs):
    assert "--pair-window or --pair-fraction" in cosched("trace", "pair", *logs, "-", exit_code=2).stderr
    one = refused("trace", "pair", *logs[:2], "--pair-window", "1m", "-")
    assert one == "--pair-window: pairs jobs of 2 to 16 domains, but there are 1"
