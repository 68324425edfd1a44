"""The study's experiments: what varies in each, and under which combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cosched.sim.studies.meet.schemes import FEW, MEET, MIXED, MOST, OF_THREE
from cosched.sim.studies.meet.three import THIRD, three_machines
from cosched.sim.studies.tang2011.setup import BASE, HIGH, LOADS, MACHINES, MEDIUM, SHARES, Plan, Settings, everywhere

BY_LOAD, BY_SHARE = "load", "share"
ONE_SIDE, REQUESTS, SCHEDULERS, THREE, LOGS = "one side", "requests", "schedulers", "three machines", "logs"
BUDGETS = {MEDIUM: "budget at 0.5", HIGH: "budget at 0.75"}

TIMES_TOO_LONG = (1, 2, 3, 5)
BUDGET_VALUES = (0.1, 0.25, 1, 2)  # those of 0 and 0.5 are the cases SS and MM of BY_LOAD
ORDERS = (("fcfs", "easy"), ("wfp", "conservative"), ("fcfs", "conservative"))


@dataclass(frozen=True)
class Experiment:
    """One setting that varies: its values (`points`, with `labels` for people), and the combinations at each.

    `settings` returns a replay at a point in a replication, without its schemes. `requests_at`: the point says how
    many times the run time users request.
    """

    name: str
    title: str
    axis: str
    points: tuple[float, ...]
    schemes: tuple[str, ...]
    settings: Callable[[float, int], Settings]
    labels: tuple[str, ...] = ()
    machines: tuple[str, ...] = MACHINES
    replications: int = 1
    requests_at: bool = False

    def label(self, point: float) -> str:
        """Return what a point is called."""
        return self.labels[self.points.index(point)] if self.labels else f"{point:g}"


def by_load(plan: Plan) -> Experiment:
    """Return the experiment of V-D."""

    def at(load: float, replication: int) -> Settings:
        return plan.by_load(BASE, load, replication)

    title = "By the load of Eureka (V-D)"
    return Experiment(BY_LOAD, title, "Eureka's load", LOADS, MOST, at, replications=plan.replications)


def by_share(plan: Plan) -> Experiment:
    """Return the experiment of V-E."""

    def at(share: float, replication: int) -> Settings:
        return plan.by_share(BASE, share, replication)

    title, labels = "By the share of Intrepid's jobs that are paired (V-E)", [f"{100 * share:g} %" for share in SHARES]
    return Experiment(BY_SHARE, title, "paired", SHARES, MOST, at, tuple(labels), replications=plan.replications)


def beyond(plan: Plan, folder: Path) -> Iterator[Experiment]:
    """Yield what goes beyond section V, all else as in V-D at a medium load; files are written to `folder`."""
    medium = partial(_medium, plan)
    yield Experiment(
        ONE_SIDE, "Meet on one machine only", "Eureka's load", (MEDIUM,), MIXED, medium, replications=plan.replications
    )
    times = tuple(f"{factor} x" for factor in TIMES_TOO_LONG)
    yield Experiment(
        REQUESTS, "Requested times, times the run times", "requested", tuple(map(float, TIMES_TOO_LONG)), FEW, medium,
        times, replications=plan.replications, requests_at=True,
    )  # fmt: skip
    labels = tuple(f"{policy.upper()}, {backfill.replace('easy', 'EASY')}" for policy, backfill in ORDERS)
    yield Experiment(
        SCHEDULERS, "Other schedulers", "policy, backfilling", tuple(map(float, range(len(ORDERS)))), FEW,
        partial(_scheduled, plan), labels, replications=plan.replications,
    )  # fmt: skip
    for load, name in BUDGETS.items():
        yield Experiment(
            name, f"The budget, at Eureka's load {load:g}", "mate_budget", BUDGET_VALUES, (MEET,),
            partial(_with_budget, plan, load), replications=plan.replications,
        )  # fmt: skip
    yield Experiment(
        THREE, "Three machines", "machines", (3.0,), OF_THREE, partial(_three, plan, folder),
        machines=(*MACHINES, THIRD), replications=plan.replications,
    )  # fmt: skip


def of_logs(number: int, name: str, plan: Plan) -> Experiment:
    """Return the experiment of a pair of real logs; `plan` has their windows."""
    return Experiment(
        f"{LOGS} {number}", name, "logs", (float(number),), FEW, partial(_medium, plan), (name,),
        replications=plan.replications,
    )  # fmt: skip


def _medium(plan: Plan, _: float, replication: int) -> Settings:
    return plan.by_load(BASE, MEDIUM, replication)


def _scheduled(plan: Plan, point: float, replication: int) -> Settings:
    policy, backfill = ORDERS[int(point)]
    return everywhere(everywhere(_medium(plan, point, replication), "policy", policy), "backfill", backfill)


def _with_budget(plan: Plan, load: float, budget: float, replication: int) -> Settings:
    return everywhere(plan.by_load(BASE, load, replication), "mate_budget", f"{budget:g}")


def _three(plan: Plan, folder: Path, _: float, replication: int) -> Settings:
    return three_machines(plan, replication, folder)
