import errno
import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched_sim.workload.jobs import TraceLog, Workload
from cosched_sim.workload.traces import read_trace, write_swf

NAMES = ("job_id", "submit", "wait", "run", "allocated", "requested_procs", "requested_time", "status", "user")


def log_of(rows, header=None):
    columns = dict(zip(NAMES, np.array(rows, dtype=np.int64).T, strict=True))
    return TraceLog(source="t", line=np.arange(len(rows)), header=header or {}, **columns)


LOG = log_of([[1, 0, 5, 100, 8, 16, 3600, 1, 7], [2, 60, -1, -1, -1, 4, -1, 5, -1]])
TEXT = """\
; Version: 2.2
; MaxProcs: 128
; MaxJobs: 2
; MaxRecords: 2
1 0 5 100 8 -1 -1 16 3600 -1 1 7 -1 -1 -1 -1 -1 -1
2 60 -1 -1 -1 -1 -1 4 -1 -1 5 -1 -1 -1 -1 -1 -1 -1
"""


def test_plain_or_gzip_by_the_name_and_the_same_bytes_each_time(tmp_path):
    names = ["a.swf", "a.swf.gz", "b.swf.gz"]
    for name in names:
        write_swf(LOG, tmp_path / name, {"MaxProcs": "128"})
    plain, packed, again = ((tmp_path / name).read_bytes() for name in names)
    assert plain.decode() == gzip.decompress(packed).decode() == TEXT
    assert packed == again
    assert sorted(os.listdir(tmp_path)) == names


def test_standard_output(capsys):
    write_swf(LOG, "-", {"MaxProcs": "128"})
    assert capsys.readouterr().out == TEXT


def test_a_workload(tmp_path):
    column = np.array([3, 4])
    jobs = Workload("t", column, submit=column * 10, run=column * 5, nodes=column, requested=column * 6)
    write_swf(jobs, tmp_path / "w.swf")
    log = read_trace(tmp_path / "w.swf")
    assert log.submit.tolist() == [30, 40]
    assert log.run.tolist() == [15, 20]
    assert log.requested_procs.tolist() == log.allocated.tolist() == [3, 4]
    assert log.requested_time.tolist() == [18, 24]
    assert log.wait.tolist() == [-1, -1]


def test_ids_that_are_text_are_numbered_and_said_so(tmp_path):
    jobs = Workload("t", np.array(["5_7", "5_8"]), *(np.array([1, 2]) for _ in range(4)))
    write_swf(jobs, tmp_path / "w.swf", {"Note": "mine"})
    log = read_trace(tmp_path / "w.swf")
    assert log.job_id.tolist() == [1, 2]
    assert log.header["Note"].startswith("mine\nthe job ids of the source are not numbers")


def test_the_header_of_a_log_is_kept_with_its_continuation_lines(tmp_path):
    header = {"Version": "2.2", "Note": "one\n more of one\ntwo", "Empty": "", "MaxJobs": "99"}
    write_swf(log_of([[1] * 9], header), tmp_path / "a.swf")
    assert read_trace(tmp_path / "a.swf").header == {**header, "MaxJobs": "1", "MaxRecords": "1"}


@pytest.mark.parametrize("key", ["a b", "", "1", "x:", "a\nb"])
def test_a_key_that_would_not_read_back(tmp_path, key):
    with pytest.raises(ValueError, match="cannot be a key"):
        write_swf(LOG, tmp_path / "a.swf", {key: "x"})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
def test_nothing_half_written_remains_when_the_disk_is_full(tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_swf(LOG, tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_device_is_written_to_not_replaced():
    with pytest.raises(OSError, match="No space left"):
        write_swf(LOG, "/dev/full")
    write_swf(LOG, os.devnull)
    assert Path(os.devnull).is_char_device()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.swf").write_text("old")
    (tmp_path / "link.swf").symlink_to("real.swf")
    write_swf(LOG, tmp_path / "link.swf")
    assert (tmp_path / "link.swf").is_symlink()
    assert "Version" in (tmp_path / "real.swf").read_text()


VALUES = st.integers(-(10**12), 10**12)
ROWS = st.lists(st.tuples(st.integers(-(2**63) + 1, 2**63 - 1), *[VALUES] * 8), min_size=1, max_size=30)
LETTERS = st.characters(categories=["L", "N", "P"])
WORDS = st.text(LETTERS, min_size=1, max_size=8).filter(lambda text: not text.startswith(";"))
KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(ROWS, st.dictionaries(KEYS, st.lists(WORDS, min_size=1, max_size=3).map("\n".join), max_size=3))
def test_what_is_written_reads_back(rows, header):
    log = log_of(rows, header)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.swf", "a.swf.gz"):
            path = Path(folder) / name
            write_swf(log, path)
            back = read_trace(path)
            for column in NAMES:
                assert getattr(back, column).tolist() == getattr(log, column).tolist()
            counts = {"MaxJobs": str(len(rows)), "MaxRecords": str(len(rows))}
            assert back.header == {"Version": "2.2", **header, **counts}
