"""Studies of generated months: the user's options, what is replicated, and their runs. Each says which cases it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.sim.studies import folder as folders
from cosched.sim.studies.folder import Told, carry_out, describe
from cosched.sim.sweeps.case import Case
from cosched.sim.sweeps.storage import refuse_results
from cosched.sim.sweeps.workers import Workers

QUICK_DAYS, DAYS = 7.0, 30.0


@dataclass(frozen=True, slots=True)
class Wish:
    """The user's options."""

    command: str
    quick: bool
    replications: int | None
    seed: int
    days: float | None


@dataclass(frozen=True, slots=True)
class MonthsStudy:
    """A study by its name, with its numbers of replications, and its cases by what study.json says."""

    name: str
    quick_replications: int
    replications: int
    cases: Callable[[dict[str, Any]], list[Case]]

    def run(self, wish: Wish, folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
        """Run the missing cases, write study.json, return the path of results.parquet; InputError, OSError."""
        if not resume:
            refuse_results(folder)
        said = self._description(wish)
        describe(said, folder, resume=resume)
        return carry_out(self.cases(said), folder, workers, told, resume=resume)

    def read(self, folder: Path) -> dict[str, Any]:
        """Return the content of a folder's study.json; InputError."""
        return folders.read_study(folder, self.name, self.cases)[0]

    def _description(self, wish: Wish) -> dict[str, Any]:
        """Return the content of study.json."""
        return {
            "study": self.name,
            "version": __version__,
            "command": wish.command,
            "quick": wish.quick,
            "replications": wish.replications or (self.quick_replications if wish.quick else self.replications),
            "seed": wish.seed,
            "days": wish.days or (QUICK_DAYS if wish.quick else DAYS),
            "logs": [],
        }


def replications(said: dict[str, Any]) -> str:
    """Say in a sentence what was replicated."""
    count = said["replications"]
    seeds = f"seeds {said['seed']} to {said['seed'] + count - 1}" if count > 1 else f"seed {said['seed']}"
    return f"Replications: {count}, of {said['days']:g} days each ({seeds})."
