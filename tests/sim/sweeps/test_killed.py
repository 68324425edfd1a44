"""`cosched sweep` killed with -9 at any moment, and resumed: nothing is lost, nothing doubled."""

import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest

from cosched.cli.own_service import lives
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
ENDLESS = MANY.replace("2500", "2_500_000")  # for what is to be seen while a sweep goes on
PEAK_BYTES = 300e6
PATIENCE = 900  # seconds; a safety net
NEVER = 10**9

# `cosched`, killed by itself some moment (seconds at most) after it has kept so many rows: however fast it goes, and
# whatever its tester does meanwhile. At the end it notes its workers, and the most memory that it had, in bytes.
KILLED = r"""
import json, os, random, re, signal, sys, threading
from pathlib import Path

from cosched.cli.main import main
from cosched_sim.sweeps.storage import Store

notes, most, moment = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
sys.argv[:] = ["cosched", *sys.argv[4:]]
add, rows = Store.add, 0


def note():
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    workers = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    whole = notes.with_name(f"notes-{threading.get_ident()}")
    whole.write_text(json.dumps({"peak": 1024 * int(peak[1]), "workers": [int(pid) for pid in workers]}))
    whole.replace(notes)


def end():
    note()
    os.kill(os.getpid(), signal.SIGKILL)


def add_and_count(store, more):
    global rows
    add(store, more)
    before, rows = rows, rows + len(more)
    if before < most <= rows:
        threading.Timer(random.uniform(0, moment), end).start()


Store.add = add_and_count
try:
    main()
finally:
    note()
"""


def parts(folder: Path) -> int:
    return len(list(folder.glob("parts/*.parquet")))


def finish(process: subprocess.Popen[str]) -> None:
    output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output


def run_until(most: int, moment: float, *arguments: object, cwd: Path) -> tuple[int, dict[str, Any]]:
    """How it ended, and what it has noted; see KILLED. Workers of what was killed end by themselves."""
    notes = cwd / "notes.json"
    program = [sys.executable, "-c", KILLED, str(notes), str(most), str(moment), *map(str, arguments)]
    done = subprocess.run(program, cwd=cwd, timeout=PATIENCE, check=False)
    noted = json.loads(notes.read_text())
    wait_until(lambda: not any(map(lives, noted["workers"])), "the workers end with the command")
    return done.returncode, noted


@contextlib.contextmanager
def under_way(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A sweep that has some results in `out` and does not end before this block; it is killed then."""
    (folder / "s.toml").write_text(ENDLESS)
    process = command("sweep", "s.toml", "--out", "out", cwd=folder)
    try:
        wait_until(lambda: parts(folder / "out") > 0, "some results", PATIENCE)
        yield process
    finally:
        process.kill()
        process.communicate()


def labels(folder: Path) -> list[tuple[object, ...]]:
    frame = polars.read_parquet(folder / "results.parquet")
    assert frame["error"].is_null().all()
    assert frame["case"].n_unique() == len(frame)
    return frame.select(frame.columns[1 : frame.columns.index("error")]).rows()


@pytest.mark.soak
def test_killed_at_any_moment_and_resumed(tmp_path):
    (tmp_path / "s.toml").write_text(SWEEP.replace("replications = 3", "replications = 5"))
    finish(command("sweep", "s.toml", "--out", "quiet", "--workers", 1, cwd=tmp_path))
    kept = random.randint(1, 30)
    code, noted = run_until(kept, 0.4, "sweep", "s.toml", "--out", "noisy", "--workers", 2, cwd=tmp_path)
    assert code == -signal.SIGKILL
    assert len(noted["workers"]) <= 2
    (tmp_path / "noisy/.0123456789abcdef.part").write_bytes(b"what a killed process leaves")
    (tmp_path / "noisy/parts").mkdir(exist_ok=True)
    (tmp_path / "noisy/parts/.fedcba9876543210.part").write_bytes(b"PAR1")
    finish(command("sweep", "s.toml", "--out", "noisy", "--resume", "--workers", 1, cwd=tmp_path))
    for name in ("results.parquet", "averages.csv"):
        assert (tmp_path / "noisy" / name).read_bytes() == (tmp_path / "quiet" / name).read_bytes()
    assert tree(tmp_path / "noisy") == tree(tmp_path / "quiet")
    assert len(labels(tmp_path / "noisy")) == 30


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.soak
def test_ten_thousand_cases_killed_halfway(tmp_path):
    (tmp_path / "s.toml").write_text(MANY)
    code, first = run_until(5_000, 0.2, "sweep", "s.toml", "--out", "out", cwd=tmp_path)
    assert code == -signal.SIGKILL
    assert 5_000 <= rows(tmp_path / "out") < 9_000
    code, second = run_until(NEVER, 0, "sweep", "s.toml", "--out", "out", "--resume", cwd=tmp_path)
    assert code == 0
    expected = itertools.product(range(1, 2501), ["off", "hold"], ["5m", "20m"])
    assert labels(tmp_path / "out") == [(scheme, time, number) for number, scheme, time in expected]
    assert 50e6 < max(first["peak"], second["peak"]) < PEAK_BYTES


def rows(folder: Path) -> int:
    files = list(folder.glob("parts/*.parquet"))
    return int(polars.scan_parquet(files).select(polars.len()).collect().item()) if files else 0


def test_interrupted(tmp_path):
    with under_way(tmp_path) as process:
        workers = children(process.pid)
        os.kill(process.pid, signal.SIGINT)
        output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert output == ("", "cosched: interrupted; finished cases are in out, and --resume continues\n")
    assert not any(map(lives, workers))
    assert rows(tmp_path / "out") > 0


def test_not_twice_at_the_same_time(tmp_path):
    with under_way(tmp_path) as first:
        second = command("sweep", "s.toml", "--out", "out", "--resume", cwd=tmp_path)
        assert second.communicate(timeout=PATIENCE) == ("", "cosched: out: another sweep is writing there\n")
        assert second.returncode == 2
        assert first.poll() is None
