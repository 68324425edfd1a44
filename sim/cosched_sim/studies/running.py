"""Runs any study in its folder, continues it, and makes its report: study.json, results.parquet and the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars

from cosched.words.errors import InputError
from cosched_sim.results.output import write_json
from cosched_sim.studies.loading import study_called, unknown
from cosched_sim.studies.report import Report
from cosched_sim.studies.study import Said, Study, Told
from cosched_sim.sweeps.running import run_cases
from cosched_sim.sweeps.storage import RESULTS, refuse_results
from cosched_sim.sweeps.workers import Workers

STUDY = "study.json"
SAME = ("study", "version", "seed", "days", "quick", "logs")  # keys of study.json that stay when a study is resumed


def carry_out(
    study: Study, given: Mapping[str, Any], folder: Path, workers: Workers, told: Told, *, resume: bool
) -> Path:
    """Run the missing cases of the options `given`; return the path of results.parquet; InputError, OSError."""
    if not resume:
        refuse_results(folder)
    work = study.load()
    said = work.describe(study.said(given), given, folder, told)
    command = _before(folder, said).get("command", said["command"]) if resume else said["command"]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / STUDY, {**said, "command": command})
    cases = work.cases(said, folder)
    return run_cases(cases, len(cases), folder, workers, resume=resume, tell=told.step)


def _before(folder: Path, said: Said) -> Said:
    """Return the content of an existing study.json, if any; InputError if it is of another study."""
    if not (folder / STUDY).exists():
        return {}
    before = read_study(folder)
    for key in SAME:
        if (there := before.get(key)) != (now := said.get(key)):
            reason = f"{key} is {there!r} there and {now!r} now: --resume continues only the same study"
            raise InputError(str(folder / STUDY), None, reason)
    return before


def read_study(folder: Path) -> Said:
    """Return the content of a folder's study.json; InputError."""
    try:
        said = json.loads((folder / STUDY).read_text())
    except OSError as error:
        raise InputError(str(folder / STUDY), None, str(error.strerror)) from None
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise _not_of(folder, "NAME")
    return said


def _not_of(folder: Path, study: str) -> InputError:
    return InputError(str(folder / STUDY), None, f"is not what `cosched study {study}` writes")


def found_in(folder: Path) -> Report:
    """Return the report of the study in a folder, whichever it is; InputError."""
    said = read_study(folder)
    name = str(said.get("study"))
    study = study_called(name)
    if study is None:
        raise InputError(str(folder / STUDY), None, unknown(said.get("study")))
    work = study.load()
    try:
        work.cases(said, folder)
    except (ValueError, KeyError, TypeError):
        raise _not_of(folder, study.name) from None
    path = folder / RESULTS
    try:
        return work.report(said, folder, polars.read_parquet(path))
    except (OSError, polars.exceptions.PolarsError):
        reason = "cannot be read as a study's results; --resume completes a study that was interrupted"
        raise InputError(str(path), None, reason) from None


def rebuild(folder: Path) -> Report:
    """Make the report of a study, whichever it is; InputError, OSError."""
    report = found_in(folder)
    report.write(folder)
    return report
