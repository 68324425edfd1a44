"""Runs the study in a folder of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.errors import InputError
from cosched.sim.results.output import write_json
from cosched.sim.studies.meet.cases import cases
from cosched.sim.studies.meet.experiments import Experiment, beyond, by_load, by_share, of_logs
from cosched.sim.studies.tang2011.logs import LogMonths, cut_months, read_log, windows_overlap
from cosched.sim.studies.tang2011.running import Told
from cosched.sim.studies.tang2011.setup import GeneratedMonths, Plan
from cosched.sim.sweeps.running import run_cases
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

STUDY, THREE, LOGS = "meet.json", "three", "logs"  # a file and two folders in the study's folder
QUICK_REPLICATIONS, REPLICATIONS = 3, 20
SAME = ("version", "seed", "days", "quick", "logs")  # the keys that must not change when a study is resumed

Log = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options; `further`: replications of all but V-D; `logs`: pairs of settings of logs."""

    command: str
    quick: bool
    replications: int | None
    further: int | None
    seed: int
    days: float
    logs: Sequence[tuple[Log, Log]] = ()


def run_study(wish: Wish, folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
    """Run the missing cases, write meet.json, return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    said = _description(wish, _windows(wish, folder, told))
    if resume:
        said["command"] = _check_same(folder, said).get("command", said["command"])
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / STUDY, said)
    found = cases(_experiments(said, folder))
    return run_cases(found, len(found), folder, workers, resume=resume, tell=told.step)


def read_study(folder: Path) -> tuple[dict[str, Any], list[Experiment]]:
    """Return the content of a folder's meet.json, and the experiments that were carried out; InputError."""
    path = folder / STUDY
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        return said, _experiments(said, folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not what `cosched study meet` writes"
        raise InputError(str(path), None, str(reason)) from None


def _windows(wish: Wish, folder: Path, told: Told) -> list[dict[str, Any]]:
    """Write the windows of each pair of logs; return what meet.json says of them."""
    found = []
    for number, pair in enumerate(wish.logs, 1):
        told.step(f"cutting the logs of pair {number} ...")
        logs = [read_log("--logs", settings, told.say) for settings in pair]
        names = " and ".join(Path(settings["trace"]).name.split(".swf")[0] for settings in pair)
        months, count = cut_months(logs, _further(wish), wish.days, _log_folder(folder, number))
        overlap = windows_overlap(logs, count, wish.days)
        found.append({"name": names, "nodes": months.nodes, "windows": count, "overlap": overlap, "settings": pair})
    return found


def _further(wish: Wish) -> int:
    return wish.further or _replications(wish)


def _replications(wish: Wish) -> int:
    return wish.replications or (QUICK_REPLICATIONS if wish.quick else REPLICATIONS)


def _description(wish: Wish, logs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of meet.json."""
    return {
        "study": "meet",
        "version": __version__,
        "command": wish.command,
        "quick": wish.quick,
        "replications": _replications(wish),
        "further": _further(wish),
        "seed": wish.seed,
        "days": wish.days,
        "logs": json.loads(json.dumps(logs)),
    }


def _experiments(said: Mapping[str, Any], folder: Path) -> list[Experiment]:
    plan = Plan(said["replications"], said["seed"], said["quick"], said["days"], GeneratedMonths())
    further = replace(plan, replications=said["further"])
    found = [by_load(plan), by_share(further), *beyond(further, (folder / THREE).resolve())]
    for number, log in enumerate(said["logs"], 1):
        months = LogMonths(_log_folder(folder, number).resolve(), (log["nodes"][0], log["nodes"][1]))
        found.append(of_logs(number, log["name"], replace(plan, replications=log["windows"], months=months)))
    return found


def _log_folder(folder: Path, number: int) -> Path:
    return folder / LOGS / str(number)


def _check_same(folder: Path, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an existing meet.json, if any; InputError if it is of another study."""
    if not (folder / STUDY).exists():
        return {}
    before, _ = read_study(folder)
    for key in SAME:
        if _unwindowed(before.get(key)) != _unwindowed(said[key]):
            reason = f"{key} is {before.get(key)!r} there and {said[key]!r} now: --resume continues only the same study"
            raise InputError(str(folder / STUDY), None, reason)
    return before


def _unwindowed(value: Any) -> Any:
    """Return a value of meet.json without what follows from the number of replications, which may grow."""
    return [log["settings"] for log in value] if isinstance(value, list) else value
