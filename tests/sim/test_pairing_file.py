"""Pairs from a file and to a file: what a row means, and every way to get a file wrong."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.core.protocol import Terms, Window, named_group
from cosched.core.settings import OnMemberRequeued
from cosched.words.errors import InputError
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Group, Pairing
from cosched_sim.workload.pairs_file import pairs_from_file, write_pairs

NAMES = ("intrepid", "eureka", "mira")


def workload(job_id, left_out=()):
    n = len(job_id)
    ids = np.array(job_id, dtype=None if n else np.int64)
    ones = np.ones(n, dtype=np.int64)
    return Workload("test", ids, np.arange(n), ones, ones, ones, left_out_ids=frozenset(left_out))


def members(pairing: Pairing) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """(row, (domain, job), (domain, job)) of each pair."""
    assert pairing.row.shape == (len(pairing),)
    assert pairing.domain.shape == pairing.job.shape == (len(pairing), 2)
    assert pairing.row.dtype == pairing.domain.dtype == pairing.job.dtype == np.int64
    return [(pair.row, *pair.members) for pair in pairing.rows]


@pytest.fixture
def domains():
    return [
        workload([10, 20, 30, 40], left_out=[50]),
        workload([7, 8, 9], left_out=[6]),
        workload(["a.1", "b 2", "007"], left_out=["gone"]),
    ]


@pytest.fixture
def written(tmp_path, domains):
    """The text of pairs as it is written."""

    def write(pairing: Pairing) -> str:
        write_pairs(tmp_path / "again.csv", NAMES, domains, pairing)
        return (tmp_path / "again.csv").read_text()

    return write


@pytest.fixture
def read(tmp_path, domains):
    def read_text(text: str | bytes) -> Pairing:
        path = tmp_path / "pairs.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return pairs_from_file(path, NAMES, domains)

    return read_text


# From a file.


@pytest.mark.parametrize(
    ("text", "found", "dropped"),
    [
        ("intrepid,eureka\n10,9\n40,7\n", [(1, (0, 0), (1, 2)), (2, (0, 3), (1, 0))], 0),
        ("eureka,intrepid\n9,10\n", [(1, (0, 0), (1, 2))], 0),  # in the order of the domains, not of the columns
        (
            "intrepid,eureka,mira\n10,,a.1\n,9,b 2\n20,8,\n",
            [(1, (0, 0), (2, 0)), (2, (1, 2), (2, 1)), (3, (0, 1), (1, 1))],
            0,
        ),
        ("\nintrepid,eureka\n\n10,9\n   \n20,8\n\n", [(1, (0, 0), (1, 2)), (2, (0, 1), (1, 1))], 0),
        # Jobs left out: their rows are dropped, and the others keep their numbers.
        ("intrepid,eureka\n50,9\n10,8\n20,6\n30,7\n", [(2, (0, 0), (1, 1)), (4, (0, 2), (1, 0))], 2),
        ("intrepid,eureka\n", [], 0),
        ("intrepid,eureka", [], 0),
        ("eureka\n", [], 0),
        ("intrepid,eureka,mira\r\n", [], 0),
        # As spreadsheets write it.
        ('\ufeff intrepid , eureka\r\n 10 ,9\r\n"20","8"\r\n', [(1, (0, 0), (1, 2)), (2, (0, 1), (1, 1))], 0),
    ],
)
def test_rows_name_the_jobs_of_the_columns_domains(read, text, found, dropped):
    pairing = read(text)
    assert (members(pairing), pairing.dropped) == (found, dropped)


def test_rows_of_more_than_two_jobs_are_groups(read, written):
    pairing = read("intrepid,eureka,mira\n10,9,a.1\n20,8,\n")
    assert pairing.groups == (Group(1, ((0, 0), (1, 2), (2, 0))),)
    assert (pairing.row.tolist(), pairing.domain.tolist(), pairing.job.tolist()) == ([2], [[0, 1]], [[1, 1]])
    assert written(pairing) == "intrepid,eureka,mira\n10,9,a.1\n20,8,\n"


def test_a_cell_may_have_a_window(read, written):
    text = "intrepid,eureka,mira\n10,9@60..60,a.1@-300..300\n20,8@-5..0,\n30,7@0..0,\n"
    pairing = read(text)
    assert pairing.groups == (
        Group(1, ((0, 0), (1, 2), (2, 0)), ((0, 0), (60, 60), (-300, 300))),
        Group(2, ((0, 1), (1, 1)), ((0, 0), (-5, 0))),
    )
    assert pairing.row.tolist() == [3]
    assert pairing.groups[0].named_by(1, NAMES) == named_group(
        "1", ("intrepid", "mira"), windows=(Window("eureka", 60, 60), Window("mira", -300, 300))
    )
    assert written(pairing) == text.replace("@0..0", "")


def test_a_column_gives_rows_an_instant(read, written):
    text = "intrepid,eureka,mira,at\n10,9,a.1,3600\n20,8,,0\n30,7,,\n"
    pairing = read(text)
    assert [(group.row, group.at) for group in pairing.groups] == [(1, 3600), (2, 0)]
    assert pairing.row.tolist() == [3]
    assert pairing.groups[1].named_by(0, NAMES) == named_group("2", ("eureka",), at=0)
    assert written(pairing) == text


def test_an_id_may_have_the_form_of_a_window(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\n1@0..9,1\n")
    assert pairs_from_file(path, ["a", "b"], [workload(["1@0..9"]), workload([1])]).groups == ()


@pytest.mark.parametrize("text", ["intrepid,eureka\n10,9\n20,8@60..60\n", "intrepid,eureka,at\n10,9,\n20,8,60\n"])
def test_windows_and_instants_are_for_domains_with_slots(tmp_path, domains, text):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    assert len(pairs_from_file(path, NAMES, domains, ["intrepid", "eureka"])) == 2
    with pytest.raises(InputError, match=r":3: jobs with windows or an instant are for .* slots, and eureka has none$"):
        pairs_from_file(path, NAMES, domains, ["intrepid", "mira"])


def test_an_id_that_is_both_kept_and_left_out_is_kept(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\n1,1\n")
    pairing = pairs_from_file(path, ["a", "b"], [workload([1], left_out=[1]), workload([1])])
    assert members(pairing) == [(1, (0, 0), (1, 0))]


def test_text_ids_are_text(read):
    assert members(read("mira,eureka\n007,7\n")) == [(1, (1, 0), (2, 2))]
    with pytest.raises(InputError, match=r":2: mira has no job '7'$"):
        read("mira,eureka\n7,7\n")


WRONG_FILES = {
    "no header": ("", 1, "no header line: expected the names of domains (intrepid, eureka, mira)"),
    "only blank lines": ("\n \n", 1, "no header line"),
    "ids for a header": ("10,9\n20,8\n", 1, "column '10' is not a domain: expected"),
    "unknown domain": ("\nintrepid,theta\n", 2, "column 'theta' is not a domain"),
    "unnamed column": ("intrepid,eureka,\n10,9,\n", 1, "column '' is not a domain"),
    "column twice": ("intrepid,eureka,intrepid\n", 1, "the column 'intrepid' occurs twice"),
    "unknown job": ("intrepid,eureka\n10,9\n11,8\n", 3, "intrepid has no job '11'"),
    "not a number": ("intrepid,eureka\n10,9.0\n", 2, "eureka has no job '9.0'"),
    "a number in other digits": ("intrepid,eureka\n10,٩\n", 2, "eureka has no job '٩'"),
    "a very long number": (f"intrepid,eureka\n10,{'9' * 5000}\n", 2, "eureka has no job '999"),
    "job twice": ("intrepid,eureka\n10,9\n\n20,9\n", 4, "eureka's job '9' is already paired on line 2"),
    "job twice, once dropped": ("intrepid,eureka\n10,6\n10,9\n", 3, "intrepid's job '10' is already paired on line 2"),
    "left out job twice": ("intrepid,eureka\n50,8\n50,9\n", 3, "intrepid's job '50' is already paired on line 2"),
    "one member": ("intrepid,eureka\n10,\n", 2, "a pair has two jobs, but this row names 1"),
    "no member": ("intrepid,eureka\n,\n", 2, "a pair has two jobs, but this row names 0"),
    "one column": ("intrepid\n10\n", 2, "a pair has two jobs, but this row names 1"),
    "too few cells": ("intrepid,eureka\n10\n", 2, "1 cells, but the header has 2"),
    "too many cells": ("intrepid,eureka\n10,9,\n", 2, "3 cells, but the header has 2"),
    "open quote": ('intrepid,eureka\n"10,9\n', 2, "not CSV: "),
    "open quote in the header": ('"intrepid,eureka\n', 1, "not CSV: "),
    "window of an unknown job": ("intrepid,eureka\n10,11@1..2\n", 2, "eureka has no job '11@1..2'"),
    "window of words": ("intrepid,eureka\n10,9@5m..6m\n", 2, "window '5m..6m' is not of whole seconds, FROM..TO"),
    "window of parts": ("intrepid,eureka\n10,9@0.5..1\n", 2, "window '0.5..1' is not of whole seconds"),
    "half a window": ("intrepid,eureka\n10,9@5\n", 2, "window '5' is not of whole seconds"),
    "no window": ("intrepid,eureka\n10,9@\n", 2, "window '' is not of whole seconds"),
    "window upside down": ("intrepid,eureka\n10,9@6..5\n", 2, "window 6..5 ends before it begins"),
    "far window": ("intrepid,eureka\n10,9@0..604801\n", 2, "window 0..604801 is more than 7 days from"),
    "far window before": ("intrepid,eureka\n10,9@-604801..0\n", 2, "is more than 7 days from the common instant"),
    "windows alone": ("intrepid,eureka\n10@1..2,9@0..9\n", 2, "every job has a window, but they count from one that"),
    "instant of words": ("intrepid,eureka,at\n10,9,noon\n", 2, "instant 'noon' is not of whole seconds, as"),
    "binary": (b"intrepid,eureka\n10,9\n\x00\x01,8\n", 3, "binary"),
    "not UTF-8": (b"intrepid,eureka\n10,\xff\n", 2, "not UTF-8"),
}


@pytest.mark.parametrize(("text", "line", "reason"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_wrong_file_is_refused_with_its_line(read, tmp_path, text, line, reason):
    with pytest.raises(InputError) as caught:
        read(text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'pairs.csv'}:{line}: ")
    assert reason in message
    assert "\n" not in message


def test_a_missing_file_and_a_folder_are_refused(tmp_path, domains):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError) as caught:
            pairs_from_file(path, NAMES, domains)
        assert str(caught.value).startswith(f"{path}: cannot be read: ")


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_pairs_or_one_line(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"a,b\n" + data)
    try:
        pairing = pairs_from_file(path, ["a", "b"], [workload([1, 2, 3]), workload([1, 2, 3])])
    except InputError as error:
        message = str(error)
    else:
        message = ""
        assert (pairing.job < 3).all()
    assert "\n" not in message


# To a file.


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_again(tmp_path_factory, data):
    ids = st.lists(st.text("ab,\"'é 1", min_size=1).map(str.strip).filter(bool), unique=True, max_size=6)
    numbers = st.lists(st.integers(0, 10**17), unique=True, max_size=6)
    domains = [workload(data.draw(numbers)), workload(data.draw(ids)), workload(data.draw(numbers))]
    free = data.draw(st.permutations([(d, j) for d, w in enumerate(domains) for j in range(len(w))]))
    pairs = [sorted(pair) for pair in zip(free[::2], free[1::2], strict=False) if pair[0][0] != pair[1][0]]
    pairing = Pairing(
        row=np.arange(1, len(pairs) + 1),
        domain=np.array([[d for d, _ in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2),
        job=np.array([[j for _, j in pair] for pair in pairs], dtype=np.int64).reshape(-1, 2),
    )
    path = tmp_path_factory.getbasetemp() / "written.csv"
    write_pairs(path, NAMES, domains, pairing)
    assert members(pairs_from_file(path, NAMES, domains)) == members(pairing)


def test_the_file_and_standard_output_are_the_same(tmp_path, capsysbinary, domains, read):
    pairing = read("intrepid,eureka,mira\n10,,b 2\n50,7,\n20,8,\n")
    path = tmp_path / "out.csv"
    path.write_text("old")
    write_pairs(path, NAMES, domains, pairing)
    write_pairs("-", NAMES, domains, pairing)
    assert path.read_bytes() == capsysbinary.readouterr().out == b"intrepid,eureka,mira\n10,,b 2\n20,8,\n"
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "pairs.csv"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path, domains, read):
    with pytest.raises(OSError, match="none"):
        write_pairs(tmp_path / "none" / "out.csv", NAMES, domains, read("intrepid,eureka\n10,9\n"))
    assert os.listdir(tmp_path) == ["pairs.csv"]


# What jobs do when others end, or are queued again.

TERMS = """intrepid,eureka,mira,ends_with,fail_together,if_requeued,together_for
10,7,,intrepid,,,
20,8,a.1,eureka:intrepid mira:intrepid mira:eureka,intrepid:yes eureka:yes,requeue,mira:10m
30,9,,,no,eureka:end,
40,,b 2,,,,
"""
REQUEUE = OnMemberRequeued.REQUEUE


def test_a_row_says_what_its_jobs_do_when_others_end_or_are_queued_again(read):
    assert read(TERMS).terms == {
        (1, 0): Terms(ends_with=("intrepid",)),
        (0, 1): Terms(fail_together=True, if_requeued=REQUEUE),
        (1, 1): Terms(("intrepid",), True, REQUEUE),
        (2, 0): Terms(("intrepid", "eureka"), False, REQUEUE, 600),
        (1, 2): Terms(if_requeued=OnMemberRequeued.END),
    }
    named = read(TERMS).named_by_domain(NAMES)[1]
    assert named[0].terms.follows("intrepid")
    assert named[2].peer == "intrepid"


def test_what_jobs_do_is_written_as_it_was_read(read, written):
    pairing = read(TERMS)
    text = written(pairing)
    assert read(text).terms == pairing.terms
    assert text.splitlines()[1] == "10,7,,eureka:intrepid,,,"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("mars,,,", "ends_with: 'mars' is not a domain of a job of this row: intrepid, eureka"),
        ("mira:eureka,,,", "ends_with: 'mira' is not a domain of a job of this row: intrepid, eureka"),
        ("eureka:intrepid intrepid:eureka,,,", "the jobs on eureka, intrepid would end with each other, in a circle"),
        ("eureka:eureka,,,", "the jobs on eureka would end with each other, in a circle"),
        (",maybe,,", "fail_together: 'maybe' is not yes or no"),
        (",,again,", "if_requeued: 'again' is not continue, requeue, end"),
        (",,end eureka:requeue,", "if_requeued: eureka's job has two values"),
        (",,requeue,soon", "together_for: 'soon' is not a duration such as 90, 20m, 12h or 3d"),
        (",,eureka:requeue,90", "together_for: has no use without if_requeued = requeue of intrepid's job"),
    ],
)
def test_what_jobs_cannot_do_is_named_with_file_and_line(read, cells, reason):
    with pytest.raises(InputError, match=r"pairs\.csv:2: ") as error:
        read(f"intrepid,eureka,mira,ends_with,fail_together,if_requeued,together_for\n10,7,,{cells}\n")
    assert reason in str(error.value)
