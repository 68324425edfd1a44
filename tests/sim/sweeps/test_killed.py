"""`cosched sweep` killed with -9 at any moment, and resumed: nothing is lost, nothing doubled."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import polars

from tests.live.services import wait_until
from tests.sim.sweeps.small import SWEEP, children, command

MANY = """
replications = 2500

[[domain]]
name = "eureka"
trace = "generated:eureka/jobs=3"

[grid]
scheme = ["off", "hold"]
release_interval = ["5m", "20m"]
"""
PEAK_BYTES = 300e6
PATIENCE = 300  # seconds


def parts(folder: Path) -> int:
    return len(list(folder.glob("parts/*.parquet")))


def peak(process: int) -> int:
    """The most memory that a process had, in bytes; 0 if it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 1024 * int(found[1]) if found else 0


def ended(process: int) -> bool:
    """Whether a process is no more, or a zombie that nobody has asked for yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def finish(process: subprocess.Popen[str]) -> None:
    output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output


def kill(process: subprocess.Popen[str]) -> None:
    """As a machine that goes down does; its workers end by themselves."""
    workers = children(process.pid)
    process.kill()
    process.communicate()
    wait_until(lambda: all(map(ended, workers)), "the workers end with the command")


def labels(folder: Path) -> list[tuple[object, ...]]:
    frame = polars.read_parquet(folder / "results.parquet")
    assert frame["error"].is_null().all()
    assert frame["case"].n_unique() == len(frame)
    return frame.select(frame.columns[1 : frame.columns.index("error")]).rows()


def test_killed_at_any_moment_and_resumed(tmp_path):
    text = SWEEP.replace("replications = 3", "replications = 40")
    (tmp_path / "s.toml").write_text(text)
    quiet = command("sweep", "s.toml", "--out", "quiet", "--workers", 1, cwd=tmp_path)
    finish(quiet)
    noisy = command("sweep", "s.toml", "--out", "noisy", "--workers", 2, cwd=tmp_path)
    wait_until(lambda: parts(tmp_path / "noisy") > 0, "some results", PATIENCE)
    time.sleep(random.uniform(0, 0.4))  # any moment will do
    kill(noisy)
    (tmp_path / "noisy/.0123456789abcdef.part").write_bytes(b"what a killed process leaves")
    (tmp_path / "noisy/parts").mkdir(exist_ok=True)
    (tmp_path / "noisy/parts/.fedcba9876543210.part").write_bytes(b"PAR1")
    last = command("sweep", "s.toml", "--out", "noisy", "--resume", "--workers", 1, cwd=tmp_path)
    finish(last)
    for name in ("results.parquet", "averages.csv"):
        assert (tmp_path / "noisy" / name).read_bytes() == (tmp_path / "quiet" / name).read_bytes()
    assert tree(tmp_path / "noisy") == tree(tmp_path / "quiet")
    assert len(labels(tmp_path / "noisy")) == 240


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_ten_thousand_cases_killed_halfway(tmp_path):
    (tmp_path / "s.toml").write_text(MANY)
    first = command("sweep", "s.toml", "--out", "out", cwd=tmp_path)
    wait_until(lambda: parts(tmp_path / "out") > 80, "about half of it", PATIENCE)
    peaks = [peak(first.pid)]
    kill(first)
    there = rows(tmp_path / "out")
    assert 2_000 < there < 9_000
    second = command("sweep", "s.toml", "--out", "out", "--resume", cwd=tmp_path)
    wait_until(lambda: peaks.append(peak(second.pid)) or second.poll() is not None, "the rest", PATIENCE)
    finish(second)
    expected = itertools.product(range(1, 2501), ["off", "hold"], ["5m", "20m"])
    assert labels(tmp_path / "out") == [(scheme, time, number) for number, scheme, time in expected]
    assert 50e6 < max(peaks) < PEAK_BYTES


def rows(folder: Path) -> int:
    files = list(folder.glob("parts/*.parquet"))
    return int(polars.scan_parquet(files).select(polars.len()).collect().item()) if files else 0


def test_interrupted(tmp_path):
    (tmp_path / "s.toml").write_text(MANY)
    process = command("sweep", "s.toml", "--out", "out", cwd=tmp_path)
    wait_until(lambda: parts(tmp_path / "out") > 2, "some results", PATIENCE)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGINT)
    output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert output == ("", "cosched: interrupted; what has ended is in out, and --resume goes on with it\n")
    assert all(map(ended, workers))
    assert rows(tmp_path / "out") > 0


def test_not_twice_at_the_same_time(tmp_path):
    (tmp_path / "s.toml").write_text(MANY)
    first = command("sweep", "s.toml", "--out", "out", cwd=tmp_path)
    wait_until(lambda: parts(tmp_path / "out") > 0, "some results", PATIENCE)
    second = command("sweep", "s.toml", "--out", "out", "--resume", cwd=tmp_path)
    assert second.communicate(timeout=PATIENCE) == ("", "cosched: out: another sweep is writing there\n")
    assert second.returncode == 2
    assert first.poll() is None
    kill(first)
