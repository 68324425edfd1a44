import pytest

from cosched.errors import InputError
from cosched.workload.traces import clean, read_trace
from cosched.workload.traces.opening import Block
from cosched.workload.traces.sacct import read_sacct

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


def read(text):
    return read_sacct([Block(1, text.split("\n"))], "slurm.txt")


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
    assert log.requested_time.tolist() == [86400, -1, -1, 1800, 30]
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


def test_array_ids_stay_text():
    log = read(table("5_7|2022-01-01T00:00:00|10|1", "6|2022-01-01T00:00:00|10|1", "5_7.0|2022-01-01T00:00:00|10|1"))
    assert log.job_id.tolist() == ["5_7", "6"]


def test_cpus_where_no_nodes_are_told():
    log = read(table("1|2022-01-01T00:00:00|10|48|64", names="JobID|Submit|Elapsed|AllocCPUS|ReqCPUS"))
    assert log.header["Unit"] == "processors"
    assert log.allocated.tolist() == [48]


def test_epoch_times_raw_columns_and_the_trailing_separator_of_parsable():
    names = "JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|State|"
    log = read(table("1|1000|1010|1070|60|90|2|COMPLETED|", names=names))
    assert log.header["UnixStartTime"] == "1000"
    assert (log.wait[0], log.run[0], log.requested_time[0]) == (10, 60, 5400)


def test_a_run_time_from_start_and_end():
    log = read(table("1|1000|1010|1070|2", names="JobIDRaw|Submit|Start|End|NNodes"))
    assert log.run.tolist() == [60]


def test_times_with_a_zone():
    log = read(table("1|2022-01-01T01:00:00+01:00|10|1"))
    assert log.header["UnixStartTime"] == "1640995200"


def test_a_submit_time_that_is_unknown_is_left_out_when_cleaned():
    log = read(table("1|Unknown|10|1", "2|2022-01-01T00:00:00|10|1"))
    assert log.submit.tolist() == [-1, 0]
    assert clean(log, 4).rejected == {"negative_submit": 1}


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", 1),
        ("CANCELLED", 5),
        ("CANCELLED by 1000", 5),
        ("CANCELLED+", 5),
        ("TIMEOUT", 0),
        ("OUT_OF_ME+", 0),
        ("RUNNING", -1),
        ("", -1),
    ],
)
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


def test_from_a_file(tmp_path):
    (tmp_path / "log").write_text(LOG.replace("\n", "\r\n"))
    assert len(read_trace(tmp_path / "log")) == 5
