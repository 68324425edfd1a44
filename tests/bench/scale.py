"""Replays of 1,000 domains by one command, up to 10,000,000 jobs: `make bench scale`; with a number, so many jobs only.

Domains are like Eureka, half busy. A fiftieth of all jobs is in pairs and groups of up to five, drawn at random among
all domains: so no domain can be replayed by itself. Then the same domains in sets of ten, whose pairs have no mates
elsewhere, by two processes of Dask. Logs are drawn, results are collected and summed up; no files.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from distributed import LocalCluster

DOMAINS, SET = 1_000, 10
SIZES = (100_000, 1_000_000, 10_000_000)
SHARE, MEMBERS = 0.02, "2-5"
SCHEMES = ("hold", "yield")
DRAWN = ("--pair-fraction", str(SHARE), "--group-size", MEMBERS)


def federation(jobs: int) -> str:
    """The configuration, of so many jobs in all."""
    domains = (
        f'[[domain]]\nname = "site{number}"\nscheme = "{SCHEMES[number % 2]}"\n'
        f'trace = "generated:eureka/jobs={jobs // DOMAINS}/utilisation=0.5/seed={number + 1}"\n'
        for number in range(DOMAINS)
    )
    return "\n".join(domains)


def pairs_in_sets(jobs: int) -> Iterator[str]:
    """The lines of a file of pairs: SHARE of the jobs, each with a mate in its domain's set."""
    each, draw = jobs // DOMAINS, random.Random(1)
    yield ",".join(f"site{number}" for number in range(DOMAINS)) + "\n"
    for first in range(0, DOMAINS, SET):
        for job in range(int(each * SHARE)):
            domains = draw.sample(range(first, first + SET), SET)
            for one, other in zip(domains[::2], domains[1::2], strict=True):
                cells = ["" for _ in range(DOMAINS)]
                cells[one] = cells[other] = str(job * each // int(each * SHARE) + 1)
                yield ",".join(cells) + "\n"


def replayed(folder: Path, choice: Sequence[str]) -> tuple[float, float, int]:
    """CPU and wall seconds of the command, and its peak of memory in bytes."""
    cosched = str(Path(sys.executable).with_name("cosched"))
    command = [cosched, "replay", "--config", str(folder / "federation.toml"), *choice, "--json"]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the command failed"
    return used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss * 1024


def by_dask(folder: Path, jobs: int) -> tuple[float, float, int]:
    """Likewise, with the CPU of the workers, and the peaks of all added up."""
    with (folder / "pairs.csv").open("w") as file:
        file.writelines(pairs_in_sets(jobs))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster:
        choice = ["--pairs", str(folder / "pairs.csv"), "--dask", cluster.scheduler_address]
        _, wall, peak = replayed(folder, choice)
        peak += sum(_peak(worker.pid) for worker in cluster.workers.values())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, peak


def _peak(process: int) -> int:
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def tell(how: str, jobs: int, cpu: float, wall: float, peak: int) -> None:
    """Print a line."""
    print(
        f"{how:12}{jobs:>10,} jobs {cpu / 60:7.2f} min of CPU {cpu / jobs * 1e6:7.1f} us a job   {wall / 60:7.2f} min"
        f"   {peak / 1e9:6.2f} GB {peak / jobs:8.0f} bytes a job",
        flush=True,
    )


def main() -> None:
    """Print two lines for each size."""
    print(f"One command, {DOMAINS:,} domains, WFP+EASY, {SHARE} of all jobs in pairs and groups of {MEMBERS}")
    for jobs in [int(jobs) for jobs in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "federation.toml").write_text(federation(jobs))
            tell("one process", jobs, *replayed(folder, DRAWN))
            tell("Dask", jobs, *by_dask(folder, jobs))


if __name__ == "__main__":
    main()
