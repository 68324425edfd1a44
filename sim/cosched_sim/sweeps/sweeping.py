"""A whole sweep in its folder: runs the cases and averages the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.words.errors import InputError
from cosched_sim.sweeps.averages import all_averages
from cosched_sim.sweeps.case import CASE, ERROR
from cosched_sim.sweeps.differences import all_differences, comparison
from cosched_sim.sweeps.folder import AVERAGES, DIFFERENCES, prepare, read_description
from cosched_sim.sweeps.grid import Sweep
from cosched_sim.sweeps.running import run_cases
from cosched_sim.sweeps.storage import RESULTS
from cosched_sim.sweeps.workers import Workers
from cosched_sim.workload.traces.atomic import replacing

if TYPE_CHECKING:
    import polars


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
    """Run the cases without results in the folder, and write its files.

    InputError if there are results and `resume` is not set, or if they are those of another sweep; OSError.
    """
    said = prepare(folder, sweep, command, resume=resume)
    results = run_cases(sweep, len(sweep), folder, workers, resume=resume, tell=tell)
    swept = _swept(said, results)
    for name, frame in ((AVERAGES, swept.averages), (DIFFERENCES, swept.differences)):
        if frame is not None:
            with replacing(folder / name) as stream:
                stream.write(frame.write_csv().encode())
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
