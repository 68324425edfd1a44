"""A site: machines of several classes, and clusters of them (Collins and George 2001, section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

ExpectedTimes = Mapping[
    tuple[str, str], int
]  # (job class, resource) -> whole seconds, >= 1; absent: it cannot run there


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. All programs that run on one machine of a class run on all of it."""

    name: str
    machine_class: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines that run a job in parallel; several clusters may share them.

    `members`: indices of machines, ascending. It is used only while at least `min_members` of them are up.
    """

    name: str
    members: tuple[int, ...]
    min_members: int


@dataclass(frozen=True, slots=True)
class Site:
    """Resources are its machines and its clusters; no two have one name.

    `quantum`: jobs are placed at its multiples, in s; 0: when they are submitted. `preemptive`: jobs of high priority
    take the machines of those of low priority, which begin anew. A job of low priority that was preempted
    `promote_after` times becomes one of medium priority; 0: never. `down`: indices of machines that are out of service.
    """

    machines: tuple[Machine, ...]
    clusters: tuple[Cluster, ...] = ()
    quantum: int = 0
    preemptive: bool = False
    promote_after: int = 0
    down: frozenset[int] = frozenset()

    @property
    def resources(self) -> list[str]:
        """The names of the machines, then those of the clusters."""
        return [*(machine.name for machine in self.machines), *(cluster.name for cluster in self.clusters)]

    def kinds(self) -> dict[str, str]:
        """Return of what kind each resource is, by name: its machine class, or how many machines of which classes."""
        machines = {machine.name: machine.machine_class for machine in self.machines}
        return machines | {cluster.name: self._kind(cluster) for cluster in self.clusters}

    def _kind(self, cluster: Cluster) -> str:
        counted = Counter(self.machines[member].machine_class for member in cluster.members)
        return " + ".join(f"{count} x {name}" for name, count in sorted(counted.items()))
