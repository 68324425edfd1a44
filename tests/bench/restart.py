"""`python -m tests.bench.restart`: how long a killed service is away, from its next process to its answers.

So far apart are the jobs of a pair whose start the service was carrying out, beside what its unit waits (RestartSec).
Beside a batch system, which schedules, and with a scheduler of its own, whose kernels are compiled.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.cli.test_cost import IDLE
from tests.live.services import COMMAND, free_port, toml

ROUNDS = 7
ASKED = {"idle": 2.0, "local": 3.0}  # seconds at most, with RestartSec
NAMES = {"idle": "beside a batch system", "local": "with compiled kernels"}
UNIT = Path(__file__).resolve().parents[2] / "deploy" / "cosched@.service"


def restart_seconds() -> float:
    """Return for how long systemd waits before it starts the service again."""
    _, _, after = UNIT.read_text().partition("\nRestartSec=")
    return float(after.partition("\n")[0])


def serving_after(folder: Path, kind: str) -> tuple[float, float]:
    """Wall and CPU seconds of a process from its start until it serves; then it is killed."""
    folder.mkdir(exist_ok=True)
    site = folder / "idle-1.dist-info"
    site.mkdir(exist_ok=True)
    (site / "entry_points.txt").write_text("[cosched.adapters]\nidle = idle:create\n")
    (folder / "idle.py").write_text(IDLE)
    domain = {"name": "a", "listen": f"127.0.0.1:{free_port()}", "plaintext": True, "state": "a.db"}
    manager = {"kind": kind, **({"slots": 4} if kind == "local" else {})}
    (folder / "a.toml").write_text(toml({"domain": domain, "manager": manager}))
    began = time.monotonic()
    process = subprocess.Popen(
        [*COMMAND, "serve", "--config", str(folder / "a.toml")],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    assert process.stderr is not None
    if not any("serving a on" in line for line in process.stderr):
        raise RuntimeError(f"the service of {kind} does not serve")
    seconds = time.monotonic() - began
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return seconds, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and print a line for each kind of manager."""
    wait = restart_seconds()
    print(f"\nRestart of a killed service ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}), medians in seconds")
    for kind, asked in ASKED.items():
        with tempfile.TemporaryDirectory() as folder:
            serving_after(Path(folder), kind)  # compiles what has to be
            walls, cpus = zip(*(serving_after(Path(folder), kind) for _ in range(ROUNDS)), strict=True)
        away = wait + statistics.median(walls)
        missed = "" if away <= asked else "  MISSED"
        print(
            f"{NAMES[kind]:24} away {away:.2f}, at most {asked:g} asked{missed}"
            f"  (serves after {statistics.median(walls):.2f}, of CPU {statistics.median(cpus):.2f})"
        )


if __name__ == "__main__":
    sys.exit(main())
