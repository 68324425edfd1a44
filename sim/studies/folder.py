"""The folder of a study: what it carries out (study.json), a row a case (results.parquet), and its tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import polars
from polars import DataFrame

from cosched.errors import InputError
from cosched.sim.reports.page import REPORT
from cosched.sim.results.output import write_json
from cosched.sim.sweeps.case import Case
from cosched.sim.sweeps.running import run_cases
from cosched.sim.sweeps.storage import RESULTS
from cosched.sim.sweeps.workers import Workers
from cosched.workload.traces.atomic import replacing

STUDY, TABLES = "study.json", "tables"
STUDIES = ("tang2011", "meet", "groups", "weissman2004", "fluid")  # each is a package beside this module
SAME = ("study", "version", "seed", "days", "quick", "logs")  # keys of study.json that stay when a study is resumed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Told:
    """How a study reports: `say` prints a line, `step` shows what is being done."""

    say: Callable[[str], None]
    step: Callable[[str], None]


def describe(said: Mapping[str, Any], folder: Path, *, resume: bool) -> None:
    """Write study.json; a resumed study keeps the command that began it. InputError if it is another one; OSError."""
    command = _before(folder, said).get("command", said["command"]) if resume else said["command"]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / STUDY, {**said, "command": command})


def carry_out(cases: Sequence[Case], folder: Path, workers: Workers, told: Told, *, resume: bool) -> Path:
    """Run the missing cases; return the path of results.parquet; InputError, OSError."""
    return run_cases(cases, len(cases), folder, workers, resume=resume, tell=told.step)


def _before(folder: Path, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an existing study.json, if any; InputError if it is of another study."""
    if not (folder / STUDY).exists():
        return {}
    before = _read(folder, said["study"])
    for key in SAME:
        if before.get(key) != said.get(key):
            reason = (
                f"{key} is {before.get(key)!r} there and {said.get(key)!r} now: --resume continues only the same study"
            )
            raise InputError(str(folder / STUDY), None, reason)
    return before


def read_study(folder: Path, study: str, plan_of: Callable[[dict[str, Any]], T]) -> tuple[dict[str, Any], T]:
    """Return the content of a folder's study.json, and what was carried out by `plan_of`; InputError."""
    said = _read(folder, study)
    try:
        return said, plan_of(said)
    except (ValueError, KeyError, TypeError):
        raise _not_of(folder, study) from None


def _read(folder: Path, study: str) -> dict[str, Any]:
    try:
        said = json.loads((folder / STUDY).read_text())
    except OSError as error:
        raise InputError(str(folder / STUDY), None, str(error.strerror)) from None
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise _not_of(folder, study)
    return said


def _not_of(folder: Path, study: str) -> InputError:
    return InputError(str(folder / STUDY), None, f"is not what `cosched study {study}` writes")


def read_results(folder: Path, results_of: Callable[[DataFrame], T]) -> T:
    """Return what `results_of` makes of the rows of the cases; InputError."""
    path = folder / RESULTS
    try:
        return results_of(polars.read_parquet(path))
    except (OSError, polars.exceptions.PolarsError):
        reason = "cannot be read as a study's results; --resume completes a study that was interrupted"
        raise InputError(str(path), None, reason) from None


def write_texts(folder: Path, page: str, text: str, tables: Iterable[tuple[str, DataFrame]]) -> None:
    """Write a page in Markdown to the file `page`, and each tables/NAME.csv. OSError."""
    (folder / TABLES).mkdir(exist_ok=True)
    for name, table in tables:
        with replacing(folder / TABLES / f"{name}.csv") as stream:
            stream.write(table.write_csv().encode())
    with replacing(folder / page) as stream:
        stream.write(text.encode())


def files(folder: Path, page: str) -> Iterator[str]:
    """Yield lines for the terminal: where the results are; `page` is the page in Markdown."""
    yield f"{folder / page}, {folder / REPORT}: the verdict and all tables"
    yield f"{folder / TABLES}: all means and comparisons, as CSV"
    yield f"{folder / RESULTS}: a row a case"


def rebuild(folder: Path) -> None:
    """Make the report of a study, whichever it is; InputError, OSError."""
    study = _read(folder, "NAME").get("study")
    if study not in STUDIES:
        raise InputError(str(folder / STUDY), None, f"no study is called {study!r}; there are {', '.join(STUDIES)}")
    import_module(f"cosched.sim.studies.{study}.report").rebuild(folder)
