"""A whole sweep in its folder: runs the cases and averages the results."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched import __version__
from cosched.validation.mistakes import key_shown
from cosched.words.errors import InputError
from cosched_sim.results.output import write_json
from cosched_sim.sweeps.averages import all_averages
from cosched_sim.sweeps.case import CASE, ERROR
from cosched_sim.sweeps.differences import all_differences, comparison
from cosched_sim.sweeps.files import digest, named_files, with_digests
from cosched_sim.sweeps.grid import Sweep
from cosched_sim.sweeps.running import run_cases
from cosched_sim.sweeps.storage import RESULTS, refuse_results
from cosched_sim.sweeps.workers import Workers
from cosched_sim.workload.traces.atomic import write_whole

if TYPE_CHECKING:
    import polars

SWEEP, AVERAGES, DIFFERENCES = "sweep.json", "averages.csv", "differences.csv"
LONGEST_VALUE = 60  # characters of a value in a message
LIBRARIES = ("numba", "numpy", "polars")
SAME = ("version", "settings", "grid", "seed")  # the keys that must not change when a sweep is resumed


@dataclass(frozen=True)
class Swept:
    """The results of a sweep: the content of its sweep.json, its averages by place in the grid, its failed cases.

    `differences` are those of the averages from the places to compare with, None if all places are such.
    """

    said: Mapping[str, Any]
    averages: polars.DataFrame
    differences: polars.DataFrame | None
    failed: int
    first_failed: list[dict[str, Any]]  # labels and "error"


def carry_out(
    sweep: Sweep, folder: Path, workers: Workers, command: str, *, resume: bool, tell: Callable[[str], None]
) -> Swept:
    """Run the cases without results in the folder, and write its files; InputError as `prepare`, OSError."""
    said = prepare(folder, sweep, command, resume=resume)
    results = run_cases(sweep, len(sweep), folder, workers, resume=resume, tell=tell)
    swept = _swept(said, results)
    for name, frame in ((AVERAGES, swept.averages), (DIFFERENCES, swept.differences)):
        if frame is not None:
            write_whole(folder / name, frame.write_csv())
    return swept


def read_swept(folder: Path) -> Swept:
    """Read the results of a sweep in `folder`; InputError."""
    said = read_description(folder)
    results = folder / RESULTS
    if not results.exists():
        raise InputError(str(folder), None, "the sweep there has not ended: `cosched sweep --resume` continues it")
    return _swept(said, results)


def _swept(said: Mapping[str, Any], results: Path) -> Swept:
    keys, compared = list(said["grid"]), comparison(said["grid"])
    differences = None if compared is None else all_differences(results, keys, compared)
    return Swept(said, all_averages(results, keys), differences, *failures(results))


def failures(results: Path, most: int = 10) -> tuple[int, list[dict[str, Any]]]:
    """Return how many cases of a results.parquet failed, and the first of them."""
    import polars

    columns = list(polars.read_parquet_schema(results))
    labels = columns[columns.index(CASE) + 1 : columns.index(ERROR) + 1]
    failed = polars.read_parquet(results, columns=labels).filter(polars.col(ERROR).is_not_null())
    return len(failed), failed.head(most).to_dicts()


def prepare(folder: Path, sweep: Sweep, command: str, *, resume: bool) -> dict[str, Any]:
    """Make the folder of a sweep, or with `resume` check that it is this sweep's; return the content of sweep.json.

    InputError if it already has results, or those of another sweep; OSError.
    """
    said = description(sweep, command)
    path = folder / SWEEP
    if path.exists():
        before = read_description(folder)
        if not resume:
            raise InputError(str(folder), None, "already has a sweep; --resume continues it")
        _check_same(path, before, said)
        said = {**said, "command": before["command"]}
    else:
        refuse_results(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(path, said)
    return said


def description(sweep: Sweep, command: str) -> dict[str, Any]:
    """Return the content of sweep.json, with files identified by their content, not their names."""
    cases = [sweep.case({key: value}, 1).settings for key, values in sweep.grid.items() for value in values]
    return {
        "version": __version__,
        "command": command,
        "libraries": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "cases": len(sweep),
        "replications": sweep.replications,
        "seed": sweep.seed,
        "grid": {key: list(values) for key, values in sweep.grid.items()},
        "settings": with_digests(sweep.base),
        "files": {path: digest(path) for settings in cases for _, _, path in named_files(settings)},
    }


def read_description(folder: Path) -> dict[str, Any]:
    """Read the sweep.json of a folder; InputError."""
    path = folder / SWEEP
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(str(path), None, f"cannot be read: {error.strerror}") from None
    except ValueError:
        said = None
    if not isinstance(said, dict) or not said.keys() >= {*SAME, "command", "replications"}:
        raise InputError(str(path), None, "is not what `cosched sweep` writes")
    return said


def _check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise InputError that says what differs. More replications are still the same sweep."""
    compared = SAME if now["replications"] >= before["replications"] else (*SAME, "replications")
    for key in compared:
        if different := _difference(key, before[key], now[key]):
            where, there, here = different
            reason = f"{where} is {_short(there)} there and {_short(here)} now: --resume continues only the same sweep"
            raise InputError(str(path), None, reason)


def _difference(where: str, before: Any, now: Any) -> tuple[str, Any, Any] | None:
    """Return the first place at which two JSON values differ, with both values there."""
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = [(key_shown(key), before.get(key), now.get(key)) for key in {**before, **now}]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = [(str(number), *both) for number, both in enumerate(zip(before, now, strict=True), 1)]
    else:
        return None if before == now else (where, before, now)
    found = (_difference(f"{where}.{key}", *both) for key, *both in pairs)
    return next(filter(None, found), None)


def _short(value: Any) -> str:
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
