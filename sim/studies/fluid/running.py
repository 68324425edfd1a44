"""Runs the study in a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.sim.studies import folder as folders
from cosched.sim.studies.fluid.cases import cases
from cosched.sim.studies.folder import Told, carry_out, describe
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

NAME = "fluid"
QUICK_REPLICATIONS, REPLICATIONS = 2, 8
QUICK_DAYS, DAYS = 7.0, 30.0


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options."""

    command: str
    quick: bool
    replications: int | None
    seed: int
    days: float | None


def run_study(wish: Wish, folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
    """Run the missing cases, write study.json, return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    said = _description(wish)
    describe(said, folder, resume=resume)
    found = cases(said["replications"], said["seed"], said["days"], quick=said["quick"])
    return carry_out(found, folder, workers, told, resume=resume)


def read_study(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's study.json; InputError."""
    return folders.read_study(
        folder, NAME, lambda said: [said[key] for key in ("replications", "seed", "days", "quick")]
    )[0]


def _description(wish: Wish) -> dict[str, Any]:
    """Return the content of study.json."""
    return {
        "study": NAME,
        "version": __version__,
        "command": wish.command,
        "quick": wish.quick,
        "replications": wish.replications or (QUICK_REPLICATIONS if wish.quick else REPLICATIONS),
        "seed": wish.seed,
        "days": wish.days or (QUICK_DAYS if wish.quick else DAYS),
        "logs": [],
    }
