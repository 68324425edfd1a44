"""The jobs of one domain's trace, with their mates from the file of pairs."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cosched.adapters.manager import SettingError
from cosched.adapters.replay.settings import ReplaySettings
from cosched.core.protocol import Domain, Named
from cosched.errors import InputError
from cosched.workload.job_log import read_jobs
from cosched.workload.jobs import Workload
from cosched.workload.pairs_file import pairs_from_file, split_window
from cosched.workload.traces.opening import numbered, read_blocks


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A job to submit at `submit`, by the service's time. It will run for `run` seconds."""

    number: int  # in trace order, from 1
    name: str  # its id in the trace
    submit: int
    nodes: int
    requested: int
    run: int
    peer: str = ""  # its mate's domain
    pair: str | None = None
    group: Named | None = None  # instead of a mate
    alone: bool = False  # its mates' domains do not coschedule; a dry run counts the job as unpaired
    columns: Any = None  # what its kind of scheduler reads of it (SchedulerKind.each)
    said: Mapping[str, str] = field(default_factory=dict)  # the same, as text (SchedulerKind.written)

    @property
    def peers(self) -> tuple[Domain, ...]:
        """The domains of its mates."""
        return self.group.others if self.group is not None else (self.peer,) if self.peer else ()


def read_trace_jobs(settings: ReplaySettings) -> tuple[list[TraceJob], int]:
    """Return the jobs in trace order, and the machine's number of nodes; SettingError."""
    log, kind = settings.log, settings.scheduler.scheduler_kind
    try:
        workload, nodes = read_jobs(
            log,
            overrun=log.overrun,
            has_pairs=log.pairs is not None,
            reading=kind.reading(settings.scheduler),
        )
        kind.jobs(settings.scheduler, workload, nodes)
        said = kind.written(workload.columns, len(workload))
    except InputError as error:
        raise SettingError("nodes" if error.where == "nodes" else "trace", str(error)) from None
    except ValueError as error:
        raise SettingError("trace", str(error)) from None
    mates = _mates(log.pairs, log.name, workload)
    off = frozenset(settings.off)
    columns = (workload.job_id, workload.submit + settings.start, workload.nodes, workload.requested, workload.run)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    jobs = []
    for row, (name, submit, size, requested, run) in enumerate(rows):
        job = TraceJob(row + 1, str(name), submit, size, requested, run, said=said[row], **mates.get(row, {}))
        jobs.append(replace(job, alone=bool(job.peers) and off.issuperset(job.peers)))
    return jobs, nodes


def _mates(path: Path | None, name: str, workload: Workload) -> Mapping[int, Mapping[str, Any]]:
    """Map rows of this domain's paired jobs to how a TraceJob names their mates; a row's number is the name."""
    if path is None:
        return {}
    try:
        names, others = _columns(path)
        if name not in names:
            raise InputError(str(path), None, f"has no column {name}")
        pairing = pairs_from_file(path, names, [workload if n == name else others[n] for n in names])
    except InputError as error:
        raise SettingError("pairs", str(error)) from None
    here = names.index(name)
    mates: dict[int, Mapping[str, Any]] = {}
    for number, domains, jobs in zip(*map(np.ndarray.tolist, (pairing.row, pairing.domain, pairing.job)), strict=True):
        if here in domains:
            side = domains.index(here)
            mates[jobs[side]] = {"peer": names[domains[1 - side]], "pair": str(number)}
    for group in pairing.groups:
        members = dict(group.members)
        if here in members:
            mates[members[here]] = {"group": group.named_by(here, names)}
    return mates


def _columns(path: Path) -> tuple[list[str], dict[str, Workload]]:
    """Return the domains that the file names, and the ids of their jobs in it. Nothing else is known of these."""
    with closing(read_blocks(path)) as blocks:
        rows = csv.reader(text for _, text in numbered(blocks))
        names = [cell.strip() for cell in next(rows, [])]
        cells = [[cell.strip() for cell in row] for row in rows if len(row) == len(names)]
    none = np.empty(0, np.int64)
    ids = {name: np.array([split_window(row[i])[0] for row in cells], np.str_) for i, name in enumerate(names)}
    return names, {name: Workload(str(path), ids[name], none, none, none, none) for name in names}
