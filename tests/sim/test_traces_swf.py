import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.words.errors import InputError
from cosched_sim.workload.log_options import LogOptions
from cosched_sim.workload.traces.opening import Block
from cosched_sim.workload.traces.swf import COLUMNS, read_swf

GOOD = ["1", "0", "5", "100", "8", "-1", "-1", "16", "3600", "-1", "1", "7", "3", "-1", "2", "-1", "-1", "-1"]


def row(**changes):
    cells = list(GOOD)
    for column, text in changes.items():
        cells[int(column[1:]) - 1] = text
    return " ".join(cells)


def read(*lines, **options):
    return read_swf([Block(1, list(lines))], "t.swf", LogOptions(**options))


def refusal(*lines):
    with pytest.raises(InputError) as caught:
        read(*lines)
    return str(caught.value)


def test_the_columns():
    log = read("; MaxProcs: 128", row(), "", row(c1="2", c2="60"))
    assert log.source == "t.swf"
    assert len(log) == 2
    expected = {
        "job_id": [1, 2], "submit": [0, 60], "wait": [5, 5], "run": [100, 100], "allocated": [8, 8],
        "requested_procs": [16, 16], "requested_time": [3600, 3600], "status": [1, 1], "user": [7, 7], "line": [2, 4],
    }  # fmt: skip
    for name, values in expected.items():
        column = getattr(log, name)
        assert column.dtype == np.int64
        assert column.flags.c_contiguous
        assert column.tolist() == values, name


def test_lines_are_counted_across_blocks_and_comments():
    blocks = [Block(1, ["; a", row()]), Block(3, ["", "   ", "  ; b"]), Block(6, [row(c1="2"), "\t" + row(c1="3")])]
    log = read_swf(blocks, "t")
    assert log.line.tolist() == [2, 6, 7]
    assert log.job_id.tolist() == [1, 2, 3]


def test_headers_anywhere():
    log = read(
        ";   --- converted by hand ---",
        ";   MaxNodes: 5544",
        "; UnixStartTime:1296571124",
        "; Information: http://a",
        ";              http://b",
        ";",
        "; no key here",
        row(),
        "; Queue: 1 one",
        "; Queue: 2 two",
        "; Empty:",
    )
    assert log.header == {
        "MaxNodes": "5544", "UnixStartTime": "1296571124", "Information": "http://a\n http://b",
        "Queue": "1 one\n2 two", "Empty": "",
    }  # fmt: skip


@pytest.mark.parametrize("lines", [[], ["; MaxProcs: 4"], ["", "  "]])
def test_no_jobs(lines):
    assert refusal(*lines) == "t.swf: no jobs"


@pytest.mark.parametrize("column", range(1, 19))
@pytest.mark.parametrize("text", ["abc", "nan", "-inf", "0x10", "1_0", "1,5", "12a", "--1", "٣"])
def test_text_in_any_column_names_line_column_and_text(column, text):
    good = [row()] * 3
    message = refusal("; x", *good, row(**{f"c{column}": text}), *good)
    assert message == f"t.swf:5: column {column} ({COLUMNS[column - 1]}): {text!r} is not a number"


def test_the_first_mistake_is_the_one_reported():
    assert refusal(row(), row(c18="x", c3="y"), row(c1="z")).startswith("t.swf:2: column 3")


@pytest.mark.parametrize(
    ("line", "count"), [(row() + " 1", "19 columns"), (" ".join(GOOD[:-1]), "17 columns"), ("7", "1 column")]
)
def test_a_wrong_number_of_columns(line, count):
    assert refusal(row(), line) == f"t.swf:2: {count}, but an SWF line has 18"
    assert refusal(line, line) == f"t.swf:1: {count}, but an SWF line has 18"


@pytest.mark.parametrize("column", [6, 7, 10, 13, 14, 15, 16, 17, 18])
@pytest.mark.parametrize("text", ["12.5", "-0.25", "1e30", "99999999999999999999"])
def test_columns_that_are_not_kept_hold_any_number(column, text):
    assert read(row(), row(**{f"c{column}": text})).run.tolist() == [100, 100]


def test_fractions_of_seconds_are_rounded_down():
    log = read(row(c2="12.0", c3="12.5", c4="0.9", c9="1e3"), row(c2="-0.5"))
    assert (log.submit[0], log.wait[0], log.run[0], log.requested_time[0]) == (12, 12, 0, 1000)
    assert log.submit[1] == -1


@pytest.mark.parametrize("column", [1, 5, 8, 11, 12])
def test_counts_and_ids_must_be_whole(column):
    assert len(read(row(**{f"c{column}": "12.0"}))) == 1
    assert refusal(row(**{f"c{column}": "12.5"})).endswith("'12.5' is not a whole number")


@pytest.mark.parametrize("column", [2, 3, 4, 5, 8, 9, 11, 12])
@pytest.mark.parametrize("text", ["1000000000001", "-1000000000001", "-9223372036854775808", "1e13", "9" * 400])
def test_values_that_no_trace_can_mean(column, text):
    assert "is too large" in refusal(row(**{f"c{column}": text}))
    assert len(read(row(**{f"c{column}": "1000000000000"}))) == 1


def test_long_job_ids_keep_all_digits_beside_fractions():
    log = read(row(c1="9223372036854775807", c6="0.5"), row(c1="9007199254740993"))
    assert log.job_id.tolist() == [9223372036854775807, 9007199254740993]
    told = refusal(row(c1="9223372036854775808"))
    assert told == "t.swf:1: column 1 (job number): '9223372036854775808' is too large"


def test_a_long_text_is_shortened_in_the_message():
    assert len(refusal(row(c2="x" * 1000))) < 120


NUMBERS = st.one_of(
    st.integers(-5, 10**6).map(str),
    st.decimals(-10, 10**6, places=2).map(str),
    st.sampled_from(["1e3", "+7", "12.", ".5", "nan", "x", "-"]),
)


def outcome(*lines):
    """The jobs, column by column, or what is wrong with the first bad line."""
    try:
        log = read(*lines)
    except InputError as error:
        return error.reason
    columns = (log.job_id, log.submit, log.wait, log.run, log.allocated, log.requested_procs, log.requested_time)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(st.lists(st.tuples(st.integers(1, 18), NUMBERS), min_size=1, max_size=4), st.integers(0, 3))
def test_a_block_reads_the_same_as_its_lines_one_by_one(changes, extra):
    """The fast readers take whole blocks, so a block must mean what its rows mean alone."""
    lines = [row(**{f"c{column}": text}) for column, text in changes] + [row()] * extra
    alone = [outcome(line) for line in lines]
    mistakes = [found for found in alone if isinstance(found, str)]
    assert outcome(*lines) == (mistakes[0] if mistakes else [job for jobs in alone for job in jobs])


def test_bad_lines_may_be_skipped():
    log = read(row(), "1 2 3", row(c1="2"), row(c4="long"), skip_bad=2)
    assert (log.job_id.tolist(), log.line.tolist()) == ([1, 2], [1, 3])
    said = "2 (3 columns, but an SWF line has 18), 4 (column 4 (run time): 'long' is not a number)"
    assert log.remarks == (f"skipped 2 bad lines: {said}",)
    with pytest.raises(InputError, match=r"^t.swf:4: .* \(skip_bad=1 skips no more bad lines than that\)$"):
        read(row(), "1 2 3", row(c1="2"), row(c4="long"), skip_bad=1)
    with pytest.raises(InputError, match=r"^t.swf: no jobs$"):
        read("1 2 3", skip_bad=1)
