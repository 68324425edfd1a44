"""The folder of a sweep: sweep.json describes the sweep, results.parquet and the CSV files hold the results."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cosched import __version__
from cosched.validation.mistakes import key_shown
from cosched.words.errors import InputError
from cosched_sim.results.output import write_json
from cosched_sim.sweeps.files import digest, named_files, with_digests
from cosched_sim.sweeps.grid import Sweep
from cosched_sim.sweeps.storage import refuse_results

SWEEP, AVERAGES, DIFFERENCES = "sweep.json", "averages.csv", "differences.csv"
LONGEST_VALUE = 60  # characters of a value in a message
LIBRARIES = ("numba", "numpy", "polars")
SAME = ("version", "settings", "grid", "seed")  # the keys that must not change when a sweep is resumed


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
