"""The jobs of one domain's trace, with their mates from the file of pairs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from cosched.core.protocol import Named
from cosched.words.errors import InputError
from cosched_adapters.launcher import TraceJob
from cosched_adapters.manager import SettingError
from cosched_sim.replay_manager.settings import ReplaySettings
from cosched_sim.workload.columns import reading_of
from cosched_sim.workload.job_log import read_jobs
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairs_file import columns_of_domains, pairs_from_file, split_window
from cosched_sim.workload.traces.opening import numbered, read_blocks


def trace_jobs(work: Workload, named: Mapping[int, Named], start: int = 0, **told: Sequence[Any]) -> list[TraceJob]:
    """Return the jobs of a trace from `start` on, with those that they name, and what is `told` of each, by row."""
    columns = (work.job_id, work.submit + start, work.nodes, work.requested, work.run)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        TraceJob(
            row + 1, str(name), submit, nodes, requested, run, named.get(row),
            **{key: all[row] for key, all in told.items()}
        )
        for row, (name, submit, nodes, requested, run) in enumerate(rows)
    ]  # fmt: skip


def read_trace_jobs(settings: ReplaySettings) -> tuple[list[TraceJob], int]:
    """Return the jobs in trace order, and the machine's number of nodes; SettingError."""
    log, kind = settings.log, settings.scheduler.scheduler_kind
    try:
        workload, nodes = read_jobs(
            log, overrun=log.overrun, has_pairs=log.pairs is not None, reading=reading_of(kind, settings.scheduler)
        )
        kind.jobs(settings.scheduler, workload, nodes)
        said = kind.written(workload.columns, len(workload))
    except InputError as error:
        raise SettingError("nodes" if error.where == "nodes" else "trace", str(error)) from None
    except ValueError as error:
        raise SettingError("trace", str(error)) from None
    named = _named(log.pairs, log.name, workload)
    return trace_jobs(workload, named, settings.start, said=said), nodes


def _named(path: Path | None, name: str, workload: Workload) -> Mapping[int, Named]:
    """Map rows of this domain's jobs to those that they name, as the file of pairs says."""
    if path is None:
        return {}
    try:
        names, others = _columns(path, name)
        if name not in names:
            raise InputError(str(path), None, f"has no column {name}")
        pairing = pairs_from_file(path, names, [workload if n == name else others[n] for n in names])
    except InputError as error:
        raise SettingError("pairs", str(error)) from None
    return pairing.named_by_domain(names)[names.index(name)]


def _columns(path: Path, own: str) -> tuple[list[str], dict[str, Workload]]:
    """Return the domains that the file names, and the ids of their jobs in it. Nothing else is known of these."""
    with closing(read_blocks(path)) as blocks:
        rows = csv.reader(text for _, text in numbered(blocks))
        header = [cell.strip() for cell in next(rows, [])]
        cells = [[cell.strip() for cell in row] for row in rows if len(row) == len(header)]
    none = np.empty(0, np.int64)
    names = columns_of_domains(header, [own])
    ids = {name: np.array([split_window(row[header.index(name)])[0] for row in cells], np.str_) for name in names}
    return names, {name: Workload(str(path), ids[name], none, none, none, none) for name in names}
