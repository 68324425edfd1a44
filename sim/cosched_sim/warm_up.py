"""Tiny simulations that call every kernel, so that the time of a replay includes no compiling or loading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.installation.compilation import prepare_kernels
from cosched_sim.domain_setup import DomainSetup
from cosched_sim.engine import Engine
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing

SIMULATED, SIMULATED_MEETING = "simulation", "simulation of meeting"  # sets of kernels


def prepare_for(domains: Sequence[DomainSetup], say: Callable[[str], None]) -> float:
    """Compile or load the kernels of domains that meet, if any of these does; return the seconds that took."""
    meet = any(domain.cluster.meets for domain in domains)
    return prepare_kernels(run_meeting_kernels, say, SIMULATED_MEETING) if meet else 0.0


def run_all_kernels() -> None:
    """Use the kernels that every simulation needs."""
    Engine(*case()).run()


def run_meeting_kernels() -> None:
    """Use those of domains that meet."""
    domains, pairing = case()
    meeting = [
        replace(
            domain,
            cluster=replace(domain.cluster, mate_budget=Decimal("0.5"), slots=True),
            coscheduling=replace(domain.coscheduling, slots=True),
        )
        for domain in domains
    ]
    Engine(meeting, pairing).run()


def case() -> tuple[list[DomainSetup], Pairing]:
    """Two pairs that block each other: one side holds and is released, the other yields."""
    job_id, submit, nodes, run = (np.array(column, np.int64) for column in ([1, 2, 3], [0, 1, 3], [6, 6, 6], [9, 9, 9]))
    jobs = Workload("warm-up", job_id, submit, run, nodes, requested=run)
    settings = CoschedulingSettings(release_interval=5, max_held_fraction=Decimal(1))
    cluster = ClusterSettings(10, parse_ordering("fcfs"), 0)
    yields = replace(settings, scheme=Scheme.YIELD)
    domains = [DomainSetup("a", jobs, cluster, settings), DomainSetup("b", jobs, cluster, yields)]
    rows = np.array([1, 2], np.int64)
    sides = np.array([[0, 1], [0, 1]], np.int64)
    return domains, Pairing(rows, sides, np.array([[0, 1], [2, 0]], np.int64))


SETS: Mapping[str, Callable[[], None]] = {SIMULATED: run_all_kernels, SIMULATED_MEETING: run_meeting_kernels}
