"""Slurm's throughput with cosched beside it: jobs without mates, with hooks and service and without, in one run.

`python -m tests.bench.slurm_throughput` prints jobs a second. Batches go in turn to a cluster with all hooks and a
service and to one without; each is an array job whose tasks all fit at once, so that what limits it is what Slurm does
for a job, not its pace. A batch lasts from its first start to its last end, as slurmctld logs them.
"""

from __future__ import annotations

import re
import statistics
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from deploy.slurm.lab import Cluster, CoupledLab, Lab

JOBS, BATCHES = 50, 10  # of 500 jobs on each cluster
NODES = 2
PATIENCE = 120.0  # seconds; a safety net
WITH, WITHOUT = "with hooks and service", "without"
_STARTED = re.compile(r"^\[(\S+)\] sched(?:: Allocate|/backfill: _start_job: Started) JobId=(\d+)_", re.MULTILINE)
_ENDED = re.compile(r"^\[(\S+)\] _job_complete: JobId=(\d+)_\S+ done$", re.MULTILINE)


def measure(jobs: int = JOBS, batches: int = BATCHES) -> dict[str, list[float]]:
    """Jobs a second of each batch, ascending; the first batch of each cluster is not counted."""
    options: dict[str, Any] = {"nodes": NODES, "cpus": -(-jobs // NODES)}
    with ExitStack() as stack:
        coupled = stack.enter_context(CoupledLab(names=("intrepid",), schemes=("hold",), options=options))
        plain = stack.enter_context(Lab(names=("intrepid",), **options))
        clusters = {WITH: coupled["intrepid"].cluster, WITHOUT: plain["intrepid"]}
        rates: dict[str, list[float]] = {name: [] for name in clusters}
        for number in range(batches + 1):
            for name in sorted(clusters, reverse=bool(number % 2)):
                rates[name].append(_rate(clusters[name], jobs))
    return {name: sorted(each[1:]) for name, each in rates.items()}


def _rate(cluster: Cluster, jobs: int) -> float:
    array = str(cluster.sbatch("true", f"--array=1-{jobs}", "--output=/dev/null"))
    what = f"the end of all tasks of {array}"
    ends = cluster.wait_for(lambda: done if len(done := _times(cluster, _ENDED, array)) == jobs else [], what, PATIENCE)
    cluster.wait_for_no_jobs()
    return jobs / (max(ends) - min(_times(cluster, _STARTED, array)))


def _times(cluster: Cluster, event: re.Pattern[str], array: str) -> list[float]:
    log = cluster.controller_log.read_text()
    return [datetime.fromisoformat(at).timestamp() for at, job in event.findall(log) if job == array]


def ratio(rates: dict[str, list[float]]) -> float:
    """Median throughput with cosched over that without."""
    return statistics.median(rates[WITH]) / statistics.median(rates[WITHOUT])


def main() -> None:
    """Measure and print."""
    rates = measure()
    print(f"\nReal Slurm: {JOBS * BATCHES} jobs without mates, in batches of {JOBS} in turn, jobs a second")
    print(f"{'':<24} {'least':>8} {'median':>8} {'most':>8}")
    for name, each in rates.items():
        print(f"{name:<24} {each[0]:8.1f} {statistics.median(each):8.1f} {each[-1]:8.1f}")
    print(f"ratio of the medians {ratio(rates):.3f}")


if __name__ == "__main__":
    main()
