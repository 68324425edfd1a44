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
from cosched.core.scheduling.plain import PlainScheduler
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.policies.ordering import parse_ordering
from cosched.core.scheduling.pools import parse_node_pool
from cosched.core.scheduling.scheduler import ClusterSettings, OpenScheduler
from cosched.schedulers.batch import BATCH
from tests.installed import PAPERS

if PAPERS:
    from tests.papers import kinds as papers

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
# What opens a scheduler of each kind, by kind and settings.
SCHEDULERS: Mapping[str, Callable[[], OpenScheduler]] = {
    **{f"batch-{name}": lambda chosen=chosen: BATCH.open(chosen) for name, chosen in BATCH_SETTINGS.items()},
    **(papers.SCHEDULERS if PAPERS else {}),
    "plain": lambda: PlainScheduler(NODES),
    "plain-slots": lambda: PlainScheduler(NODES, slots=True),
    "express": lambda: example.EXPRESS.open(example.ExpressSettings(NODES, 10)),
    "express-slots": lambda: example.EXPRESS.open(example.ExpressSettings(NODES, 10, slots=True)),
}


def columns(name: str, random: Random, nodes: int) -> object:
    """What a job says beyond its size, as a scheduler of this kind has read it."""
    if PAPERS and name in papers.SCHEDULERS:
        return papers.columns(name, random, nodes)
    return {"steady": random.choice([0, 0, 1])} if name.startswith("express") else {}


def of_size(name: str, nodes: int) -> object:
    """What a job says that needs so many nodes, if its kind asks for that."""
    return papers.of_size(name, nodes) if PAPERS else {}


SUBJECTS = {name: Subject(made, partial(columns, name), partial(of_size, name)) for name, made in SCHEDULERS.items()}
