"""One replay as reports see it, read from the replay's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars

from cosched.words.errors import InputError
from cosched_sim.reports.summary import read_summary
from cosched_sim.results.staging import SUMMARY

JOBS, ALLOCATIONS, HOLDS, YIELDS = "jobs.csv", "allocations.csv", "holds.csv", "yields.csv"

_TIMES = dict.fromkeys(("submit", "ready", "start", "end", "nodes", "requested_s", "run_s", "pair"), polars.Int64)
_COUNTS = dict.fromkeys(("holds", "yields", "held_node_seconds"), polars.Int64)
_TEXT = polars.String
_JOB: dict[str, Any] = {"domain": _TEXT, "job_id": _TEXT}
_COLUMNS: dict[str, dict[str, Any]] = {
    JOBS: {**_JOB, **_TIMES, "mate_job_id": _TEXT, **_COUNTS, "state": _TEXT},
    ALLOCATIONS: {**_JOB, **dict.fromkeys(("allocation", "nodes", "start", "end"), polars.Int64), "ended": _TEXT},
    HOLDS: {**_JOB, **dict.fromkeys(("nodes", "begin", "end"), polars.Int64), "ended": _TEXT},
    YIELDS: {"domain": _TEXT, "time": polars.Int64, "yields": polars.Int64},
}
NAMES = ("where", "resource")  # of allocations, if some nodes have names, or all nodes of a job have one
_MAY_BE_EMPTY = {"ready", "start", "end", "pair", "mate_job_id", *NAMES}


@dataclass(frozen=True)
class RunDomain:
    """One policy domain of a replay, with tables without the column `domain` and times in trace seconds.

    `summary` is its part of summary.json; `jobs` has the columns of jobs.csv in trace order, `holds` those of
    holds.csv, `yields` those of yields.csv. None: not recorded (replays by real services). `allocations` has those of
    allocations.csv; None: each job had what it asked for from its start to its end.
    """

    name: str
    nodes: int
    summary: Mapping[str, Any]
    jobs: polars.DataFrame
    holds: polars.DataFrame | None
    yields: polars.DataFrame | None
    allocations: polars.DataFrame | None = None

    @property
    def runs(self) -> polars.DataFrame:
        """What ran when: columns job (its row), nodes, start, end."""
        jobs = self.jobs.with_row_index("job")
        if self.allocations is None:
            ran = jobs.drop_nulls("start").with_columns(polars.col("end").fill_null(self.last))
        else:
            ran = self.allocations.join(jobs.select("job", "job_id"), on="job_id", maintain_order="left")
        return ran.select(polars.col("job").cast(polars.Int64), "nodes", "start", "end")

    @property
    def first(self) -> int:
        """The first submission, in trace seconds."""
        return int(self.jobs["submit"][0])

    @property
    def last(self) -> int:
        """The last event, in trace seconds."""
        return self.first + int(self.summary["makespan_s"])

    @property
    def coscheduled(self) -> bool:
        """Whether the domain took part in coscheduling."""
        return bool(self.summary["scheme"] != "off")


@dataclass(frozen=True)
class Run:
    """One replay; `summary` is all of summary.json."""

    summary: Mapping[str, Any]
    domains: tuple[RunDomain, ...]

    @property
    def first(self) -> int:
        """The first submission on any domain, in trace seconds."""
        return min(domain.first for domain in self.domains)

    @property
    def last(self) -> int:
        """The last event on any domain, in trace seconds."""
        return max(domain.last for domain in self.domains)

    @property
    def paired(self) -> bool:
        """Whether any job had a mate."""
        return any(domain.summary["paired"]["jobs"] for domain in self.domains)

    def outages(self, domain: str) -> list[tuple[int, int]]:
        """The instants of what-if events at which nodes of a domain leave service (s), and how many; < 0: come back."""
        signs = {"down": 1, "drain": 1, "up": -1}
        events = [event for event in self.summary.get("script", ()) if event["domain"] == domain]
        return [(of["time_s"], signs[of["action"]] * of["nodes"]) for of in events if of["action"] in signs]

    @property
    def has_outages(self) -> bool:
        """Whether what-if events take nodes out of service."""
        return any(self.outages(domain.name) for domain in self.domains)

    @property
    def coscheduled(self) -> bool:
        """Whether any two domains coscheduled jobs."""
        return self.paired and sum(domain.coscheduled for domain in self.domains) > 1


def read_run(folder: Path) -> Run:
    """Read summary.json, jobs.csv and, if they exist, allocations.csv, holds.csv and yields.csv of a replay.

    InputError names the file, the line or key, and what is wrong; it is also raised if the files are of several runs.
    """
    summary = read_summary(folder / SUMMARY)
    names = list(summary["domains"])
    jobs = _split(folder / JOBS, names)
    paths = [folder / name for name in (HOLDS, YIELDS, ALLOCATIONS)]
    others = [_split(path, names) if path.exists() else None for path in paths]
    domains = []
    for name, said in summary["domains"].items():
        holds, yields, had = (None if table is None else table[name] for table in others)
        had = had if had is not None and len(had) else None
        domains.append(RunDomain(name, said["nodes"], said, jobs[name], holds, yields, had))
        _check_domain(folder, domains[-1])
    return Run(summary, tuple(domains))


def _check_domain(folder: Path, domain: RunDomain) -> None:
    """Refuse tables of different runs."""
    said = domain.summary["jobs"]
    if len(domain.jobs) != said:
        reason = f"has {len(domain.jobs)} jobs of {domain.name}, and {SUMMARY} speaks of {said}"
        raise InputError(str(folder / JOBS), None, reason)
    tables = (
        (HOLDS, domain.holds, ("begin", "end")),
        (YIELDS, domain.yields, ("time",)),
        (ALLOCATIONS, domain.allocations, ("start", "end")),
    )
    for name, table, columns in tables:
        within = polars.col(columns).is_between(domain.first, domain.last)
        if table is not None and not table.select(within).min_horizontal().all():
            raise InputError(str(folder / name), None, f"has times of {domain.name} outside the run")


def _split(path: Path, names: list[str]) -> dict[str, polars.DataFrame]:
    """Read a file's table by domain, without the column `domain`."""
    table = _read_table(path)
    strange = table.filter(~polars.col("domain").is_in(names))
    if len(strange):
        raise InputError(str(path), None, f"names the domain {strange['domain'][0]}, and {SUMMARY} does not")
    return {name: table.filter(polars.col("domain") == name).drop("domain") for name in names}


def _read_table(path: Path) -> polars.DataFrame:
    columns = _COLUMNS[path.name]
    try:
        raw = polars.read_csv(path, infer_schema=False)
    except OSError as error:
        raise InputError(str(path), None, error.strerror or str(error)) from None
    except polars.exceptions.PolarsError as error:
        raise InputError(str(path), None, f"not a CSV file: {str(error).splitlines()[0]}") from None
    if path.name == ALLOCATIONS:
        columns = {**columns, **{name: _TEXT for name in NAMES if name in raw.columns}}
    if raw.columns != list(columns):
        raise InputError(str(path), 1, f"the columns must be {','.join(columns)}")
    typed = raw.cast(polars.Schema(columns), strict=False)
    for name in columns:
        _check_column(path, raw[name], typed[name])
    return typed


def _check_column(path: Path, raw: polars.Series, typed: polars.Series) -> None:
    wrong = typed.is_null() if raw.name not in _MAY_BE_EMPTY else typed.is_null() & raw.is_not_null()
    row = wrong.arg_max()
    if row is not None and wrong[row]:
        reason = "is missing" if raw[row] is None else f"{raw[row]!r} is not a whole number"
        raise InputError(str(path), row + 2, f"{raw.name} {reason}")
