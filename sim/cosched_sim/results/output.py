"""Writes the results of a replay: summary.json, jobs.csv and, if there is something to say, its other files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from cosched import __version__
from cosched_sim.results.columns import MANY, Table, csv_of
from cosched_sim.results.result import ReplayResult
from cosched_sim.results.staging import SUMMARY, staged
from cosched_sim.workload.traces.atomic import replacing, write_whole

ROWS_AT_ONCE = 16_384  # jobs.csv is written in parts, so that a long trace needs no second copy in memory


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Facts about the run itself for its summary; `began` is by time.perf_counter."""

    command: str
    seed: int
    began: float


def summary(result: ReplayResult, info: RunInfo, write_s: float = 0.0) -> dict[str, Any]:
    """Return the content of summary.json; equal runs differ only in "command" and "timing"."""
    found = result.summary()
    timing = {**found["timing"], "write_s": write_s, "wall_s": time.perf_counter() - info.began}
    found["timing"] = {key: round(seconds, 6) for key, seconds in timing.items()}
    return {"version": __version__, "command": info.command, "seed": info.seed, **found}


def write_run(result: ReplayResult, folder: str | Path, info: RunInfo) -> dict[str, Any]:
    """Write a run's files to `folder`, all of them or none, and return the summary; OSError names the folder."""
    with staged(folder) as stage:
        return write_files(result, stage, info)


def write_files(result: ReplayResult, folder: Path, info: RunInfo) -> dict[str, Any]:
    """Write a run's files one by one to a folder that is already staged, making it if needed; return the summary."""
    began = time.perf_counter()
    folder.mkdir(exist_ok=True)
    with replacing(folder / "jobs.csv") as stream:
        _write_jobs(result, stream)
    if any(domain.allocations is not None for domain in result.domains.values()):
        _write_tables(result.allocation_columns, result, folder / "allocations.csv")
    if all(domain.holds is not None for domain in result.domains.values()):
        _write_tables(result.hold_columns, result, folder / "holds.csv")
        _write_tables(result.yield_columns, result, folder / "yields.csv")
    if result.events is not None:
        with replacing(folder / "events.jsonl") as stream:
            stream.writelines(f"{json.dumps(event)}\n".encode() for event in result.events)
    said = summary(result, info, time.perf_counter() - began)
    write_json(folder / SUMMARY, said)
    return said


def write_json(path: Path, value: Any) -> None:
    """Write an indented JSON file, whole or not at all."""
    write_whole(path, f"{json.dumps(value, indent=2, allow_nan=False)}\n")


def _write_tables(table: Callable[[str], Table], result: ReplayResult, path: Path) -> None:
    """Write the small tables of all domains to one file."""
    with replacing(path) as stream:
        for number, name in enumerate(result.domains):
            stream.write(csv_of(table(name), header=number == 0).encode())


def _write_jobs(result: ReplayResult, stream: BinaryIO) -> None:
    header, of_many = True, sum(len(domain.workload) for domain in result.domains.values()) >= MANY
    for name, domain in result.domains.items():
        for start in range(0, len(domain.workload), ROWS_AT_ONCE):
            rows = result.job_columns(name, slice(start, start + ROWS_AT_ONCE))
            stream.write(csv_of(rows, header=header, of_many=of_many).encode())
            header = False
