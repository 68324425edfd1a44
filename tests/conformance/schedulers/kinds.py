"""The schedulers under test: ours, the plain one, and one of a package of its own (docs/examples)."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from types import ModuleType

from cosched.conformance.schedulers.subject import NODES, Subject
from cosched.core.allocation import Malleable
from cosched.core.scheduling.plain import PlainScheduler
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import parse_node_pool
from cosched.core.scheduling.primitives.codes import CONSERVATIVE
from cosched.core.scheduling.scheduler import ClusterSettings, OpenScheduler
from cosched.schedulers.batch import BATCH
from cosched_papers.fluid.kind import FLUID
from cosched_papers.fluid.settings import FluidSettings, Harvesting
from cosched_papers.heterogeneous.jobs import Classed, Priority
from cosched_papers.heterogeneous.kind import HETEROGENEOUS
from cosched_papers.heterogeneous.settings import HeterogeneousSettings
from cosched_papers.heterogeneous.site import Cluster, Machine, Site
from cosched_papers.molding.jobs import Moldable
from cosched_papers.molding.kind import MOLDING
from cosched_papers.molding.settings import MoldingSettings, Sizing

POOLS = ("flat", "partitioned:4x2")
EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "example_scheduler.py"


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = loaded(EXAMPLE)


def machine(policy: str = "fcfs", backfill: str = "easy", pool: str = "flat", **more: object) -> ClusterSettings:
    """A batch machine of `NODES` nodes."""
    return ClusterSettings(NODES, parse_ordering(policy), BACKFILLING[backfill], parse_node_pool(pool), **more)


def _meeting(budget: str, share: str) -> dict[str, object]:
    return {"slots": True, "mate_budget": Decimal(budget), "mate_budget_share": Decimal(share)}


BATCH_SETTINGS: Mapping[str, ClusterSettings] = {
    **{f"{backfill}-{pool[:4]}": machine(backfill=backfill, pool=pool) for backfill in BACKFILLING for pool in POOLS},
    **{
        f"{backfill}-{pool[:4]}-meets-{budget}-{share}": machine(
            backfill=backfill, pool=pool, **_meeting(budget, share)
        )
        for backfill in BACKFILLING
        for pool, budget, share in (("flat", "0.5", "0.4"), ("partitioned:4x2", "0", "1"), ("flat", "0.5", "0"))
    },
}
FLUID_SETTINGS: Mapping[str, FluidSettings] = {
    f"{harvesting.name.lower()}{'-slots' * slots}": FluidSettings(NODES, harvesting=harvesting, slots=slots)
    for harvesting in Harvesting
    for slots in (False, True)
}
SLOW = 10**6  # s: how long a job that is for a cluster takes on one machine


def unlike_machines(
    *, preemptive: bool, quantum: int = 0, slots: bool = False, seconds: int = 10
) -> HeterogeneousSettings:
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
    **{f"batch-{name}": lambda chosen=chosen: BATCH.open(chosen) for name, chosen in BATCH_SETTINGS.items()},
    **{f"fluid-{name}": lambda chosen=chosen: FLUID.open(chosen) for name, chosen in FLUID_SETTINGS.items()},
    **{f"molding-{name}": lambda chosen=chosen: MOLDING.open(chosen) for name, chosen in MOLDING_SETTINGS.items()},
    **{
        f"heterogeneous-{name}": lambda chosen=chosen: HETEROGENEOUS.open(chosen)
        for name, chosen in HETEROGENEOUS_SETTINGS.items()
    },
    "plain": lambda: PlainScheduler(NODES),
    "plain-slots": lambda: PlainScheduler(NODES, slots=True),
    "express": lambda: example.EXPRESS.open(example.ExpressSettings(NODES, 10)),
    "express-slots": lambda: example.EXPRESS.open(example.ExpressSettings(NODES, 10, slots=True)),
}


def columns(name: str, random: Random, nodes: int) -> object:
    """What a job says beyond its size, as a scheduler of this kind has read it."""
    if name.startswith("fluid"):
        return random.choice([None, Malleable(random.randint(1, nodes))])
    if name.startswith("molding"):
        return random.choice([None, Moldable(), Moldable()])
    if name.startswith("heterogeneous"):
        return Classed(random.choice("1248"), random.choice(list(Priority)))
    return {"steady": random.choice([0, 0, 1])} if name.startswith("express") else {}


def of_size(name: str, nodes: int) -> object:
    """What a job says that needs so many nodes, if its kind asks for that."""
    return Classed(str(nodes)) if name.startswith("heterogeneous") else {}


SUBJECTS = {name: Subject(made, partial(columns, name), partial(of_size, name)) for name, made in SCHEDULERS.items()}
