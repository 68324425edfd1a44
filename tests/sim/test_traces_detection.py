import subprocess
import sys

import pytest

from cosched.words.errors import InputError
from cosched_sim.workload.log_options import LogOptions
from cosched_sim.workload.traces import FORMATS, read_trace

SWF_ROW = "1 0 5 100 8 -1 -1 16 3600 -1 1 7 3 -1 2 -1 -1 -1\n"
NO_HEADER = (
    "a log without a header: say what its columns are by the option columns, as JobID,Submit,Elapsed,NNodes for sacct,"
    " else as job_id,submit,run,nodes"
)
FIXED_WIDTH = "sacct in columns of fixed width: write it with `sacct --parsable2`"


def refusal(path, **options):
    with pytest.raises(InputError) as caught:
        read_trace(path, **options)
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    "text",
    [
        SWF_ROW,
        "; MaxProcs: 4\n" + SWF_ROW,
        "\n\n  " + SWF_ROW,
        "01/01/2020 00:00:00;E;1;ctime=5 start=10 end=110\n",
        "JobID|Submit|Elapsed|NNodes\n1|2022-01-01T00:00:00|100|1\n",
        "JobID,Submit,Elapsed,NNodes\n1,2022-01-01T00:00:00,100,1\n",
        "JobID|Submit|Elapsed|NNodes\r1|2022-01-01T00:00:00|100|1\r",
        '{"jobs": [{"job_id": 1, "allocation_nodes": 1, "time": {"submission": 5, "end": 105, "elapsed": 100}}]}',
        "job_id,submit,run,nodes\n1,0,100,1\n",
    ],
)
def test_formats_are_told_by_content(tmp_path, text):
    (tmp_path / "x.dat").write_text(text)
    assert read_trace(tmp_path / "x.dat").run.tolist() == [100]
    assert read_trace(tmp_path / "x.dat").source == str(tmp_path / "x.dat")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "FILE: no jobs: the file is empty"),
        ("  \n\n", "FILE: no jobs: the file is empty"),
        ("; only: comments\n", "FILE: no jobs"),
        ("1 2 3\n", "FILE:1: 3 columns, but an SWF line has 18"),
        ("a" + SWF_ROW[1:], "FILE:1: column 1 (job number): 'a' is not a number"),
        ("\nhello world\n", "FILE:2: not in a format that can be read here (swf, accounting, sacct, csv)"),
        ("id,when\n", "FILE:1: the column job_id is missing"),
        ("7|2022-01-01T00:00:00|100|1\n", f"FILE:1: {NO_HEADER}"),
        ("ann,7,2022-01-01T00:00:00,100,1\n", f"FILE:1: {NO_HEADER}"),
        ("JobID  Submit  State\n------ ------ ------\n", f"FILE:1: {FIXED_WIDTH}"),
        ('[{"a": 1}]', "FILE:1: not in a format that can be read here (swf, accounting, sacct, csv)"),
    ],
)
def test_what_is_no_trace(tmp_path, text, message):
    (tmp_path / "x").write_text(text)
    assert refusal(tmp_path / "x") == message


def test_a_format_can_be_named(tmp_path):
    (tmp_path / "x").write_text(SWF_ROW)
    assert len(read_trace(tmp_path / "x", "swf")) == 1
    assert refusal(tmp_path / "x", format="csv") == "FILE:1: the column job_id is missing"
    for name in FORMATS:
        (tmp_path / "empty").write_text("")
        assert refusal(tmp_path / "empty", format=name) == "FILE: no jobs"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("7|2022-01-01T00:00:00|100|1\n", ("JobID", "Submit", "Elapsed", "NNodes")),
        ("7,0,100,1\n", ("job_id", "submit", "run", "nodes")),
    ],
)
def test_the_names_of_columns_tell_the_format_of_a_log_without_a_header(tmp_path, text, columns):
    (tmp_path / "x").write_text(text)
    log = read_trace(tmp_path / "x", options=LogOptions(columns=columns))
    assert (log.job_id.tolist(), log.run.tolist(), log.line.tolist()) == ([7], [100], [1])
    with pytest.raises(InputError, match=r":1: \d columns?, but the option columns names 5$"):
        read_trace(tmp_path / "x", options=LogOptions(columns=(*columns, "more")))


def test_lines_before_a_log_that_are_none_of_it_may_be_skipped(tmp_path):
    (tmp_path / "x").write_text("sacct: no such cluster\n\nJobID|Submit|Elapsed|NNodes\n7|0|100|1\n")
    log = read_trace(tmp_path / "x", options=LogOptions(skip_bad=1))
    assert (log.job_id.tolist(), log.line.tolist()) == ([7], [4])
    assert log.remarks[0].startswith("skipped 1 bad line: 1 (not in a format that can be read here")


@pytest.mark.parametrize(
    ("option", "value", "formats"),
    [
        ("columns", ("job_id",), "sacct and csv"),
        ("timezone", "Europe/Berlin", "sacct and accounting"),
        ("runs", "all", "sacct and accounting"),
        ("partition_limit", {"a": 1}, "sacct and accounting"),
    ],
)
def test_an_option_that_means_nothing_for_a_log_is_refused(tmp_path, option, value, formats):
    (tmp_path / "x").write_text(SWF_ROW)
    told = refusal(tmp_path / "x", format="swf", options=LogOptions(**{option: value}))
    assert told == f"FILE:{option}: is for logs of {formats}; this one is swf"


def test_an_unknown_format():
    with pytest.raises(ValueError, match="'xml' is not a trace format; there are swf, accounting, sacct, csv"):
        read_trace("x", "xml")


def test_importing_the_readers_is_cheap():
    heavy = "{'polars', 'pandas', 'numba', 'pydantic'}"
    code = f"import sys, cosched_sim.workload.traces; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
