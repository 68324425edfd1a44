"""The study's experiments: what varies in each, and under which combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cosched_papers.studies.meet.schemes import FEW, MEET, MIXED, MOST, OF_THREE, under
from cosched_papers.studies.meet.three import THIRD, three_machines
from cosched_papers.studies.tang2011 import setup
from cosched_papers.studies.tang2011.logs import LogMonths
from cosched_sim.studies.design import Experiment

BY_LOAD, BY_SHARE = "load", "share"
ONE_SIDE, REQUESTS, SCHEDULERS, THREE, LOGS = "one side", "requests", "schedulers", "three machines", "logs"
BUDGETS = {setup.MEDIUM: "budget at 0.5", setup.HIGH: "budget at 0.75"}

TIMES_TOO_LONG = (1, 2, 3, 5)
BUDGET_VALUES = (0.1, 0.25, 1, 2)  # those of 0 and 0.5 are the cases SS and MM of BY_LOAD
ORDERS = (("fcfs", "easy"), ("wfp", "conservative"), ("fcfs", "conservative"))


def experiments(said: Mapping[str, Any], folder: Path) -> list[Experiment]:
    """Return all experiments of a study, with those of its real logs; `folder` is that of the study."""
    plan = setup.Plan(said["replications"], said["seed"], said["quick"], said["days"], setup.GeneratedMonths())
    further = replace(plan, replications=said["further"])
    found = [by_load(plan), by_share(further), *_beyond(further, (folder / "three").resolve())]
    for number, windows in enumerate(said["windows"], 1):
        months = LogMonths(log_folder(folder, number).resolve(), tuple(windows["nodes"]))
        of = replace(plan, replications=windows["count"], months=months)
        name = windows["name"]
        found.append(_experiment(of, f"{LOGS} {number}", name, LOGS, [number], FEW, partial(_medium, of), [name]))
    return found


def log_folder(folder: Path, number: int) -> Path:
    """Return the folder of the windows of a pair of logs."""
    return folder / LOGS / str(number)


def by_load(plan: setup.Plan) -> Experiment:
    """Return the experiment of V-D."""
    at = partial(plan.by_load, setup.BASE)
    return _experiment(plan, BY_LOAD, "By the load of Eureka (V-D)", "Eureka's load", setup.LOADS, MOST, at)


def by_share(plan: setup.Plan) -> Experiment:
    """Return the experiment of V-E."""
    title, labels = "By the share of Intrepid's jobs that are paired (V-E)", (f"{100 * of:g} %" for of in setup.SHARES)
    return _experiment(plan, BY_SHARE, title, "paired", setup.SHARES, MOST, partial(plan.by_share, setup.BASE), labels)


def _beyond(plan: setup.Plan, folder: Path) -> Iterator[Experiment]:
    """Yield what goes beyond section V, all else as in V-D at a medium load; files are written to `folder`."""
    of, medium = partial(_experiment, plan), partial(_medium, plan)

    def scheduled(point: float, replication: int) -> setup.Settings:
        policy, backfill = ORDERS[int(point)]
        settings = setup.everywhere(medium(point, replication), "policy", policy)
        return setup.everywhere(settings, "backfill", backfill)

    yield of(ONE_SIDE, "Meet on one machine only", "Eureka's load", [setup.MEDIUM], MIXED, medium)
    times = [f"{factor} x" for factor in TIMES_TOO_LONG]
    yield of(REQUESTS, "Requested times, times the run times", "requested", TIMES_TOO_LONG, FEW, medium, times)
    labels = [f"{policy.upper()}, {backfill.replace('easy', 'EASY')}" for policy, backfill in ORDERS]
    yield of(SCHEDULERS, "Other schedulers", "policy, backfilling", range(len(ORDERS)), FEW, scheduled, labels)
    for load, name in BUDGETS.items():
        title = f"The budget, at Eureka's load {load:g}"

        def with_budget(budget: float, replication: int, load: float = load) -> setup.Settings:
            return setup.everywhere(plan.by_load(setup.BASE, load, replication), "mate_budget", f"{budget:g}")

        yield of(name, title, "mate_budget", BUDGET_VALUES, (MEET,), with_budget)

    def three(_: float, replication: int) -> setup.Settings:
        return three_machines(plan, replication, folder)

    yield replace(of(THREE, "Three machines", "machines", [3], OF_THREE, three), machines=(*setup.MACHINES, THIRD))


def _experiment(
    plan: setup.Plan,
    name: str,
    title: str,
    axis: str,
    points: Iterable[float],
    schemes: tuple[str, ...],
    at: Callable[[float, int], setup.Settings],
    labels: Iterable[str] = (),
) -> Experiment:
    """Return an experiment on two machines; `at` returns a replay without its schemes."""

    def settings(point: float, combination: str, replication: int) -> setup.Settings:
        return under(at(point, replication), combination)

    places = tuple(map(float, points))
    return Experiment(name, title, axis, places, schemes, settings, tuple(labels), setup.MACHINES, plan.replications)


def _medium(plan: setup.Plan, _: float, replication: int) -> setup.Settings:
    return plan.by_load(setup.BASE, setup.MEDIUM, replication)
