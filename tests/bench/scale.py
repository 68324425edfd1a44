"""Replays of 1,000 domains by one command, up to 10,000,000 jobs: `make bench scale`; with a number, so many jobs only.

Domains are like Eureka, half busy. A fiftieth of all jobs is in pairs and groups of up to five, drawn at random among
all domains: so no domain can be replayed by itself. Logs are drawn, results are collected and summed up; no files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOMAINS = 1_000
SIZES = (100_000, 1_000_000, 10_000_000)
SHARE, MEMBERS = "0.02", "2-5"
SCHEMES = ("hold", "yield")


def federation(jobs: int) -> str:
    """The configuration, of so many jobs in all."""
    each = jobs // DOMAINS
    domains = (
        f'[[domain]]\nname = "site{number}"\ntrace = "generated:eureka/jobs={each}/utilisation=0.5/seed={number + 1}"\n'
        f'scheme = "{SCHEMES[number % 2]}"\n'
        for number in range(DOMAINS)
    )
    return "\n".join(domains)


def replayed(jobs: int) -> tuple[float, float, int]:
    """CPU and wall seconds of the command, and its peak of memory in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "federation.toml"
        file.write_text(federation(jobs))
        cosched = str(Path(sys.executable).with_name("cosched"))
        choice = ["--pair-fraction", SHARE, "--group-size", MEMBERS, "--json"]
        began = time.perf_counter()
        process = subprocess.Popen(
            [cosched, "replay", "--config", str(file), *choice], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, "the command failed"
        return used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss * 1024


def main() -> None:
    """Print a line for each size."""
    sizes = [int(jobs) for jobs in sys.argv[1:]] or SIZES
    print(f"One command, {DOMAINS:,} domains, WFP+EASY, {SHARE} of all jobs in pairs and groups of {MEMBERS}")
    for jobs in sizes:
        cpu, wall, peak = replayed(jobs)
        print(
            f"{jobs:>10,} jobs {cpu / 60:7.2f} min of CPU {cpu / jobs * 1e6:7.1f} us a job   {wall / 60:7.2f} min"
            f"   {peak / 1e9:6.2f} GB {peak / jobs:8.0f} bytes a job",
            flush=True,
        )


if __name__ == "__main__":
    main()
