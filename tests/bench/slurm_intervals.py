"""What pairs and others get on two real Slurm clusters with long queues, by `bf_interval` and scheme.

`python -m tests.bench.slurm_intervals` prints a table of bf_interval 2, 30 and 120, with 3,000 and 10,000 jobs that
wait on each of two clusters of 64 nodes; `--intervals 30 --pending 3000 --schemes hold --nodes 16` prints a part of it.
All daemons share this host: only shares of slurmctld's processor time can be compared. Pairs come first in their
queues: their wait is from the later submission until both run. Jobs without mates take one node for a while.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from statistics import median

import psutil

from deploy.slurm.lab import CoupledLab, Domain
from tests.live.workloads import Outcome, Work
from tests.slurm.coupled import Coupled

INTERVALS, PENDING, SCHEMES, NODES = (2, 30, 120), (3000, 10000), ("hold", "yield", "meet"), 64
PAIRS, SIZES, APART = 20, (1, 2, 4, 8), 5.0  # pairs, their nodes, and at most so many seconds between two mates
ARRAY = 1000  # tasks; Slurm's default allows no more
ALONE = ("--time=2", "--output=/dev/null")
SLEEPS = "sleep $((20 + RANDOM % 40))"
SETTINGS = {"release_interval": 60, "max_yields": 0, "backoff": 30, "try_patience": 2.5, "poll_interval": 30}
_HEADS = "bf_interval | pending | scheme | pair wait: median, max | apart at most | not together | slurmctld | others"


@dataclass(frozen=True, slots=True)
class Cell:
    """What became of the pairs; times are in seconds."""

    waits: list[float]
    skews: list[float]
    apart: int  # pairs that cosched has not started together
    share: float  # of a processor that a slurmctld took while the pairs waited
    others: float  # jobs without mates that started in a minute, on both


def measure(interval: int, pending: int, scheme: str, nodes: int = NODES, pairs: int = PAIRS) -> Cell:
    """Let pairs come to two full machines. LabError, also if not all of them run to their ends."""
    parameters = f"SchedulerParameters=bf_interval={interval},bf_max_job_test=1000,batch_sched_delay=3"
    options = {"nodes": nodes, "quick": False, "lines": (parameters, "MaxJobCount=50000")}
    with CoupledLab(schemes=(scheme, scheme), options=options, patience=300, **SETTINGS) as lab:
        coupled = Coupled(lab)
        for domain in lab:
            _fill(domain, nodes + pending)
        began, spent, waited = time.time(), _spent(lab), _pending(lab)
        works = [Work(f"p{number}", random.Random(number).choice(SIZES), 5) for number in range(pairs)]
        with ThreadPoolExecutor(2) as pool:
            submits = list(pool.map(lambda domain: _submit(coupled, domain, works), lab))
        found = coupled.outcome(*(list(ids) for ids in submits))
        took = time.time() - began
        share = (_spent(lab) - spent) / took / 2
        return _cell(found, submits, share, 60 * (waited - _pending(lab)) / took)


def _fill(domain: Domain, jobs: int) -> None:
    for first in range(0, jobs, ARRAY):
        array = f"--array=1-{min(ARRAY, jobs - first)}"
        domain.cluster.sbatch(f"#!/bin/bash\n{SLEEPS}\n", array, *ALONE)
    domain.cluster.wait_for(lambda: not domain.cluster.sinfo("-h", "-t", "idle", "-o", "%n"), "all nodes to be taken")


def _submit(coupled: Coupled, domain: Domain, works: Sequence[Work]) -> dict[str, tuple[str, float]]:
    """Return the names and instants of the submissions, by job."""
    chance, found = random.Random(domain.name), {}
    for work in works:
        time.sleep(chance.uniform(0, APART))
        found[coupled.submit(domain, work, "--nice=-1000", "--time=1")] = str(work.name), time.time()
    return found


def _cell(found: Outcome, submits: Sequence[dict[str, tuple[str, float]]], share: float, others: float) -> Cell:
    last: dict[str, float] = {}
    for name, at in (each for ids in submits for each in ids.values()):
        last[name] = max(at, last.get(name, 0.0))
    waits = [max(times) - last[name] for name, times in found.times.items()]
    return Cell(sorted(waits), found.skews(), len(found.alone()), share, others)


def _spent(lab: CoupledLab) -> float:
    """Return the processor time of both slurmctlds."""
    times = [psutil.Process(domain.cluster.pid()).cpu_times() for domain in lab]
    return sum(its.user + its.system for its in times)


def _pending(lab: CoupledLab) -> int:
    return sum(len(domain.cluster.squeue("-h", "-r", "-t", "PD", "-o", "%i").split()) for domain in lab)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, values in (("intervals", INTERVALS), ("pending", PENDING)):
        parser.add_argument(f"--{name}", type=int, nargs="+", default=values)
    parser.add_argument("--schemes", nargs="+", default=SCHEMES)
    parser.add_argument("--nodes", type=int, default=NODES)
    given = parser.parse_args(arguments)
    print(f"| {_HEADS} |\n{'|---' * len(_HEADS.split('|'))}|")
    for interval, pending, scheme in product(given.intervals, given.pending, given.schemes):
        cell = measure(interval, pending, scheme, given.nodes)
        waits, skew = f"{median(cell.waits):.0f}, {max(cell.waits):.0f} s", f"{1000 * max(cell.skews):.0f} ms"
        shown = waits, skew, str(cell.apart), f"{100 * cell.share:.0f} %", f"{cell.others:.0f} a minute"
        print("| " + " | ".join((str(interval), str(pending), scheme, *shown)) + " |", flush=True)


if __name__ == "__main__":
    main()
