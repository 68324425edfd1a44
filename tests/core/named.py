"""A scheduler that gives nodes by name: of those that are free the last ones."""

from __future__ import annotations

from dataclasses import replace

from cosched.core.allocation import Allocation
from cosched.core.scheduling.capabilities import Capabilities
from cosched.core.scheduling.plain import PlainJob, PlainScheduler, Turns
from cosched.core.scheduling.scheduler import ClusterJob


class WhereNamed(Turns):
    """A job waits for the nodes that it names."""

    def can_have(self, job: PlainJob, free: int) -> bool:
        return super().can_have(job, free) and set(job.asked.nodelist) <= set(self._scheduler.free_names())


class Named(PlainScheduler):
    """Keeps the names of a job's nodes with it."""

    capabilities = Capabilities(named_places=True, nodelists=True)
    keeps = PlainScheduler.keeps | {"where"}

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes, turns=WhereNamed)
        self.names = [f"slot{number}" for number in range(nodes)]  # as the local manager calls them

    def check(self, job: ClusterJob) -> None:
        if unknown := set(job.nodelist) - set(self.names):
            raise ValueError(f"there is no node {min(unknown)} here")
        if len(job.nodelist) > job.nodes:
            raise ValueError(f"{len(job.nodelist)} nodes are named, {job.nodes} wanted")

    def free_names(self) -> list[str]:
        """Those that no job has, the last first."""
        taken = {name for other in self.jobs.values() for name in other.kept.get("where", ())}
        return [name for name in reversed(self.names) if name not in taken]

    def _give(self, job: PlainJob, nodes: int) -> None:
        super()._give(job, nodes)
        where = job.kept.pop("where", [])
        if nodes:
            chosen = [*job.asked.nodelist, *(name for name in self.free_names() if name not in job.asked.nodelist)]
            job.kept["where"] = where or sorted(chosen[:nodes])

    def allocation(self, job: PlainJob) -> Allocation:
        return replace(super().allocation(job), where=tuple(job.kept["where"]))
