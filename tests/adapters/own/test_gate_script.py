"""The gate as bash runs it, without Slurm: what its script notices, and what becomes of it without a service."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cosched_adapters.own.gate_script import gated
from cosched_adapters.slurm.gates import WORDS
from tests.waiting import wait_until

SCRIPT = b"""#!/bin/bash
#SBATCH --nodes=2
# a remark

#SBATCH --output="x y"
echo "$0 $# $1|$2" > seen
cat >> seen
trap 'echo signalled >> seen; exit 5' USR1
[ "$2" = wait ] && { touch waits; for i in $(seq 200); do sleep 0.05; done; }
exit 7
#SBATCH --nodes=3
"""


class Gate:
    """A gate in a folder, as Slurm starts it."""

    def __init__(self, folder: Path, turn: int = 0, script: bytes = SCRIPT, gates: Path | None = None) -> None:
        self.folder, self.gates = folder, folder / "gates"
        self.gates.mkdir(exist_ok=True)
        self.file = folder / "slurm_script"
        self.file.write_bytes(gated(script, gates or self.gates, WORDS))
        self.file.chmod(0o700)
        self.turn = turn

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        of_job = {"SLURM_JOB_ID": "12", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
        turn = {"SLURM_RESTART_COUNT": str(self.turn)} if self.turn else {}
        return subprocess.Popen(
            [self.file, *arguments], cwd=self.folder, env={**os.environ, **of_job, **turn},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def told(self) -> list[str]:
        path = self.gates / "12.told"
        return path.read_text().splitlines() if path.exists() else []

    def ready(self) -> bool:
        return f"{self.turn} ready nodes=2 nodelist=n[1-2] locked" in self.told()

    def answer(self, text: str) -> None:
        (self.gates / "12.answer").write_text(text + "\n")


@contextmanager
def tools(folder: Path, **scripts: str) -> Iterator[None]:
    """Let jobs that are started meanwhile find these commands first."""
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield


def test_the_gate_keeps_the_lines_for_sbatch_and_no_others() -> None:
    head = gated(SCRIPT, Path("/g"), WORDS, 9).partition(b"\n{\n")[0]
    assert head.split(b"\n") == [b"#!/bin/bash", *SCRIPT.split(b"\n")[1:5]]


def test_the_script_behind_a_gate_runs_as_without_it(tmp_path: Path) -> None:
    gate = Gate(tmp_path, turn=1)
    job = gate.start("a b", "")
    wait_until(gate.ready, "it is ready")
    gate.answer("0 start 0")  # of the turn before
    gate.answer("1 parked 5")
    at = time.time() + 1.0
    gate.answer(f"1 start {at:.6f}\nCOSCHED_MATES=[1, 2]\nPATH=/nowhere")
    printed, said = job.communicate("input\n")
    assert (job.returncode, printed, said) == (7, "", "")
    assert (tmp_path / "seen").read_text() == f"{gate.file} 2 a b|\ninput\n"
    assert (tmp_path / "seen").stat().st_mtime >= at - 0.1
    assert gate.told()[-2:] == ["1 starting soon", "1 started"]
    assert gate.file.read_bytes() == SCRIPT


def test_signals_reach_the_script_and_end_the_gate(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    with gate.start("", "wait") as job:
        wait_until(gate.ready, "it is ready")
        job.send_signal(signal.SIGUSR1)  # --signal: too early for the script
        gate.answer("0 start 0")
        assert job.stdin is not None
        job.stdin.close()
        wait_until((tmp_path / "waits").exists, "the script runs")
        job.send_signal(signal.SIGUSR1)
    assert job.returncode == 5
    gate = Gate(tmp_path, turn=2)
    with gate.start() as job:
        wait_until(gate.ready, "it is ready")
        job.terminate()
    assert job.returncode == 143
    assert gate.told()[-1] == "2 gone"


@pytest.mark.parametrize("choice", ["start", "requeue"])
def test_without_a_service_a_gate_does_what_its_user_has_chosen(tmp_path: Path, choice: str) -> None:
    gate = Gate(tmp_path)
    (gate.gates / "patience").write_text(f"1 {choice}\n")
    with tools(tmp_path, scontrol=f'echo "$@" > {tmp_path}/asked; exit 1'):  # it refuses, so the job starts after all
        job = gate.start()
    _, said = job.communicate("")
    assert said == "cosched: no word from the service for 1 s: this job starts without its mate\n"
    assert job.returncode == 7
    assert (tmp_path / "asked").exists() == (choice == "requeue")


def test_a_gate_that_waits_runs_what_starts_its_service_again(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    (gate.gates / "patience").write_text("4 start 0\n")  # a quarter is waited before
    (tmp_path / "restart").write_text(f'read x; echo "up $x" >> {tmp_path}/ran\n')
    job = gate.start()
    wait_until((tmp_path / "ran").exists, "it runs that")
    gate.answer("0 start 0")
    _, said = job.communicate("of the job\n")
    assert (said, job.returncode) == ("", 7)
    assert (tmp_path / "ran").read_text() == "up \n"


def test_a_node_whose_clock_is_behind_starts_its_job_in_time_and_says_so(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    job = gate.start()
    wait_until(gate.ready, "it is ready")
    ahead = time.time() + 3600
    gate.answer(f"0 start {ahead + 0.3:.6f} {ahead:.6f}")
    _, said = job.communicate("")
    assert re.fullmatch(r"cosched: the clock of \S+ is 3[56][0-9]{2} s behind the service's: tell the site\n", said)
    assert job.returncode == 7


def test_a_time_limit_that_was_raised_for_the_wait_falls_at_the_start(tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    gate.file.write_bytes(gated(SCRIPT, gate.gates, WORDS, raised=20))
    with tools(tmp_path, scontrol=f'echo "$@" > {tmp_path}/asked'):
        job = gate.start()
    wait_until(gate.ready, "it is ready")
    gate.answer("0 start 0")
    job.communicate("")
    wait_until(lambda: (tmp_path / "asked").exists() and (tmp_path / "asked").read_text(), "its limit is changed")
    assert (tmp_path / "asked").read_text() in ("update jobid=12 timelimit=-20\n", "update jobid=12 timelimit=-19\n")


def test_a_node_that_does_not_see_the_folder_starts_the_job_and_says_so(tmp_path: Path) -> None:
    gate = Gate(tmp_path, gates=tmp_path / "elsewhere")
    _, said = (job := gate.start()).communicate("")
    assert "compute nodes must share that folder" in said
    assert job.returncode == 7
    assert gate.file.read_bytes() == SCRIPT
