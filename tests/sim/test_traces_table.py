import csv

import numpy as np
import pytest
from click.testing import CliRunner

from cosched.cli.main import main
from cosched.schedulers.column import UNKNOWN, Column
from cosched.schedulers.kind import stated
from cosched.words.errors import InputError
from cosched_sim.workload.columns import taken
from cosched_sim.workload.log_options import LogOptions
from cosched_sim.workload.traces import read_trace
from cosched_sim.workload.traces.opening import Block
from cosched_sim.workload.traces.table import read_table
from cosched_sim.workload.traces.table_writer import write_table

TABLE = """\
Submit, job_id,run,nodes,requested,user,wait,color
0,1,100,4,200,ann,5,red

12.5,2,30,2,,bob,,"a
b"
20,3,,1,60,ann,0,
"""


def read(text, **options):
    return read_table([Block(1, text.split("\n"))], "t.csv", options=LogOptions(**options))


def refusal(text):
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


def test_the_columns():
    log = read(TABLE)
    assert log.header == {"Unit": "nodes"}
    assert log.job_id.tolist() == [1, 2, 3]
    assert log.submit.tolist() == [0, 12, 20]
    assert log.run.tolist() == [100, 30, -1]
    assert log.wait.tolist() == [5, -1, 0]
    assert log.allocated.tolist() == log.requested_procs.tolist() == [4, 2, 1]
    assert log.requested_time.tolist() == [200, -1, 60]
    assert log.user.tolist() == [1, 2, 1]
    assert log.status.tolist() == [-1, -1, -1]
    assert log.line.tolist() == [2, 4, 6]


def test_processors_users_that_are_numbers_and_ids_that_are_text():
    log = read("job_id,submit,run,procs,user\na,0,1,16,7\n01,0,1,16,\n")
    assert log.header == {"Unit": "processors"}
    assert log.allocated.tolist() == [16, 16]
    assert log.user.tolist() == [7, -1]
    assert log.job_id.tolist() == ["a", "01"]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ("submit,run,nodes", "job_id"),
        ("job_id,run,nodes", "submit"),
        ("job_id,submit,nodes", "run"),
        ("job_id,submit,run", "nodes or procs"),
    ],
)
def test_a_missing_column_is_named(names, missing):
    assert refusal(names + "\n1,2,3\n") == f"t.csv:1: the column {missing} is missing"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,x,1,1", "column submit: 'x' is not a number"),
        ("1,0,nan,1", "column run: 'nan' is not a number"),
        ("1,0,1,1.5", "column nodes: '1.5' is not a whole number"),
        ("1,0,1", "3 columns, but the first line names 4"),
        (",0,1,1", "'' cannot be a job id"),
        ('1,0,1,"1', "not CSV: unexpected end of data"),
    ],
)
def test_mistakes_name_line_and_column(line, reason):
    assert refusal(f"job_id,submit,run,nodes\n1,0,1,1\n{line}") == f"t.csv:3: {reason}"


def test_a_column_that_is_there_twice():
    assert refusal("job_id,submit,run,nodes,run\n") == "t.csv:1: the column run occurs twice"


@pytest.mark.parametrize("text", ["", "\n\n", "job_id,submit,run,nodes\n", "job_id,submit,run,nodes\n,,,\n"])
def test_no_jobs(text):
    assert refusal(text) == "t.csv: no jobs"


def test_a_column_of_a_scheduler_may_be_more_than_a_number(tmp_path):
    """It stays what its reader has made of it, also where rows are left out, and is written as its words."""

    def read_sizes(text):
        return tuple(map(int, text.split()))

    def written(sizes):
        return " ".join(map(str, sizes))

    sizes = Column("sizes", read_sizes, written, whole=False)
    text = "job_id,submit,run,nodes,sizes\n1,0,1,1,1 2\n2,0,1,1,\n3,0,1,1,4 5\n"
    log = read_table([Block(1, text.split("\n"))], "t.csv", [sizes])
    assert log.columns["sizes"].tolist() == [(1, 2), UNKNOWN, (4, 5)]
    assert stated(log.columns, "sizes", 3).tolist() == [(1, 2), UNKNOWN, (4, 5)]
    assert taken(log.columns, np.array([2]))["sizes"].tolist() == [(4, 5)]
    write_table(log, tmp_path / "again.csv", {"sizes": sizes})
    again = read_trace(tmp_path / "again.csv", more=[sizes])
    assert again.columns["sizes"].tolist() == log.columns["sizes"].tolist()
    with pytest.raises(InputError, match=r"t\.csv:4: column sizes: "):
        read_table([Block(1, text.replace("4 5", "4 x").split("\n"))], "t.csv", [sizes])


@pytest.mark.papers
def test_a_log_that_is_converted_to_csv_keeps_the_columns_of_schedulers(tmp_path):
    log, again = tmp_path / "log.csv", tmp_path / "again.csv"
    log.write_text("job_id,submit,run,nodes,moldable,run_times,other\n1,0,9,4,,5:8 4:9,x\n2,0,9,4,1,,y\n")
    CliRunner().invoke(main, ["trace", "convert", str(log), str(again)], catch_exceptions=False)
    with again.open() as file:
        kept = [(row["job_id"], row["moldable"], row["run_times"], "other" in row) for row in csv.DictReader(file)]
    assert kept == [("1", "", "4:9 5:8", False), ("2", "1", "", False)]
    said = CliRunner().invoke(main, ["trace", "convert", "--clean", str(log), str(again)]).output
    assert "--clean keeps no column moldable, run_times" in said


def test_bad_lines_may_be_skipped():
    log = read("job_id,submit,run,nodes\n" + "1,0,10,1\n2,0\n3,soon,10,1\n4,5,10,1\n", skip_bad=2)
    assert (log.job_id.tolist(), log.line.tolist()) == ([1, 4], [2, 5])
    said = "3 (2 columns, but the first line names 4), 4 (column submit: 'soon' is not a number)"
    assert log.remarks == (f"skipped 2 bad lines: {said}",)


def test_all_lines_that_an_open_quote_swallows_are_bad():
    text = 'job_id,submit,run,nodes\n1,0,10,1\n"2,0,10,1\n3,0,10,1\n4,0,10,1'
    assert read(text, skip_bad=3).remarks == ("skipped 3 bad lines: 3 (not CSV: unexpected end of data), ...",)
    with pytest.raises(InputError, match=r"^t.csv:3: not CSV: unexpected end of data \(skip_bad=2 skips"):
        read(text, skip_bad=2)


def test_columns_of_a_log_without_a_header():
    log = read("7,0,10,1\n8,5,10,1\n", columns=["job_id", "submit", "run", "procs"])
    assert (log.job_id.tolist(), log.line.tolist(), log.header) == ([7, 8], [1, 2], {"Unit": "processors"})


def test_no_run_time_is_negative():
    assert read("job_id,submit,run,nodes\n1,0,-5,1\n").run.tolist() == [UNKNOWN]
