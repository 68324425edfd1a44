"""A third machine, and pairs among three: any two jobs of two machines submitted within the window."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from cosched_papers.studies.tang2011.logs import DAY_S, rows_of, write_log
from cosched_papers.studies.tang2011.setup import BASE, COMMON, MEDIUM, WINDOW_S, Plan, Settings
from cosched_sim.configuration import replay_config
from cosched_sim.replaying import read_machine
from cosched_sim.workload.generate import generate
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing, pairs_by_window
from cosched_sim.workload.pairs_file import write_pairs

THIRD = "surveyor"  # a machine like Eureka
NODES = 100
OTHER_SEEDS = 1_000_000  # lets the third machine have other jobs than Eureka


def three_machines(plan: Plan, replication: int, folder: Path) -> Settings:
    """Return a replay of three machines, without their schemes; its files are written to `folder`. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    trace, pairs = folder / f"{THIRD}-{replication:02}.swf.gz", folder / f"pairs-{replication:02}.csv"
    settings = plan.by_load(BASE, MEDIUM, replication)
    third = {"name": THIRD, **COMMON, "trace": str(trace), "nodes": NODES}
    found = {**settings, "domains": [*settings["domains"], third], "pairs": str(pairs)}
    del found["pair_window"]
    if not pairs.exists():
        seed = OTHER_SEEDS + settings["seed"]
        jobs = generate("eureka", span_s=round(plan.days * DAY_S), utilisation=MEDIUM, seed=seed)
        write_log(trace, jobs, NODES)
        config = replay_config("study", {key: value for key, value in found.items() if key != "pairs"})
        workloads = [read_machine(domain, config)[0] for domain in config.domains]
        write_pairs(pairs, [domain.name for domain in config.domains], workloads, pairs_among(workloads, WINDOW_S))
    return found


def pairs_among(workloads: Sequence[Workload], window_s: int) -> Pairing:
    """Pair the first machine with the second, then what is left of each with the third; a job has one mate at most."""
    left = [np.arange(len(workload)) for workload in workloads]
    domains, jobs = [np.empty((0, 2), np.int64)], [np.empty((0, 2), np.int64)]
    for sides in combinations(range(len(workloads)), 2):
        chosen = [rows_of(workloads[side], left[side]) for side in sides]
        found = pairs_by_window(chosen, window_s).job
        rows = np.column_stack([left[side][found[:, place]] for place, side in enumerate(sides)])
        for place, side in enumerate(sides):
            left[side] = np.setdiff1d(left[side], rows[:, place])
        domains.append(np.tile(np.array(sides, np.int64), (len(rows), 1)))
        jobs.append(rows)
    count = sum(map(len, jobs))
    return Pairing(np.arange(1, count + 1), np.concatenate(domains), np.concatenate(jobs))
