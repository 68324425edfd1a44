import bz2
import gzip
import io
import os
import sys

import pytest

from cosched.errors import InputError
from cosched.workload.traces import opening
from cosched.workload.traces.opening import read_blocks


def lines_of(path, block_bytes=1 << 20):
    found = []
    for first, lines in read_blocks(path, block_bytes):
        assert first == len(found) + 1
        found += lines
    return found


def refusal(path):
    with pytest.raises(InputError) as caught:
        lines_of(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write(tmp_path, data, name="trace"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 1 << 20])
def test_lines_are_the_same_whatever_the_block_size(tmp_path, block_bytes):
    path = write(tmp_path, b"one\n\nthree\r\nfour")
    assert lines_of(path, block_bytes) == ["one", "", "three", "four"]


def test_an_empty_file_has_no_lines(tmp_path):
    assert lines_of(write(tmp_path, b"")) == []


def test_a_file_of_one_byte(tmp_path):
    assert lines_of(write(tmp_path, b"x")) == ["x"]


def test_gzip_is_told_by_its_first_bytes_not_by_the_name(tmp_path):
    assert lines_of(write(tmp_path, gzip.compress(b"a\nb\n"), "trace.swf")) == ["a", "b"]
    assert lines_of(write(tmp_path, b"a\nb\n", "trace.swf.gz")) == ["a", "b"]


def test_gzip_of_several_members_reads_as_one(tmp_path):
    assert lines_of(write(tmp_path, gzip.compress(b"a\n") + gzip.compress(b"b\n"))) == ["a", "b"]


def test_a_utf8_mark_is_no_part_of_the_text(tmp_path):
    assert lines_of(write(tmp_path, b"\xef\xbb\xbfa,b\n")) == ["a,b"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch, pack):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(b"a\nb\n"))))
    assert lines_of("-") == ["a", "b"]


def test_standard_input_from_a_pipe_that_brings_one_byte_at_a_time(monkeypatch):
    class Drip(io.RawIOBase):
        data = gzip.compress(b"a\nb\n")

        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[: len(self.data[:1])] = self.data[:1]
            count = len(self.data[:1])
            self.data = self.data[1:]
            return count

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Drip())))
    assert lines_of("-") == ["a", "b"]


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("-") == "standard input: cannot be read: it is closed"


def test_a_missing_file(tmp_path):
    path = tmp_path / "none.swf"
    assert refusal(path) == f"{path}: cannot be read: No such file or directory"


def test_a_folder(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, os.strerror(13))

    # The tests may run as root, whom no file refuses.
    monkeypatch.setattr(opening, "open", refuse, raising=False)
    assert refusal(tmp_path / "x").endswith("/x: cannot be read: Permission denied")


def test_a_name_with_a_nul():
    assert "cannot be read" in refusal("a\0b")


@pytest.mark.parametrize("keep", [1, 2, 5, 17, 60])
def test_truncated_gzip(tmp_path, keep):
    whole = gzip.compress(os.urandom(5000).hex().encode())
    path = write(tmp_path, whole[: keep * len(whole) // 61])
    assert refusal(path) == f"{path}: truncated gzip file: its end is missing"


def test_damaged_gzip(tmp_path):
    data = bytearray(gzip.compress(os.urandom(500).hex().encode()))
    data[len(data) // 2] ^= 0xFF
    assert "damaged gzip file" in refusal(write(tmp_path, bytes(data)))


def test_gzip_followed_by_something_else(tmp_path):
    assert "damaged gzip file" in refusal(write(tmp_path, gzip.compress(b"a\n") + b"junk"))


def test_a_binary_file_is_refused_with_its_line(tmp_path):
    path = write(tmp_path, b"a\nb\nc\0d\n")
    assert refusal(path) == f"{path}:3: binary data (a NUL byte), not text"


def test_bytes_that_are_not_utf8(tmp_path):
    path = write(tmp_path, b"; ok\n1 \xff 2\n")
    assert refusal(path) == f"{path}:2: not text: byte 0xff is not UTF-8"


def test_latin1_is_tolerated_in_comments(tmp_path):
    path = write(tmp_path, "; Installation: Högskolan\n1 2 3\n".encode("latin-1"))
    assert lines_of(path) == ["; Installation: Högskolan", "1 2 3"]


@pytest.mark.parametrize(
    ("data", "what"), [(bz2.compress(b"a\n"), "bzip2"), ("a\n".encode("utf-16"), "UTF-16"), (b"PK\3\4", "zip")]
)
def test_other_packings_are_named(tmp_path, data, what):
    assert what in refusal(write(tmp_path, data))


def test_an_endless_line_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "LONGEST_LINE", 1 << 20)
    path = write(tmp_path, b"x" * (3 << 20))
    assert refusal(path) == f"{path}: not text: a line of more than 1 MiB"
