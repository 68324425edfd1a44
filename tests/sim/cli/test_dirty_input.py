"""Files that cannot be used: one clear line, exit code 2, nothing written."""

import gzip

import pytest

from tests.cli.conftest import hourly, swf, tree

GOOD = swf(*hourly(50))


@pytest.fixture
def rejected(refused, logs, tmp_path):  # noqa: ARG001 (its files are used)
    """Replay with --out; the one line on standard error. Nothing is written, not even the folder."""

    def run(*args):
        before = tree(tmp_path)
        line = refused("replay", *args, "--out", "new/run")
        assert tree(tmp_path) == before
        assert not (tmp_path / "new").exists()
        return line

    return run


def text_line(number, text):
    """GOOD with another text in a line (from 1)."""
    lines = GOOD.splitlines()
    lines[number - 1] = text
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0\n" * 100, "bad:1: binary data (a NUL byte), not text"),
        (b"1 2\n3 \xfe\xff 4\n", "bad:2: not text: byte 0xfe is not UTF-8"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-20], "bad: truncated gzip file: its end is missing"),
        (b"BZh91AY&SY", "bad: truncated bzip2 file: its end is missing"),
        (
            text_line(7, "6 x -1 1 1 -1 -1 1 1 -1 1 1 -1 -1 -1 -1 -1 -1"),
            "bad:7: column 2 (submit time): 'x' is not a number",
        ),
        (swf((1, -5, 10, 1), (2, -1, 10, 1)).encode(), "bad: no job is left: negative submit time (2)"),
        (swf((1, 0, -5, 1), (2, 0, 10, 11)).encode(), "bad: no job is left: no run time (1), larger than the machine"),
        (b"1 0 -1 5 1 -1 -1 1 5 -1 1 1 -1 -1 -1 -1 -1 -1\n", "--domain x:nodes: missing, and the trace does not state"),
    ],
)  # fmt: skip
def test_a_trace(rejected, tmp_path, data, reason):
    (tmp_path / "bad").write_bytes(data)
    assert rejected("--domain", "x,trace=bad").startswith(reason)


def test_times_beyond_what_can_be_simulated(rejected, tmp_path):
    (tmp_path / "bad").write_text(swf((1, 999_999_999_999, 10, 1)))
    assert rejected("--domain", "x,trace=bad") == "replay: x: its times are too large for a simulation (2^35 s)"


def test_a_file_of_pairs(rejected, logs, tmp_path):
    (tmp_path / "pairs.csv").write_text("a,b\n1,1\n2,99\n")
    assert rejected(*logs, "--pairs", "pairs.csv") == "pairs.csv:3: b has no job '99'"


def test_a_script(rejected, logs, tmp_path):
    (tmp_path / "script").write_text("# first\n\n5 cancel a 99\n")
    assert rejected(*logs, "--script", "script") == "script:3: no job '99' in a"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--domain", "x,trace=none"], "none: cannot be read: No such file or directory"),
        (["--domain", "x,trace=."], ".: cannot be read: Is a directory"),
        (["--domain", "x,trace=a.swf", "--pairs", "none"], "none: cannot be read: No such file or directory"),
        (["--domain", "x,trace=a.swf", "--script", "none"], "none: cannot be read: No such file or directory"),
        (["--domain", "x,trace=a.swf", "--config", "none"], "none: cannot be read: No such file or directory"),
        (["--domain", "x,trace=a.swf,cut=9d.."], "--domain x:cut: no job is submitted in the time window; the"),
        (["--domain", "x,trace=a.swf,scale=1e20"], "--domain x:scale: a scale factor of 1E+20 makes submit times too"),
        (["--domain", "x,trace=a.swf,policy=wait*"], "--domain x:policy: 'wait*': a number, wait, requested"),
    ],
)
def test_what_is_not_there_or_does_not_fit(rejected, arguments, reason):
    assert rejected(*arguments).startswith(reason)


def test_the_same_from_a_process_of_its_own(console, tmp_path):
    (tmp_path / "bad").write_bytes(gzip.compress(GOOD.encode())[:-20])
    result = console("replay", "--domain", "x,trace=bad", "--out", "run", "--json")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("cosched: bad: truncated gzip file")
    assert result.stderr.count("\n") == 1
    assert tree(tmp_path) == ["bad"]
