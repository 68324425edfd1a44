"""`python -m tests.bench.restart [slurm [ROUNDS]]`: how long a killed service is away, from its next process on.

So far apart are the jobs of a pair whose start the service was carrying out, beside what its unit waits (RestartSec).
Beside a batch system, which schedules, and with a scheduler of its own, whose kernels are compiled. With `slurm`: how
far apart pairs on two real clusters are if a service is killed when the mate's has agreed to start, and is started
again as its unit does.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event

from deploy.slurm.lab import Domain
from tests.bench import cpu_of
from tests.cli.test_cost import IDLE
from tests.live.services import COMMAND, free_port, toml
from tests.live.workloads import Work
from tests.slurm.coupled_checks import START, Served, hold
from tests.slurm.relay import AFTER, RelayedLab
from tests.waiting import wait_until

ROUNDS = 7
AIMED = 20  # kills, of the caller's service and of the other one in turns
ASKED = {"idle": 2.0, "local": 3.0}  # seconds at most, with RestartSec
NAMES = {"idle": "beside a batch system", "local": "with compiled kernels"}
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled
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
    cpu = cpu_of(process.pid)
    process.kill()
    process.communicate()
    return seconds, cpu


def aimed_kill(served: Served, number: int, victim: Domain, wait: float) -> float:
    """Return how many seconds apart a pair has started, as this domain's service was killed in the decisive second."""
    here, there = served.here, served.there
    work, killed = Work(f"{victim.name}{number}", 1, 0.1), Event()
    held, caller = hold(served, there, work), served.submit(here, work, "--hold")

    def happening(when: str, call: str, _: str) -> None:
        if (when, call) == (AFTER, "StartJob") and not killed.is_set():
            victim.service.kill()
            killed.set()

    served.lab.relays[there.name].happening = happening
    here.cluster.scontrol("release", caller)
    served.until(killed.is_set, "the kill")
    time.sleep(wait)
    victim.service.start()
    began = [wait_until(lambda pair=pair: first_instruction(served, *pair)) for pair in ((here, caller), (there, held))]
    return abs(began[1] - began[0])


def first_instruction(served: Served, domain: Domain, job: str) -> float | None:
    """Return when the job has noted its start; None: it has not."""
    notes = served.notes(domain)
    lines = notes.read_text().splitlines() if notes.exists() else []
    return next((float(at) for id, _, at in map(str.split, lines) if id == job), None)


def aimed_kills(rounds: int) -> None:
    """Kill services on real clusters, and print how far apart pairs have started."""
    print(f"\nAimed kills beside Slurm (load {os.getloadavg()[0]:.1f}): seconds between the jobs of a pair", flush=True)
    with RelayedLab(options={"nodes": 4}, services=False, **START) as lab:
        served = Served(lab)
        served.serve(("hold", "hold"), on_peer_unreachable="hold")
        for name, victim in (("the caller's", served.here), ("the mate's", served.there)):
            wait = restart_seconds()
            gaps = sorted(aimed_kill(served, number, victim, wait) for number in range(rounds // 2))
            missed = "" if gaps[-1] < ASKED["idle"] else "  MISSED"
            listed = " ".join(f"{gap:.2f}" for gap in gaps)
            print(f"{name:>12} service: median {statistics.median(gaps):.2f}{missed}  {listed}", flush=True)


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
    if sys.argv[1:2] == ["slurm"]:
        sys.exit(aimed_kills(int(sys.argv[2]) if len(sys.argv) > 2 else AIMED))
    sys.exit(main())
