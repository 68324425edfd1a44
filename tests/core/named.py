"""A scheduler that gives nodes by name: of those that are free the last ones."""

from __future__ import annotations

from dataclasses import replace

from cosched.core.allocation import Allocation
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.plain import PlainJob, PlainScheduler


class Named(PlainScheduler):
    """Keeps the names of a job's nodes with it."""

    capabilities = Capabilities(named_places=True)
    keeps = PlainScheduler.keeps | {"where"}

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self.names = [f"slot{number}" for number in range(nodes)]  # as the local manager calls them

    def _give(self, job: PlainJob, nodes: int) -> None:
        super()._give(job, nodes)
        had = job.kept.pop("where", [])[:nodes]
        taken = {name for other in self.jobs.values() for name in other.kept.get("where", ())}
        free = [name for name in self.names if name not in taken and name not in had]
        if nodes:
            job.kept["where"] = had + free[len(free) - nodes + len(had) :]

    def _allocation(self, job: PlainJob) -> Allocation:
        return replace(super()._allocation(job), where=tuple(job.kept["where"]))
