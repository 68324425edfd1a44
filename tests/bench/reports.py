"""`python -m tests.bench.reports`: seconds and megabytes of the report of a 100,000-job replay, as a whole command.

Targets: 10 s on one core, 15 MB.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import cpu_of_commands

COSCHED = Path(sys.executable).with_name("cosched")
REPLAY = (
    *("replay", "--domain", "intrepid,trace=generated:intrepid/jobs=80000/days=260"),
    *("--domain", "eureka,trace=generated:eureka/jobs=20000/days=260"),
    *("--pair-window", "2m", "--seed", "1", "--no-report"),
)
ROUNDS = 3


def main() -> None:
    """Print one line."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        subprocess.run([COSCHED, *REPLAY, "--out", run], check=True, capture_output=True)
        rounds = [report(run) for _ in range(ROUNDS)]
        size = (run / "report.html").stat().st_size
        jobs = (run / "jobs.csv").read_bytes().count(b"\n") - 1
    seconds, cpu = min(rounds)
    took = f"{seconds:.1f} s on one core ({cpu:.1f} s of CPU; at most 10)"
    print(f"report of {jobs:,} jobs: {took}, {size / 1e6:.1f} MB (at most 15)")


def report(run: Path) -> tuple[float, float]:
    """Seconds, and seconds of CPU, of `cosched report` on one core."""
    began, used = time.perf_counter(), cpu_of_commands()
    subprocess.run([COSCHED, "report", run], check=True, capture_output=True, preexec_fn=on_one_core)
    return time.perf_counter() - began, cpu_of_commands() - used


def on_one_core() -> None:
    """Leave this process one core of those it has."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


if __name__ == "__main__":
    main()
