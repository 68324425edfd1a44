"""A site: machines of several classes, and clusters of them (Collins and George 2001, section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

# (job class, resource) -> whole seconds, >= 1; absent: it cannot run there
ExpectedTimes = Mapping[tuple[str, str], int]


class Restricted(Enum):
    """What an operator may reserve for some users."""

    MACHINE = "machine"
    CLUSTER = "cluster"
    QUEUE = "queue"
    JOB_CLASS = "job class"


@dataclass(frozen=True, slots=True)
class Interconnect:
    """A network that serves clusters. `bandwidth`: Mbit/s; `latency`: s; None: not known."""

    name: str
    bandwidth: float | None = None
    latency: float | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. All programs that run on one machine of a class run on all of it."""

    name: str
    machine_class: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """Machines that run a job in parallel; several clusters may share them.

    `members`: indices of machines, ascending. It is used only while at least `min_members` of them are up.
    `interconnect`: between them; None: not known.
    """

    name: str
    members: tuple[int, ...]
    min_members: int
    interconnect: Interconnect | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """Resources are its machines and its clusters; no two have one name.

    `quantum`: jobs are placed at its multiples, in s; 0: when they are submitted. `preemptive`: jobs of high priority
    take the machines of those of low priority, which begin anew. A job of low priority that was preempted
    `promote_after` times becomes one of medium priority; 0: never. `down`: indices of machines that are out of service.
    `users`: who alone may use something; what is not there is for all. `machine_classes`, `job_classes`: descriptions.
    """

    machines: tuple[Machine, ...]
    clusters: tuple[Cluster, ...] = ()
    quantum: int = 0
    preemptive: bool = False
    promote_after: int = 0
    down: frozenset[int] = frozenset()
    users: Mapping[tuple[Restricted, str], frozenset[str]] = field(default_factory=dict, hash=False)
    machine_classes: Mapping[str, str] = field(default_factory=dict, hash=False)
    job_classes: Mapping[str, str] = field(default_factory=dict, hash=False)

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
        size = " + ".join(f"{count} x {name}" for name, count in sorted(counted.items()))
        link = cluster.interconnect
        return size if link is None else f"{size}, {link.bandwidth} Mbit/s, {link.latency} s"

    def may_use(self, user: str, what: Restricted, name: str) -> bool:
        """Return whether the user may; one without a name, as in a replay, may use everything."""
        return not user or user in self.users.get((what, name), (user,))

    def closed_to(self, user: str) -> frozenset[int]:
        """Return the resources that the user may not use; who may not use a machine may use none of its clusters."""
        closed = {of for of, m in enumerate(self.machines) if not self.may_use(user, Restricted.MACHINE, m.name)}
        clusters = {
            of
            for of, cluster in enumerate(self.clusters, len(self.machines))
            if not closed.isdisjoint(cluster.members) or not self.may_use(user, Restricted.CLUSTER, cluster.name)
        }
        return frozenset(closed | clusters)
