import json

import pytest

from cosched.words.errors import InputError
from cosched_sim.workload.log_options import LogOptions
from cosched_sim.workload.traces import clean
from cosched_sim.workload.traces.opening import Block
from cosched_sim.workload.traces.sacct import read_sacct

LOG = """\
JobID|JobIDRaw|User|Submit|Start|End|Elapsed|NNodes|ReqNodes|NCPUS|Timelimit|State|JobName
1001|1001|ann|2022-01-01T05:01:14|2022-01-01T05:02:14|2022-01-01T06:02:14|01:00:00|4|1|48|1-00:00:00|COMPLETED|
1001.b|1001.b||2022-01-01T05:02:14|2022-01-01T05:02:14|2022-01-01T06:02:14|01:00:00|1|1|12||COMPLETED|b
1001.0|1001.0||2022-01-01T05:02:14|2022-01-01T05:02:14|2022-01-01T06:02:14|01:00:00|4|4|48||COMPLETED|run
1002|1002|bob|2022-01-01T05:01:10|2022-01-01T05:01:16|2022-01-01T05:02:16|00:01:00|1|1|1|UNLIMITED|CANCELLED|
1003_7|1004|ann|2022-01-01T05:01:16|Unknown|Unknown|00:00:00|2|2|2|Partition_Limit|PENDING|c
1005|1005|ann|2022-01-01T05:01:20|2022-01-01T05:01:21|Unknown|2-00:00:00|1|1|1|00:30:00|RUNNING|d
1006|1006|cy|2022-01-01T05:01:20|2022-01-01T05:01:21|2022-01-02T05:01:26|1-00:00:05|1|1|1|00:30|NODE_FAIL+|e
"""


RUNS = """\
JobID|User|Submit|Start|End|ElapsedRaw|State|NNodes|Timelimit
100|ann|2024-05-01T10:00:00|2024-05-01T10:00:10|2024-05-01T11:00:10|3600|COMPLETED|2|02:00:00
101|ann|2024-05-01T10:05:00|2024-05-01T10:05:10|2024-05-01T11:10:00|3890|REQUEUED|4|02:00:00
101.batch||2024-05-01T10:05:10|2024-05-01T10:05:10|2024-05-01T11:10:00|3890|FAILED|1|
101|ann|2024-05-01T11:10:00|2024-05-01T11:12:10|2024-05-01T13:00:10|6480|COMPLETED|4|02:00:00
102|bob|2024-05-01T10:20:00|2024-05-01T10:20:10|2024-05-01T10:50:10|1800|NODE_FAIL|1|02:00:00
102|bob|2024-05-01T10:50:10|2024-05-01T10:55:10|2024-05-01T11:55:10|3600|PREEMPTED|1|02:00:00
102|bob|2024-05-01T11:55:10|2024-05-01T11:55:20|2024-05-01T11:55:30|10|COMPLETED|1|02:00:00
"""

LIMITS = "JobID|Submit|Elapsed|NNodes|Timelimit"

# The night of 25 October in Berlin: at 3 o'clock it was 2 o'clock again.
NIGHT = """\
JobID|Submit|Start|End|NNodes
1|2026-10-25T02:50:00|2026-10-25T02:10:00|2026-10-25T03:10:00|1
2|2026-10-25T02:55:00|2026-10-25T02:55:00|2026-10-25T02:25:00|1
3|2026-10-25T01:00:00|2026-10-25T01:00:00|2026-10-25T04:00:00|1
"""


def read(text, **options):
    return read_sacct([Block(1, text.split("\n"))], "slurm.txt", LogOptions(**options))


def refusal(text):
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


def table(*rows, names="JobID|Submit|Elapsed|NNodes"):
    return "\n".join([names, *rows]) + "\n"


def test_the_columns():
    log = read(LOG)
    assert log.header == {"UnixStartTime": "1641013270", "Unit": "nodes"}
    assert log.job_id.tolist() == [1001, 1002, 1004, 1005, 1006]
    assert log.submit.tolist() == [4, 0, 6, 10, 10]
    assert log.wait.tolist() == [60, 6, -1, 1, 1]
    assert log.run.tolist() == [3600, 60, -1, -1, 86405]
    assert log.requested_time.tolist() == [86400, 86400, 86400, 1800, 30]
    assert log.status.tolist() == [1, 5, -1, -1, 0]
    assert log.user.tolist() == [1, 2, 1, 1, 3]
    assert log.line.tolist() == [2, 5, 6, 7, 8]


def test_what_a_job_got_is_its_size():
    log = read(LOG)
    assert log.allocated.tolist() == [4, 1, 2, 1, 1]
    assert clean(log, 100).nodes.tolist() == [1, 4, 1]
    log = read(table("1|2022-01-01T00:00:00|10|0|8", names="JobID|Submit|Elapsed|AllocNodes|ReqNodes"))
    assert log.allocated.tolist() == [0]
    assert log.requested_procs.tolist() == [8]


def test_array_ids_stay_text_and_a_submit_time_that_is_unknown_is_left_out_when_cleaned():
    log = read(table("5_7|Unknown|10|1", "6|2022-01-01T00:00:00|10|1", "5_7.0|2022-01-01T00:00:00|10|1"))
    assert (log.job_id.tolist(), log.submit.tolist()) == (["5_7", "6"], [-1, 0])
    assert clean(log, 4).rejected == {"negative_submit": 1}


def test_cpus_where_no_nodes_are_told():
    log = read(table("1|2022-01-01T00:00:00|10|48|64", names="JobID|Submit|Elapsed|AllocCPUS|ReqCPUS"))
    assert log.header["Unit"] == "processors"
    assert log.allocated.tolist() == [48]


def test_epoch_times_raw_columns_and_the_trailing_separator_of_parsable():
    names = "JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|"
    log = read(table("1|1000|1010|1070|60|90|2|COMPLETED|", names=names))
    assert log.header["UnixStartTime"] == "1000"
    assert (log.wait[0], log.run[0], log.requested_time[0]) == (10, 60, 5400)


def test_times_with_a_zone():
    assert read(table("1|2022-01-01T01:00:00+01:00|10|1")).header["UnixStartTime"] == "1640995200"


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", 1), ("CANCELLED", 5), ("CANCELLED by 1000", 5), ("CANCELLED+", 5), ("TIMEOUT", 0),
        ("OUT_OF_ME+", 0), ("RUNNING", -1), ("", -1),
    ],
)  # fmt: skip
def test_states(state, status):
    log = read(table(f"1|2022-01-01T00:00:00|10|1|{state}", names="JobID|Submit|Elapsed|NNodes|State"))
    assert log.status.tolist() == [status]
    assert log.run.tolist() == [-1 if state == "RUNNING" else 10]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ("User|Submit|Elapsed|NNodes", "JobIDRaw or JobID"),
        ("JobID|Start|Elapsed|NNodes", "Submit"),
        ("JobID|Submit|Start|NNodes", "Elapsed or ElapsedRaw"),
        ("JobID|Submit|Elapsed|State", "AllocNodes or NNodes or ReqNodes or AllocCPUS or NCPUS or ReqCPUS"),
    ],
)
def test_a_missing_column_is_named(names, missing):
    assert refusal(table(names=names)) == f"slurm.txt:1: the column {missing} is missing"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("3|soon|10|1", "column Submit: 'soon' is not a time"),
        ("3|2022-13-01T00:00:00|10|1", "column Submit: '2022-13-01T00:00:00' is not a time"),
        ("3|2022-01-01T00:00:00|a:b|1", "column Elapsed: 'a:b' is not a duration"),
        ("3|2022-01-01T00:00:00|10|1.5", "column NNodes: '1.5' is not a whole number"),
        ("3|2022-01-01T00:00:00|10", "3 columns, but the first line names 4"),
        ("3|2022-01-01T00:00:00|10|1|x", "5 columns, but the first line names 4"),
        ("|2022-01-01T00:00:00|10|1", "'' cannot be a job id"),
    ],
)
def test_mistakes_name_line_and_column(line, reason):
    assert refusal(table("1|2022-01-01T00:00:00|10|1", line)) == f"slurm.txt:3: {reason}"


def test_no_jobs():
    assert refusal("") == "slurm.txt: no jobs"
    assert refusal(table()) == "slurm.txt: no jobs"
    assert refusal(table("1.batch|2022-01-01T00:00:00|10|1")) == "slurm.txt: no jobs"


# Runs


def test_of_a_requeued_job_the_last_run_counts():
    log = read(RUNS)
    assert log.job_id.tolist() == [100, 101, 102]
    assert (log.run.tolist(), log.allocated.tolist()) == ([3600, 6480, 10], [2, 4, 1])
    assert log.line.tolist() == [2, 5, 8]
    assert log.remarks == ("left out 3 earlier runs: the last run of a job counts (runs=all: each)",)


def test_the_last_run_is_told_by_the_times_not_by_the_place():
    header, *rows = RUNS.splitlines()
    log = read("\n".join([header, *reversed(rows), ""]))
    assert dict(zip(log.job_id.tolist(), log.run.tolist(), strict=True)) == {100: 3600, 101: 6480, 102: 10}


def test_or_each_run_is_a_job():
    log = read(RUNS, runs="all")
    assert log.job_id.tolist() == ["100", "101-run1", "101", "102-run1", "102-run2", "102"]
    assert log.run.tolist() == [3600, 3890, 6480, 1800, 3600, 10]
    assert log.submit.tolist() == [0, 300, 4200, 1200, 3010, 6910]
    assert log.remarks == ("3 earlier runs counted as jobs, ID-run1, ... (runs=all)",)
    assert clean(log, 4).rejected == {}


def test_a_record_that_the_log_repeats_is_one_run():
    log = read(RUNS + RUNS.splitlines()[3 - 1] + "\n", runs="all")
    assert sorted(log.job_id.tolist()) == ["100", "101", "101-run1", "102", "102-run1", "102-run2"]
    assert log.remarks[0] == "left out 1 record that the log repeats"


def test_a_job_that_waits_to_run_again_has_run():
    waits = "101|ann|2024-05-01T13:00:10|Unknown|Unknown|0|PENDING|4|02:00:00\n"
    assert read(RUNS + waits).run.tolist() == [3600, 6480, 10]


# Limits


def test_a_job_without_a_limit_has_the_longest_of_the_log():
    log = read(table("1|0|30|1|UNLIMITED", "2|0|20|1|01:00:00", "3|0|20|1|Partition_Limit", names=LIMITS))
    assert log.requested_time.tolist() == [3600, 3600, 3600]
    said = "2 get the longest limit in the log, 1 h (partition_limit states another)"
    assert log.remarks == (f"jobs without a time limit of their own: {said}",)


def test_or_the_longest_run_if_that_was_longer_or_no_limit_is_stated():
    log = read(table("1|0|7200|1|UNLIMITED", "2|0|20|1|01:00:00", names=LIMITS))
    assert log.requested_time.tolist() == [7200, 3600]
    log = read(table("1|0|30|1|UNLIMITED", "2|0|20|1|UNLIMITED", names=LIMITS))
    assert log.requested_time.tolist() == [30, 30]
    assert "the longest run in the log, 30 s" in log.remarks[0]


def test_or_that_of_its_partition():
    rows = ("1|0|30|1|UNLIMITED|a", "2|0|20|1|00:50|a", "3|0|20|1|UNLIMITED|b", "4|0|20|1|UNLIMITED|c")
    text = table(*rows, names=f"{LIMITS}|Partition")
    log = read(text, partition_limit={"a": 600, "*": 900})
    assert log.requested_time.tolist() == [600, 50, 900, 900]
    log = read(text, partition_limit={"a": 600, "d": 5})
    assert log.requested_time.tolist() == [600, 50, 50, 50]
    assert log.remarks == (
        "partition_limit: no job without a time limit of its own is in d",
        "jobs without a time limit of their own: 1 gets that of partition_limit, "
        "2 get the longest limit in the log, 50 s (partition_limit states another)",
    )


def test_a_log_that_says_nothing_of_limits_says_nothing_of_limits():
    assert read(table("1|0|30|1")).requested_time.tolist() == [-1]
    assert read(table("1|0|30|1")).remarks == ()


# Times


def test_the_night_in_which_an_hour_comes_twice():
    log = read(NIGHT, timezone="Europe/Berlin")
    assert log.run.tolist() == [3600, 1800, 14400]
    assert log.wait.tolist() == [1200, 0, 0]
    assert log.submit.tolist() == [6600, 6900, 0]
    assert log.local_times == log.header["TimeZoneString"] == "Europe/Berlin"


def test_what_has_elapsed_tells_the_hours_apart():
    names = "JobID|Submit|Start|End|Elapsed|NNodes"
    times = "2026-10-25T02:10:00|2026-10-25T02:20:00|2026-10-25T03:00:00"
    log = read(table(f"1|{times}|00:40:00|1", f"2|{times}|01:40:00|1", names=names), timezone="Europe/Berlin")
    assert log.run.tolist() == [2400, 6000]
    assert log.wait.tolist() == [4200, 600]


def test_times_of_utc_if_no_zone_is_given():
    log = read(NIGHT)
    assert log.run.tolist() == [3600, -1, 10800]
    assert log.wait.tolist() == [-1, 0, 0]
    assert log.local_times == "UTC"
    assert "TimeZoneString" not in log.header
    assert read(table("1|1000|10|1")).local_times == ""
    assert read(table("1|2022-01-01T01:00:00+01:00|10|1"), timezone="Asia/Tokyo").submit.tolist() == [0]


# Other forms


def test_bad_lines_may_be_skipped():
    rows = ["1|0|10|1", "2|soon|10|1", "3|0|10", "|0|10|1", "5|0|x|1", "6|0|10|1"]
    log = read(table(*rows), skip_bad=4)
    assert log.job_id.tolist() == [1, 6]
    assert log.remarks[0].startswith("skipped 4 bad lines: 3 (column Submit: 'soon' is not a time), 4 (3 columns, ")
    assert log.remarks[0].endswith("5 ('' cannot be a job id), ...")


def test_other_delimiters():
    for separator in "|,;\t":
        assert read(RUNS.replace("|", separator)).run.tolist() == [3600, 6480, 10]
    assert read('JobID,JobName,Submit,Elapsed,NNodes\n1,"a, b",0,10,1\n').run.tolist() == [10]


@pytest.mark.parametrize("separator", ["|", ","])
def test_columns_of_a_log_without_a_header(separator):
    header, *rows = RUNS.replace("|", separator).splitlines()
    log = read("\n".join(rows), columns=header.split(separator))
    assert log.run.tolist() == [3600, 6480, 10]
    assert log.line.tolist() == [1, 4, 7]


def test_several_logs_one_after_the_other_have_several_headers():
    other = table("200|2024-05-01T10:00:00|10|1")
    assert len(read(other + table("201|2024-05-01T10:00:00|10|1"))) == 2
    assert len(read(other, columns=["JobID", "Submit", "Elapsed", "NNodes"])) == 1


def slurm_job(job_id, state="COMPLETED", **changed):
    times = {"submission": 1000, "start": 1010, "end": 1070, "elapsed": 60, "limit": 5}
    return {
        "job_id": job_id,
        "user": "ann",
        "partition": "p",
        "allocation_nodes": 2,
        "tres": {"requested": [{"type": "cpu", "count": 8}, {"type": "node", "count": 3}]},
        "state": {"current": state, "reason": "None"},
        "time": {**times, **changed},
        "steps": [{"step": {"id": {"job_id": job_id}}}],
    }


def test_json():
    jobs = [
        slurm_job(1),
        # As newer versions write it.
        slurm_job(2, ["COMPLETED"], limit={"set": True, "infinite": False, "number": 7}),
        slurm_job(3, ["COMPLETED"], limit={"set": True, "infinite": True, "number": 0}),
        slurm_job(4, ["COMPLETED"], limit=4294967295),
        {**slurm_job(5, ["PENDING"], start=0, end=0, elapsed=0), "allocation_nodes": 0},
        slurm_job(6, ["REQUEUED"]),
        slurm_job(6, ["COMPLETED"], submission=1080, start=1090, end=1100, elapsed=10),
    ]
    log = read(json.dumps({"meta": {}, "jobs": jobs}, indent=1), partition_limit={"p": 33})
    assert log.job_id.tolist() == [1, 2, 3, 4, 5, 6]
    assert log.requested_time.tolist() == [300, 420, 33, 33, 300, 300]
    assert log.run.tolist() == [60, 60, 60, 60, -1, 10]
    assert log.wait.tolist() == [10, 10, 10, 10, -1, 10]
    assert log.requested_procs.tolist() == [2, 2, 2, 2, 3, 2]
    assert log.status.tolist() == [1, 1, 1, 1, -1, 1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ('{"nodes": []}', 'JSON, but not of `sacct --json`: it has no list "jobs"'),
        ('{"jobs": [1]}', 'JSON, but not of `sacct --json`: it has no list "jobs"'),
        ('{"jobs": []}', "no jobs"),
    ],
)
def test_other_json(text, reason):
    assert refusal(text) == f"slurm.txt: {reason}"
