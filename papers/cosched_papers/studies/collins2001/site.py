"""The research site of the paper (5.2): its machines and clusters, and how long its five job classes run there.

How many machines and clusters there are, and what the classes are, is the paper's. It does not publish the run times:
kinds of machines, seconds and speed-ups are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from cosched_papers.heterogeneous.site import Cluster, ExpectedTimes, Machine, Site

HOUSE, THIRD = TABLES = ("house", "third")
SIZES = 17 * (8,) + (6,)  # of the clusters, each of one kind
KINDS = ("SPARC 85", "SPARC 170", "SPARC 300", "Pentium 166", "Pentium 233", "Pentium 400")
SECONDS: Mapping[str, tuple[int, ...]] = {  # of each class, on one machine of each kind
    "vector-matrix": (384, 240, 160, 352, 256, 192),
    "integration": (276, 168, 120, 288, 216, 156),
    "integer sort": (208, 144, 104, 136, 104, 80),
    "statistics": (450, 306, 216, 342, 252, 180),
    "conjugate gradient": (552, 336, 240, 528, 408, 312),
}
CLASSES = tuple(SECONDS)
SPEED_UPS = {"vector-matrix": 5.0, "integration": 7.0, "integer sort": 2.0, "conjugate gradient": 4.0}  # on 8 machines
LEAST, MOST = 0.8, 1.25  # what is assumed is multiplied by, drawn for each class and kind


def site_of(*, preemptive: bool, quantum: int) -> Site:
    """Return the site: its clusters are of the kinds in turn."""
    machines: list[Machine] = []
    clusters = []
    for number, size in enumerate(SIZES):
        members = tuple(range(len(machines), len(machines) + size))
        machines += [Machine(f"m{member}", KINDS[number % len(KINDS)]) for member in members]
        clusters.append(Cluster(f"c{number}", members, size))
    return Site(tuple(machines), tuple(clusters), quantum, preemptive)


def times_of(table: str, site: Site, seed: int) -> ExpectedTimes:
    """Return a table of expected times.

    HOUSE: a cluster is faster than one of its machines by the speed-up of the class (Amdahl's law for its size).
    THIRD: any cluster takes a third of the class's mean over all machines (the rule of 5.1).
    """
    draw = Random(f"{seed} times")
    drawn = {
        (of, kind): seconds * draw.uniform(LEAST, MOST)
        for of, row in SECONDS.items() for kind, seconds in zip(KINDS, row, strict=True)
    }  # fmt: skip
    times = {(of, machine.name): whole(drawn[of, machine.machine_class]) for of in CLASSES for machine in site.machines}
    for of, most in SPEED_UPS.items():
        mean = sum(times[of, machine.name] for machine in site.machines) / len(site.machines)
        for cluster in site.clusters:
            alone = drawn[of, site.machines[cluster.members[0]].machine_class]
            seconds = alone / speed_up(most, len(cluster.members)) if table == HOUSE else mean / 3
            times[of, cluster.name] = whole(seconds)
    return times


def speed_up(on_eight: float, size: int) -> float:
    """Return the speed-up on so many machines, if that on eight is known."""
    serial = (8 / on_eight - 1) / 7
    return size / (1 + (size - 1) * serial)


def whole(seconds: float) -> int:
    """Round to whole seconds, at least 1."""
    return max(1, int(seconds + 0.5))
