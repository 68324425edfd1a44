"""Runs the study in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.sim.studies import folder as folders
from cosched.sim.studies.folder import Told, carry_out, describe
from cosched.sim.studies.meet.cases import cases
from cosched.sim.studies.meet.experiments import Experiment, beyond, by_load, by_share, of_logs
from cosched.sim.studies.tang2011.logs import LogMonths, cut_months, read_log, windows_overlap
from cosched.sim.studies.tang2011.setup import GeneratedMonths, Plan
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

NAME = "meet"
THREE, LOGS = "three", "logs"  # folders in the study's folder
QUICK_REPLICATIONS, REPLICATIONS = 3, 20

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
    """Run the missing cases, write study.json, return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    said = _description(wish, _windows(wish, folder, told))
    describe(said, folder, resume=resume)
    return carry_out(cases(_experiments(said, folder)), folder, workers, told, resume=resume)


def read_study(folder: Path) -> tuple[dict[str, Any], list[Experiment]]:
    """Return the content of a folder's study.json, and the experiments that were carried out; InputError."""
    return folders.read_study(folder, NAME, lambda said: _experiments(said, folder))


def _windows(wish: Wish, folder: Path, told: Told) -> list[dict[str, Any]]:
    """Write the windows of each pair of logs, none of which overlap; return what study.json says of them."""
    found = []
    for number, pair in enumerate(wish.logs, 1):
        told.step(f"cutting the logs of pair {number} ...")
        logs = [read_log("--logs", settings, told.say) for settings in pair]
        count = next(count for count in range(_further(wish), 0, -1) if not windows_overlap(logs, count, wish.days))
        months, _ = cut_months(logs, count, wish.days, _log_folder(folder, number))
        names = " and ".join(Path(settings["trace"]).name.split(".swf")[0] for settings in pair)
        found.append({"name": names, "nodes": list(months.nodes), "count": count})
    return found


def _further(wish: Wish) -> int:
    return wish.further or _replications(wish)


def _replications(wish: Wish) -> int:
    return wish.replications or (QUICK_REPLICATIONS if wish.quick else REPLICATIONS)


def _description(wish: Wish, windows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of study.json."""
    return {
        "study": NAME,
        "version": __version__,
        "command": wish.command,
        "quick": wish.quick,
        "replications": _replications(wish),
        "further": _further(wish),
        "seed": wish.seed,
        "days": wish.days,
        "logs": [[dict(settings) for settings in pair] for pair in wish.logs],
        "windows": windows,
    }


def _experiments(said: Mapping[str, Any], folder: Path) -> list[Experiment]:
    plan = Plan(said["replications"], said["seed"], said["quick"], said["days"], GeneratedMonths())
    further = replace(plan, replications=said["further"])
    found = [by_load(plan), by_share(further), *beyond(further, (folder / THREE).resolve())]
    for number, windows in enumerate(said["windows"], 1):
        months = LogMonths(_log_folder(folder, number).resolve(), tuple(windows["nodes"]))
        found.append(of_logs(number, windows["name"], replace(plan, replications=windows["count"], months=months)))
    return found


def _log_folder(folder: Path, number: int) -> Path:
    return folder / LOGS / str(number)
