"""Runs the study in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.errors import InputError
from cosched.sim.configuration import replay_config
from cosched.sim.replaying import read_machine
from cosched.sim.results.output import write_json
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
from cosched.sim.sweeps.running import run_cases
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

STUDY, LOGS = "study.json", "logs"  # a file and a folder in the study's folder
QUICK_REPLICATIONS, REPLICATIONS = 3, 10
SAME = ("version", "seed", "days", "quick", "logs")  # the keys that must not change when a study is resumed


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options; `logs` are the settings of the logs by machine (empty: generated months)."""

    command: str
    quick: bool
    replications: int | None
    seed: int
    days: float
    logs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """How the study reports: `say` prints a line, `step` shows what is being done."""

    say: Callable[[str], None]
    step: Callable[[str], None]


def run_study(wish: Wish, folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
    """Run the missing cases, write study.json, return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    plan, notes = _plan(wish, folder, told)
    said = {**_description(wish, plan), "notes": notes}
    if resume:
        said["command"] = _check_same(folder, said).get("command", said["command"])
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / STUDY, said)
    found = cases(plan)
    return run_cases(found, len(found), folder, workers, resume=resume, tell=told.step)


def read_study(folder: Path) -> tuple[dict[str, Any], Plan]:
    """Return the content of a folder's study.json, and the plan that was carried out; InputError."""
    path = folder / STUDY
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        months: Months = GeneratedMonths()
        if said["logs"]:
            nodes = tuple(said["facts"][f"{machine} nodes"] for machine in MACHINES)
            months = LogMonths(folder / LOGS, (nodes[0], nodes[1]))
        return said, Plan(said["replications"], said["seed"], said["quick"], said["days"], months)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not what `cosched study tang2011` writes"
        raise InputError(str(path), None, str(reason)) from None


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
        "study": "tang2011",
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


def _check_same(folder: Path, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an existing study.json, if any; InputError if it is of another study."""
    if not (folder / STUDY).exists():
        return {}
    before, _ = read_study(folder)
    for key in SAME:
        if before.get(key) != said[key]:
            reason = f"{key} is {before.get(key)!r} there and {said[key]!r} now: --resume continues only the same study"
            raise InputError(str(folder / STUDY), None, reason)
    return before
