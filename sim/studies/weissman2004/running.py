"""Runs the study in a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.sim.studies import folder as folders
from cosched.sim.studies.folder import Told, carry_out, describe
from cosched.sim.studies.weissman2004.cases import cases
from cosched.sim.studies.weissman2004.goodness import goodness
from cosched.sim.studies.weissman2004.setup import Plan
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

NAME = "weissman2004"
QUICK_TRACES, TRACES = 5, 100
QUICK_JOBS, JOBS = 2000, 10_000
USER_JOBS = 300


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options; `logs` are files."""

    command: str
    quick: bool
    traces: int | None
    seed: int
    logs: Sequence[str] = ()


def run_study(wish: Wish, folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
    """Run the missing cases, write study.json, return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    told.step("fitting the logs ...")
    said = _description(wish)
    describe(said, folder, resume=resume)
    return carry_out(cases(_plan(said)), folder, workers, told, resume=resume)


def read_study(folder: Path) -> tuple[dict[str, Any], Plan]:
    """Return the content of a folder's study.json, and the plan that was carried out; InputError."""
    return folders.read_study(folder, NAME, _plan)


def _plan(said: dict[str, Any]) -> Plan:
    logs = [str(log) for log in said["logs"]]
    return Plan(said["traces"], said["jobs"], said["user jobs"], said["seed"], said["quick"], logs)


def _description(wish: Wish) -> dict[str, Any]:
    """Return the content of study.json."""
    return {
        "study": NAME,
        "version": __version__,
        "command": wish.command,
        "quick": wish.quick,
        "traces": wish.traces or (QUICK_TRACES if wish.quick else TRACES),
        "jobs": QUICK_JOBS if wish.quick else JOBS,
        "user jobs": USER_JOBS,
        "seed": wish.seed,
        "logs": [str(Path(log).resolve()) for log in wish.logs],
        "fits": [goodness(log) for log in wish.logs],
    }
