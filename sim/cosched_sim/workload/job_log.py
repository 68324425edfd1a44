"""The settings of a job log, and the workload that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from cosched.core.scheduling.pools import Partitions
from cosched.validation.durations import parse_window
from cosched.validation.types import DomainName, Number, Offset, Seconds, Settings, Whole
from cosched.words.errors import InputError
from cosched_sim.workload import traces
from cosched_sim.workload.columns import Reading
from cosched_sim.workload.generated import is_generated, parse_generated, read_generated
from cosched_sim.workload.jobs import TraceLog, Workload
from cosched_sim.workload.log_options import LogOptions, Runs, check_timezone, parse_columns, parse_partition_limit
from cosched_sim.workload.traces.cleaning import Overrun as Overrun

MAX_NODES = 10**9
AS_LOGGED = Reading()


def _window(value: object) -> object:
    return value if isinstance(value, tuple) else parse_window(str(value))


def _trace(value: str | Path | Workload) -> str | Path | Workload:
    if is_generated(value):
        parse_generated(str(value))
    return value


def _parsed(parse: Callable[[str], Any]) -> BeforeValidator:
    """Return what parses a value that is given as text."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


Trace = Annotated[str | Path | Workload, AfterValidator(_trace)]
Window = Annotated[tuple[int | None, int | None], BeforeValidator(_window)]
ColumnNames = Annotated[tuple[str, ...], _parsed(parse_columns)]
PartitionLimit = Annotated[dict[str, Annotated[Seconds, Field(gt=0)]], _parsed(parse_partition_limit)]
TimeZone = Annotated[str, AfterValidator(check_timezone)]


class JobLog(Settings):
    """A domain's name and machine, and the jobs that it gets.

    The log is a file ('-': standard input), generated ('generated:...', see `generated`) or a Workload. Durations are
    seconds or text such as '20m'. `cut` keeps the jobs submitted in a time window ('0..20d'); `load` scales the
    arrivals to an offered load; `scale` multiplies the times between arrivals. After that `shift` moves all arrivals by
    a time, or `start` moves them so that the first job is submitted then. `estimates` multiplies the excess of the
    requested times over the run times (0: users know their run times exactly). `skip_bad`, `columns`, `timezone`,
    `runs` and `partition_limit` say how a file is read (LogOptions).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: DomainName
    trace: Trace
    format: Literal["swf", "accounting", "sacct", "csv"] | None = None
    nodes: Annotated[Whole, Field(ge=1, le=MAX_NODES)] | None = None
    procs_per_node: Annotated[Whole, Field(ge=1, le=MAX_NODES)] = 1
    cut: Window | None = None
    load: Annotated[Number, Field(gt=0)] | None = None
    scale: Annotated[Number, Field(gt=0)] | None = None
    shift: Offset | None = None
    start: Seconds | None = None
    estimates: Annotated[Number, Field(ge=0, le=1000)] = Decimal(1)
    skip_bad: Annotated[Whole, Field(ge=0)] = 0
    columns: ColumnNames = ()
    timezone: TimeZone = ""
    runs: Runs = "last"
    partition_limit: PartitionLimit = Field(default_factory=dict)

    @property
    def options(self) -> LogOptions:
        """How the file is read."""
        return LogOptions(**{field.name: getattr(self, field.name) for field in fields(LogOptions)})

    @model_validator(mode="after")
    def _shaped_in_one_way(self) -> Self:
        if self.load is not None and self.scale is not None:
            raise ValueError("load and scale exclude each other")
        if self.shift is not None and self.start is not None:
            raise ValueError("shift and start exclude each other")
        return self


def read_jobs(
    job_log: JobLog,
    *,
    partitions: Partitions | None = None,
    overrun: Overrun,
    seed: int = 0,
    has_pairs: bool,
    reading: Reading = AS_LOGGED,
) -> tuple[Workload, int]:
    """Return a machine's workload and its number of nodes, which are in `partitions` or flat; InputError.

    `overrun` says what happens to jobs that ran past their request; `seed` is for a generated log. With `has_pairs` a
    file of pairs will name jobs: jobs cut away then count as left out, so pairs that name them are dropped. `reading`:
    that of the machine's scheduler.
    """
    if isinstance(job_log.trace, Workload):
        workload, nodes = job_log.trace, reading.size or _nodes(job_log, None, partitions)
        workload = replace(workload, columns=reading.complete(workload.columns, workload.nodes))
    else:
        log = _read(job_log, seed, reading)
        nodes = reading.size or _nodes(job_log, log, partitions)
        with _blaming(job_log, "cut"):
            kept = log if job_log.cut is None else traces.cut(log, *job_log.cut)
        sizes = partitions.round_up if partitions else None
        workload = traces.clean(kept, nodes, job_log.procs_per_node, overrun, sizes, reading.complete)
        if len(kept) < len(log) and has_pairs:
            away = np.setdiff1d(log.job_id, kept.job_id).tolist()
            workload = replace(workload, left_out_ids=workload.left_out_ids.union(away))
    return _shaped(job_log, reading.adapt(workload, nodes, seed), nodes), nodes


def _read(job_log: JobLog, seed: int, reading: Reading) -> TraceLog:
    if is_generated(job_log.trace):
        return read_generated(str(job_log.trace), seed, f"--domain {job_log.name}")
    assert not isinstance(job_log.trace, Workload)
    return traces.read_trace(job_log.trace, job_log.format, reading.columns, reading.implied, job_log.options)


def _nodes(job_log: JobLog, log: TraceLog | None, partitions: Partitions | None) -> int:
    """Return the number of nodes as configured, else that of the node pool, else that of the log's header."""
    stated = traces.machine_nodes(log, job_log.procs_per_node) if log is not None else None
    nodes = job_log.nodes or (partitions.nodes if partitions else stated)
    if nodes is None:
        reason = "missing, and the trace does not state the machine's size"
        raise InputError(f"--domain {job_log.name}", "nodes", reason)
    return nodes


@contextmanager
def _blaming(job_log: JobLog, key: str) -> Iterator[None]:
    """Have a ValueError of the block name this key."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"--domain {job_log.name}", key, str(error)) from None


def _shaped(job_log: JobLog, workload: Workload, nodes: int) -> Workload:
    """Change arrivals and requested times as configured."""
    if job_log.load is not None:
        with _blaming(job_log, "load"):
            workload = traces.scale_to_load(workload, nodes, job_log.load)
    if job_log.scale is not None:
        with _blaming(job_log, "scale"):
            workload = traces.scale(workload, job_log.scale)
    if job_log.shift is not None:
        with _blaming(job_log, "shift"):
            workload = traces.shift(workload, job_log.shift)
    if job_log.start is not None:
        with _blaming(job_log, "start"):
            workload = traces.shift(workload, job_log.start - int(workload.submit.min()))
    return workload if job_log.estimates == 1 else traces.with_estimates(workload, job_log.estimates)
