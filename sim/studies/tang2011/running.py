"""Runs the study in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.sim.configuration import replay_config
from cosched.sim.replaying import read_machine
from cosched.sim.studies import folder as folders
from cosched.sim.studies.folder import Told, carry_out, describe
from cosched.sim.studies.tang2011.cases import cases
from cosched.sim.studies.tang2011.logs import LogMonths, cut_months, read_log, windows_overlap
from cosched.sim.studies.tang2011.setup import (
    BASE,
    LOADS,
    MACHINES,
    RELEASE_MIN,
    WINDOW_S,
    GeneratedMonths,
    Months,
    Plan,
    Settings,
)
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

NAME = "tang2011"
LOGS = "logs"  # a folder in the study's folder
QUICK_REPLICATIONS, REPLICATIONS = 3, 10


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options; `logs` are the settings of the logs by machine (empty: generated months)."""

    command: str
    quick: bool
    replications: int | None
    seed: int
    days: float
    logs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def run_study(wish: Wish, folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
    """Run the missing cases, write study.json, return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    plan, notes = _plan(wish, folder, told)
    describe({**_description(wish, plan), "notes": notes}, folder, resume=resume)
    return carry_out(cases(plan), folder, workers, told, resume=resume)


def read_study(folder: Path) -> tuple[dict[str, Any], Plan]:
    """Return the content of a folder's study.json, and the plan that was carried out; InputError."""

    def plan_of(said: dict[str, Any]) -> Plan:
        months: Months = GeneratedMonths()
        if said["logs"]:
            nodes = tuple(said["facts"][f"{machine} nodes"] for machine in MACHINES)
            months = LogMonths(folder / LOGS, (nodes[0], nodes[1]))
        return Plan(said["replications"], said["seed"], said["quick"], said["days"], months)

    return folders.read_study(folder, NAME, plan_of)


def _plan(wish: Wish, folder: Path, told: Told) -> tuple[Plan, list[str]]:
    """Return the plan, with fewer replications than wished for if a log is short, and notes on it."""
    replications = wish.replications or (QUICK_REPLICATIONS if wish.quick else REPLICATIONS)
    if not wish.logs:
        return Plan(replications, wish.seed, wish.quick, wish.days, GeneratedMonths()), []
    told.step("cutting the logs ...")
    logs = [read_log(f"--{machine}", wish.logs[machine], told.say) for machine in MACHINES]
    months, there = cut_months(logs, replications, wish.days, folder / LOGS)
    notes = []
    if there < replications:
        notes.append(f"The log of Intrepid is no longer than {wish.days:g} days: one replication, and no intervals.")
    elif windows_overlap(logs, there, wish.days):
        notes.append("The windows of the replications overlap: the intervals are too narrow.")
    for note in notes:
        told.say(note)
    return Plan(there, wish.seed, wish.quick, wish.days, months), notes


def _description(wish: Wish, plan: Plan) -> dict[str, Any]:
    """Return the content of study.json."""
    return {
        "study": NAME,
        "version": __version__,
        "command": wish.command,
        "quick": plan.quick,
        "replications": plan.replications,
        "seed": plan.seed,
        "days": plan.days,
        "logs": {machine: dict(settings) for machine, settings in wish.logs.items()},
        "facts": _facts(plan),
    }


def _facts(plan: Plan) -> dict[str, float]:
    """Return facts of the set-up, and the sizes of machines and jobs over all months of V-D."""
    facts: dict[str, float] = {
        "release interval": RELEASE_MIN,
        "pair window": WINDOW_S / 60,
        "replications": plan.replications,
    }
    for replication in range(1, plan.replications + 1):
        for load in LOADS:
            _add_sizes(facts, plan.by_load(BASE, load, replication))
    return facts


def _add_sizes(facts: dict[str, float], settings: Settings) -> None:
    """Add the sizes in one replay."""
    config = replay_config("study", settings)
    for domain in config.domains:
        jobs, facts[f"{domain.name} nodes"] = read_machine(domain, config)
        for name, choose in (("smallest", min), ("largest", max)):
            here = int(choose(jobs.nodes))
            facts[f"{domain.name} {name}"] = choose(here, facts.get(f"{domain.name} {name}", here))
