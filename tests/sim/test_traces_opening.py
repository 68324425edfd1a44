import bz2
import gzip
import io
import lzma
import os
import sys

import pytest
import zstandard

from cosched.words.errors import InputError
from cosched_sim.workload.traces import opening
from cosched_sim.workload.traces.notes import Notes
from cosched_sim.workload.traces.opening import read_blocks

ZSTD = zstandard.ZstdCompressor(write_checksum=True)  # as the command writes it
PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": ZSTD.compress}
packings = pytest.mark.parametrize("name", PACKERS)


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
@pytest.mark.parametrize("data", [b"one\n\nthree\r\nfour", b"one\r\rthree\rfour"])
def test_lines_are_the_same_whatever_ends_them_and_whatever_the_block_size(tmp_path, data, block_bytes):
    assert lines_of(write(tmp_path, data), block_bytes) == ["one", "", "three", "four"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"x", ["x"]),
        (b"a\rb\nc\n", ["a\rb", "c"]),  # a CR within a line ends none
        (b"\xef\xbb\xbfa,b\n", ["a,b"]),  # a mark of UTF-8 is no part of the text
        ("; Installation: Högskolan\n1 2 3\n".encode("latin-1"), ["; Installation: Högskolan", "1 2 3"]),
    ],
)
def test_the_lines_of_odd_files(tmp_path, data, lines):
    assert lines_of(write(tmp_path, data)) == lines


@packings
def test_packing_is_told_by_the_first_bytes_not_by_the_name(tmp_path, name):
    assert lines_of(write(tmp_path, PACKERS[name](b"a\nb\n"), "trace.swf")) == ["a", "b"]
    assert lines_of(write(tmp_path, b"a\nb\n", "trace.swf.gz")) == ["a", "b"]


@packings
def test_what_is_packed_in_several_parts_reads_as_one(tmp_path, name):
    long = b"x" * 300_000 + b"\n"
    pack = PACKERS[name]
    assert lines_of(write(tmp_path, pack(b"a\n") + pack(long) + pack(b"b\n"))) == ["a", long.decode().strip(), "b"]


@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()])
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


def test_a_missing_file_and_a_folder(tmp_path):
    assert refusal(tmp_path / "none.swf") == f"{tmp_path}/none.swf: cannot be read: No such file or directory"
    assert refusal(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


def test_no_permission(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, os.strerror(13))

    # The tests may run as root, whom no file refuses.
    monkeypatch.setattr(opening, "open", refuse, raising=False)
    assert refusal(tmp_path / "x").endswith("/x: cannot be read: Permission denied")


def test_a_name_with_a_nul():
    assert "cannot be read" in refusal("a\0b")


@packings
@pytest.mark.parametrize("keep", [5, 17, 60])
def test_a_truncated_file(tmp_path, name, keep):
    whole = PACKERS[name](os.urandom(5000).hex().encode())
    path = write(tmp_path, whole[: keep * len(whole) // 61])
    assert refusal(path) == f"{path}: truncated {name} file: its end is missing"


@packings
def test_a_damaged_file(tmp_path, name):
    data = bytearray(PACKERS[name](b"".join(b"%d %d\n" % (i, i * i) for i in range(2000))))
    data[len(data) // 2 : len(data) // 2 + 8] = bytes(8)
    assert f": damaged {name} file: " in refusal(write(tmp_path, bytes(data)))


def test_zstd_without_its_package(tmp_path, monkeypatch):
    path = write(tmp_path, zstandard.compress(b"a\n"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    how = "pip install 'coscheduling[sim]', or unpack it first (zstd -d)"
    assert refusal(path) == f"{path}: zstd-compressed data needs the package zstandard: {how}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"a\n", mtime=0) + b"junk", ": damaged gzip file"),
        (b"a\nb\nc\0d\n", ":3: binary data (a NUL byte), not text"),
        (b"; ok\n1 \xff 2\n", ":2: not text: byte 0xff is not UTF-8"),
        ("a\n".encode("utf-16"), "UTF-16"),
        (b"PK\3\4", "zip"),
    ],
)
def test_what_is_no_text_is_named_with_its_line(tmp_path, data, said):
    assert said in refusal(write(tmp_path, data))


def test_an_endless_line_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "LONGEST_LINE", 1 << 20)
    path = write(tmp_path, b"x" * (3 << 20))
    assert refusal(path) == f"{path}: not text: a line of more than 1 MiB"


def test_lines_that_are_no_text_are_empty_if_bad_ones_are_skipped(tmp_path):
    path = write(tmp_path, b"a\nb\xff\nc\0\nd\n")
    notes = Notes("t", skip_bad=2)
    assert [block.lines for block in read_blocks(path, notes=notes)] == [["a", "", "", "d"]]
    bytes_said = "2 (not text: byte 0xff is not UTF-8), 3 (binary data (a NUL byte), not text)"
    assert notes.remarks() == (f"skipped 2 bad lines: {bytes_said}",)
