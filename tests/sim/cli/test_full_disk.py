"""Where files cannot be written: one clear line, exit code 1, nothing half-written."""

import os
import resource
import signal

import pytest

from tests.cli.conftest import hourly, swf, tree
from tests.small_disk import mounted
from tests.tiers import soaked

KILOBYTES = 64


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own, which is soon full."""
    with mounted(tmp_path / "disk", f"{KILOBYTES}k") as folder:
        yield folder


@pytest.fixture
def long_log(tmp_path):
    """A log whose jobs.csv is larger than the small disk."""
    (tmp_path / "long.swf").write_text(swf(*hourly(1500)))
    return "--domain", "x,trace=long.swf", "--domain", "y,trace=long.swf", "--pair-window", "1m"


@pytest.mark.parametrize("compare", soaked([(), ("--compare",)], 1))
def test_a_disk_that_fills(refused, small_disk, long_log, compare):
    said = refused("replay", *long_log, *compare, "--out", small_disk / "runs/one", exit_code=1)
    assert said == f"{small_disk}/runs/one: No space left on device"
    assert os.listdir(small_disk) == []


@pytest.mark.soak  # the same line before the report is written remains
def test_a_disk_that_fills_while_the_report_is_written(console, small_disk, logs):
    result = console("replay", *logs, "--pair-window", "2m", "--out", small_disk / "run")
    assert (result.returncode, result.stdout) == (1, "")
    later = f"all but the report is written: cosched report {small_disk}/run draws it"
    assert result.stderr == f"cosched: {small_disk}/run: No space left on device; {later}\n"
    assert {"jobs.csv", "summary.json"} <= set(os.listdir(small_disk / "run")) - {"report.html"}


def test_a_disk_that_fills_leaves_an_earlier_run_as_it_was(cosched, small_disk, long_log, logs):
    cosched("replay", *logs, "--out", small_disk / "run", "--no-report")
    before = {name: (small_disk / name).read_bytes() for name in tree(small_disk)}
    cosched("replay", *long_log, "--out", small_disk / "run", exit_code=1)
    assert {name: (small_disk / name).read_bytes() for name in tree(small_disk)} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "convert", "long.swf", "disk/out.swf"),
        ("trace", "generate", "eureka", "disk/out.swf"),
        ("trace", "pair", "--domain", "x,trace=long.swf,cut=0..30d", "--domain", "y,trace=long.swf", "disk/out.csv"),
        ("demo", "--out", "disk/demo"),
    ],
)
@pytest.mark.usefixtures("long_log")
def test_other_commands(cosched, small_disk, arguments):
    if arguments[1] == "pair":
        (small_disk / "filler").write_bytes(bytes((KILOBYTES - 4) * 1024))
        arguments = (*arguments, "--pair-window", "1m")
    result = cosched(*arguments, exit_code=1)
    before, _, after = result.stdout.partition("\n\n")  # a demo says first what it does
    assert (bool(before), after) == ("demo" in arguments, "")
    name = "disk/demo" if "demo" in arguments else next(text for text in arguments if text.startswith("disk/"))
    assert result.stderr == f"cosched: {name}: No space left on device\n"
    assert not set(os.listdir(small_disk)) - {"filler"}


def test_a_file_that_may_not_grow(console, tmp_path, long_log):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    result = console("replay", *long_log, "--out", "run", preexec_fn=limit)
    assert (result.returncode, result.stderr) == (1, "cosched: run: File too large\n")
    assert tree(tmp_path) == ["long.swf"]


def test_a_file_in_the_way(refused, logs, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert refused("replay", *logs, "--pair-window", "1m", "--out", "file", exit_code=1) == "file: Not a directory"
    assert refused("replay", *logs, "--pair-window", "1m", "--out", "file/x", exit_code=1) == "file/x: Not a directory"
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/HY").write_text("mine")
    refused("replay", *logs, "--pair-window", "1m", "--compare", "--out", "runs", "--no-report", exit_code=1)
    assert tree(tmp_path) == ["a.swf", "b.swf.gz", "file", "runs/HY"]
    assert os.listdir(tmp_path / "runs") == ["HY"]


def test_a_folder_that_may_not_be_written(refused, logs, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, os.strerror(13), "somewhere")

    # The tests may run as root, whom no folder refuses.
    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    line = refused("replay", *logs, "--pair-window", "1m", "--out", "run", exit_code=1)
    assert line.startswith("run: Permission denied: ")


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize("target", ["none/out.swf", "none/out.swf.gz"])
def test_a_missing_folder(refused, target):
    assert refused("trace", "convert", "a.swf", target, exit_code=1) == f"{target}: No such file or directory"
