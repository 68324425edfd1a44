"""Slurm's throughput with cosched beside it: jobs without mates, with hooks and service and without, in one run.

`python -m tests.bench.slurm_throughput` prints jobs a second. Batches, array jobs, go in turn to a cluster with all
hooks and a service and to one without, from the first start to the last end as slurmctld logs them. In a *stream* the
tasks wait for nodes, which take 20 at a time: these and Slurm's pace limit it. In a *burst* all start at once, so that
the processors of this host limit it, which runs controller and nodes: this shows what the hooks cost.
"""

import re
import statistics
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from deploy.slurm.lab import Cluster, CoupledLab, Lab
from tests.bench.skew import in_turn

NODES, CPUS = 2, 10
BATCHES = {"stream": (100, 5), "burst": (20, 25)}  # tasks, and batches: of 500 jobs on each cluster
PATIENCE = 120.0  # seconds; a safety net
WITH, WITHOUT = "with hooks and service", "without"
_STARTED = re.compile(r"^\[(\S+)\] sched(?:: Allocate|/backfill: _start_job: Started) JobId=(\d+)_", re.MULTILINE)
_ENDED = re.compile(r"^\[(\S+)\] _job_complete: JobId=(\d+)_\S+ done$", re.MULTILINE)
Rates = Mapping[str, list[float]]


@contextmanager
def clusters() -> Iterator[dict[str, Cluster]]:
    """One with cosched and one without, both up."""
    options: dict[str, Any] = {"nodes": NODES, "cpus": CPUS}
    with (
        CoupledLab(names=("intrepid",), schemes=("hold",), options=options) as coupled,
        Lab(names=("intrepid",), **options) as plain,
    ):
        yield {WITH: coupled["intrepid"].cluster, WITHOUT: plain["intrepid"]}


def measure(running: Mapping[str, Cluster], tasks: int, batches: int) -> Rates:
    """Jobs a second of each batch, ascending."""
    return in_turn(running, batches, lambda cluster: _rate(cluster, tasks))


def _rate(cluster: Cluster, tasks: int) -> float:
    array = str(cluster.sbatch("true", f"--array=1-{tasks}", "--output=/dev/null"))
    cluster.wait_for(lambda: not cluster.squeue("-h", "-j", array), f"the end of all tasks of {array}", PATIENCE)
    ends = _times(cluster, _ENDED, array)
    return len(ends) / (max(ends) - min(_times(cluster, _STARTED, array)))


def _times(cluster: Cluster, event: re.Pattern[str], array: str) -> list[float]:
    log = cluster.controller_log.read_text()
    return [datetime.fromisoformat(at).timestamp() for at, job in event.findall(log) if job == array]


def ratio(rates: Rates) -> float:
    """Median throughput with cosched over that without."""
    return statistics.median(rates[WITH]) / statistics.median(rates[WITHOUT])


def main() -> None:
    """Measure and print."""
    print("\nReal Slurm: 500 jobs without mates on each of two clusters, in batches in turn; jobs a second")
    print(f"{'':<8} {'':<24} {'least':>8} {'median':>8} {'most':>8} {'ratio':>8}")
    with clusters() as running:
        for kind, (tasks, batches) in BATCHES.items():
            rates = measure(running, tasks, batches)
            for name, each in rates.items():
                shown = f"{each[0]:8.1f} {statistics.median(each):8.1f} {each[-1]:8.1f}"
                print(f"{kind:<8} {name:<24} {shown}" + (f" {ratio(rates):8.3f}" if name == WITH else ""))


if __name__ == "__main__":
    main()
