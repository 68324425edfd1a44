"""Small cases, small sweeps and ways to run them."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars

from cosched_sim.sweeps.case import Case
from cosched_sim.sweeps.grid import Sweep
from cosched_sim.sweeps.running import run_cases
from cosched_sim.sweeps.workers import Workers

COSCHED = Path(sys.executable).with_name("cosched")

# Each case takes some milliseconds.
SWEEP = """
pair_window = "10m"
replications = 3
seed = 5

[[domain]]
name = "intrepid"
trace = "generated:intrepid/jobs=20"

[[domain]]
name = "eureka"
trace = "generated:eureka/jobs=20"

[grid]
schemes = ["none", "HH", "YH"]
"eureka.load" = [0.25, 0.5]
"""


def pair(jobs: int = 20, **settings: Any) -> dict[str, Any]:
    """The settings of a replay of two small machines."""
    domains = [{"name": name, "trace": f"generated:{name}/jobs={jobs}"} for name in ("intrepid", "eureka")]
    return {"domains": domains, "pair_window": "10m", **settings}


def small_sweep(replications: int = 2, **grid: list[Any]) -> Sweep:
    return Sweep(pair(), grid or {"schemes": ["none", "HY"], "release_interval": ["5m", "20m"]}, replications, 1)


def failing(label: str = "bad") -> Case:
    """A case whose machine is too small for its jobs."""
    return Case(pair(pair_fraction=2), {"schemes": label})


def run(cases: Iterable[Case], folder: Path, workers: Workers, *, resume: bool = False) -> polars.DataFrame:
    if not isinstance(cases, Iterator):
        total = len(list(cases))
    path = run_cases(cases, total, folder, workers, resume=resume, tell=lambda _: None)
    assert sorted(file.name for file in folder.iterdir()) == ["results.parquet"]
    return polars.read_parquet(path)


def command(*arguments: object, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """`cosched` as a process of its own."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([COSCHED, *map(str, arguments)], cwd=cwd, **{**pipes, **options})


def children(process: int) -> list[int]:
    """The processes that a process has started and that are still there."""
    try:
        return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
