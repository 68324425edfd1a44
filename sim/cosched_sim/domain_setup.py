"""The policy domains of a simulation as they are set up: their jobs, their schedulers, and the tables of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cosched.core.scheduling.batch.cluster import Cluster
from cosched.core.scheduling.primitives.tables import MAX_TIME, Tables, new_tables
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import CoschedulingSettings
from cosched.schedulers.batch import BATCH
from cosched.schedulers.kind import SchedulerKind
from cosched_sim.batch_domain import BatchDomain, MeetingDomain
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Group


@dataclass(frozen=True, slots=True)
class DomainSetup:
    """One policy domain of a simulation, with the settings of its scheduler, and its jobs as that takes them."""

    name: str
    workload: Workload
    cluster: Any  # the settings of its kind of scheduler: MachineSettings
    coscheduling: CoschedulingSettings
    kind: SchedulerKind = BATCH
    jobs: Any = None  # see SchedulerKind

    def __post_init__(self) -> None:
        if self.cluster.slots != self.coscheduling.slots:
            raise ValueError(f"{self.name}: its scheduler and its coscheduling differ in whether it gives slots")


def check_slots(group: Group, domains: Sequence[DomainSetup]) -> None:
    """Refuse a group that starts by slots only if one of its domains coschedules without slots."""
    for setup in (domains[domain] for domain, _ in group.members) if group.by_slots_only else ():
        if setup.coscheduling.enabled and not setup.coscheduling.slots:
            raise ValueError(
                f"row {group.row} of the pairs has windows or an instant, which need slots in {setup.name}: slots=on"
            )


def batch_domain(tables: Tables, index: int, settings: ClusterSettings) -> BatchDomain:
    """Return the scheduler of the domain with this index in the tables."""
    if settings.meets:
        from cosched.core.scheduling.batch.meeting_cluster import MeetingCluster  # which others do without

        return MeetingDomain(MeetingCluster(tables, index, settings))
    return BatchDomain(Cluster(tables, index, settings))


def filled_tables(domains: Sequence[DomainSetup]) -> Tables:
    """Return tables with every job of every domain, in trace order, not yet submitted."""
    units = [d.cluster.partitions.units if d.cluster.partitions else 0 for d in domains]
    tables = new_tables([len(d.workload) for d in domains], units)
    for i, domain in enumerate(domains):
        first = int(tables.domains[i]["first"])
        rows = tables.jobs[first : first + len(domain.workload)]
        for name in ("submit", "nodes", "requested", "run"):
            rows[name] = getattr(domain.workload, name)
        if len(rows) and int(np.max(rows["submit"])) + int(np.max(rows["requested"])) * len(rows) >= MAX_TIME:
            _check_times(domain)
    return tables


def _check_times(domain: DomainSetup) -> None:
    """Refuse a domain whose schedule may pass the largest time: last submission + all run times + longest request."""
    workload = domain.workload
    if int(workload.submit.max()) + int(workload.run.sum()) + int(workload.requested.max()) >= MAX_TIME:
        raise ValueError(f"{domain.name}: its times are too large for a simulation (2^35 s)")
