"""The schedulers of papers under test."""

from collections.abc import Callable, Mapping
from random import Random

from cosched.conformance.schedulers.subject import NODES
from cosched.core.allocation import Malleable
from cosched.core.scheduling.primitives.codes import CONSERVATIVE
from cosched.core.scheduling.scheduler import OpenScheduler
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.settings import FluidSettings, Harvesting
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.heterogeneous.settings import HeterogeneousSettings
from cosched_papers.heterogeneous.site import Cluster, Machine, Site
from cosched_papers.molding.jobs import Moldable
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.settings import MoldingSettings, Sizing

FLUID_SETTINGS: Mapping[str, FluidSettings] = {
    f"{harvesting.name.lower()}{'-slots' * slots}": FluidSettings(NODES, harvesting=harvesting, slots=slots)
    for harvesting in Harvesting
    for slots in (False, True)
}
SLOW = 10**6  # s: how long a job that is for a cluster takes on one machine


def unlike_machines(*, preemptive: bool, quantum: int = 0, slots: bool = False, seconds: int = 10):
    """Eight machines, with clusters of 2, 4 and 8; a class of jobs for each size."""
    machines = tuple(Machine(f"slot{number}", "any") for number in range(NODES))
    groups = [tuple(range(first, first + size)) for size in (2, 4, 8) for first in range(0, NODES, size)]
    clusters = tuple(Cluster(f"c{group[0]}-{group[-1]}", group, len(group)) for group in groups)
    times = {("1", machine.name): seconds for machine in machines}
    for cluster in clusters:
        size = str(len(cluster.members))
        times |= {(size, machine.name): SLOW for machine in machines} | {(size, cluster.name): seconds}
    return HeterogeneousSettings(Site(machines, clusters, quantum, preemptive), times, slots=slots)


HETEROGENEOUS_SETTINGS = {
    "shared": unlike_machines(preemptive=False),
    "preemptive": unlike_machines(preemptive=True),
    "quantum": unlike_machines(preemptive=True, quantum=1),
    "slots": unlike_machines(preemptive=False, slots=True),
    "slots-preemptive": unlike_machines(preemptive=True, quantum=1, slots=True),
}
MOLDING_SETTINGS = {sizing.value: MoldingSettings(NODES, sizing) for sizing in Sizing}
MOLDING_SETTINGS["learns"] = MoldingSettings(NODES, learns=True)
MOLDING_SETTINGS["conservative"] = MoldingSettings(NODES, Sizing.CIRNE_BERMAN, backfilling=CONSERVATIVE)

# What opens a scheduler of each kind, by kind and settings.
SCHEDULERS: Mapping[str, Callable[[], OpenScheduler]] = {
    **{f"fluid-{name}": lambda chosen=chosen: FLUID.open(chosen) for name, chosen in FLUID_SETTINGS.items()},
    **{f"molding-{name}": lambda chosen=chosen: MOLDING.open(chosen) for name, chosen in MOLDING_SETTINGS.items()},
    **{
        f"heterogeneous-{name}": lambda chosen=chosen: HETEROGENEOUS.open(chosen)
        for name, chosen in HETEROGENEOUS_SETTINGS.items()
    },
}


def columns(name: str, random: Random, nodes: int) -> object:
    """What a job says beyond its size, as a scheduler of this kind has read it."""
    if name.startswith("fluid"):
        return random.choice([None, Malleable(random.randint(1, nodes))])
    if name.startswith("molding"):
        return random.choice([None, Moldable(), Moldable()])
    return Classed(random.choice("1248"), random.choice(list(Priority)))


def of_size(name: str, nodes: int) -> object:
    """What a job says that needs so many nodes, if its kind asks for that."""
    return Classed(str(nodes)) if name.startswith("heterogeneous") else {}
