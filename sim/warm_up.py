"""A tiny simulation that calls every kernel, so that the time of a replay includes no compiling or loading."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.sim.engine import Engine
from cosched.sim.world import DomainSetup
from cosched.workload.jobs import Workload
from cosched.workload.pairing import Pairing


def run_all_kernels() -> None:
    """Simulate the case."""
    Engine(*case()).run()


def case() -> tuple[list[DomainSetup], Pairing]:
    """Two pairs that block each other: one side holds and is released, the other yields."""
    job_id, submit, nodes, run = (np.array(column, np.int64) for column in ([1, 2, 3], [0, 1, 3], [6, 6, 6], [9, 9, 9]))
    jobs = Workload("warm-up", job_id, submit, run, nodes, requested=run)
    settings = CoschedulingSettings(release_interval=5, max_held_fraction=Decimal(1))
    cluster = ClusterSettings(10, parse_ordering("fcfs"), 0)
    domains = [
        DomainSetup("a", jobs, cluster, settings),
        DomainSetup("b", jobs, cluster, replace(settings, scheme=Scheme.YIELD)),
    ]
    rows = np.array([1, 2], np.int64)
    sides = np.array([[0, 1], [0, 1]], np.int64)
    return domains, Pairing(rows, sides, np.array([[0, 1], [2, 0]], np.int64))
