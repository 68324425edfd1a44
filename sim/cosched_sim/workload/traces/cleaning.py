"""Turns a job log into the jobs that one machine can run, and counts those left out, by reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cosched.words.errors import InputError
from cosched_sim.workload.columns import Columns, Complete, taken
from cosched_sim.workload.jobs import LEAST, UNKNOWN, Ints, JobIds, TraceLog, Workload

Bools = NDArray[np.bool_]
Sizes = Callable[[Ints], Ints]
Overrun = Literal["extend", "kill"]

REASONS = {
    "no_run_time": "no run time",
    "no_size": "no size",
    "larger_than_machine": "larger than the machine",
    "negative_submit": "negative submit time",
    "duplicate_id": "a job id seen before",
}
"""Why a job is left out, with the words for it; a job counts under the first reason that applies."""


def clean(
    log: TraceLog,
    nodes: int,
    procs_per_node: int = 1,
    overrun: Overrun = "extend",
    sizes: Sizes | None = None,
    complete: Complete | None = None,
) -> Workload:
    """Return the jobs of `log` that a machine of `nodes` nodes can run, by submit time, ties in file order.

    A job's size is its requested processors, else the allocated ones, divided by `procs_per_node` and rounded up;
    `sizes`, if given, rounds node counts further up to sizes that the machine can allocate. `complete` adds what the
    log does not state of the columns that a scheduler reads. If the least size is one of them, that has to fit.

    An unknown or zero request becomes the run time. For a job that ran past its request, 'extend' makes the request as
    long as the run, 'kill' cuts the run. `rejected` counts the jobs left out, by reason (see REASONS). InputError if no
    job is left; ValueError for a machine without nodes or an unknown `overrun`.
    """
    _check(nodes, procs_per_node, overrun)
    job_nodes = _job_nodes(log, procs_per_node)
    columns = {} if complete is None else complete(_stated(log, procs_per_node), job_nodes)
    faults = _faults(log, job_nodes, nodes)
    if LEAST in columns:
        faults["larger_than_machine"] = columns[LEAST] > nodes
    if sizes is not None:
        fits = (job_nodes > 0) & (job_nodes <= nodes)
        job_nodes[fits] = sizes(job_nodes[fits])
        faults["larger_than_machine"] |= job_nodes > nodes
    kept, rejected, lines = _by_first_reason(log, faults)
    if kept.size == 0:
        counts = ", ".join(f"{REASONS[reason]} ({n})" for reason, n in rejected.items())
        raise InputError(log.source, None, f"no job is left: {counts}")
    rows = kept[np.argsort(log.submit[kept], kind="stable")]
    run, requested = _times(log.run[rows], log.requested_time[rows], overrun)
    return Workload(
        source=log.source,
        job_id=log.job_id[rows],
        submit=log.submit[rows],
        run=run,
        nodes=job_nodes[rows],
        requested=requested,
        rejected=rejected,
        left_out_ids=_ids_left_out(log.job_id, kept),
        first_rejected_line=lines,
        stated_nodes=_nodes_of_processors(log) if procs_per_node == 1 else None,
        columns=taken(columns, rows),
        remarks=tuple(f"{log.source}: {remark}" for remark in log.remarks),
    )


def left_out_messages(workload: Workload) -> list[str]:
    """Return one line for each reason: how many jobs were left out, and where the first of them is."""
    return [
        f"{workload.source}: left out {count:,} job{'s' * (count != 1)}: {REASONS[reason]} "
        f"(first in line {workload.first_rejected_line[reason]})"
        for reason, count in workload.rejected.items()
    ]


def machine_nodes(log: TraceLog, procs_per_node: int = 1) -> int | None:
    """Return the machine's nodes from the log's header: MaxProcs / `procs_per_node` rounded up, else MaxNodes."""
    procs = _header(log, "MaxProcs")
    return _header(log, "MaxNodes") if procs is None else -(-procs // procs_per_node)


def size_message(workload: Workload, nodes: int) -> str | None:
    """Say that processors are taken for the nodes of a machine, if the log states fewer nodes."""
    stated = workload.stated_nodes
    if stated is None or nodes <= stated:
        return None
    each = f"procs_per_node={nodes // stated}" if nodes % stated == 0 else "procs_per_node"
    return f"{workload.source}: the log states {stated:,} nodes; its processors are taken as nodes ({each} mends that)"


def _nodes_of_processors(log: TraceLog) -> int | None:
    """Return the nodes that the log states, if these have more than one processor each."""
    nodes, procs = _header(log, "MaxNodes"), _header(log, "MaxProcs")
    return nodes if nodes is not None and procs is not None and procs > nodes else None


def _header(log: TraceLog, key: str) -> int | None:
    match = re.match(r"\d+", log.header.get(key, ""), re.ASCII)
    return int(match[0][:18]) or None if match else None


def _check(nodes: int, procs_per_node: int, overrun: str) -> None:
    if nodes < 1:
        raise ValueError(f"a machine has at least 1 node, not {nodes}")
    if procs_per_node < 1:
        raise ValueError(f"a node has at least 1 processor, not {procs_per_node}")
    if overrun not in ("extend", "kill"):
        raise ValueError(f"overrun is extend or kill, not {overrun!r}")


def _job_nodes(log: TraceLog, procs_per_node: int) -> Ints:
    procs = np.where(log.requested_procs > 0, log.requested_procs, log.allocated)
    return -(-procs // procs_per_node)


def _stated(log: TraceLog, procs_per_node: int) -> Columns:
    """Return what the log says for schedulers, with the least sizes in nodes."""
    if LEAST not in log.columns:
        return log.columns
    least = log.columns[LEAST]
    return {**log.columns, LEAST: np.where(least > 0, -(-least // procs_per_node), UNKNOWN)}


def _faults(log: TraceLog, job_nodes: Ints, nodes: int) -> dict[str, Bools]:
    return {
        "no_run_time": log.run <= 0,
        "no_size": job_nodes <= 0,
        "larger_than_machine": job_nodes > nodes,
        "negative_submit": log.submit < 0,
        "duplicate_id": _repeated(log.job_id),
    }


def _repeated(ids: NDArray[Any]) -> Bools:
    """Return for each row whether an earlier row has its id."""
    repeated = np.zeros(len(ids), dtype=np.bool_)
    if (ids[1:] > ids[:-1]).all():
        return repeated
    order = np.argsort(ids, kind="stable")
    in_order = ids[order]
    repeated[order[1:]] = in_order[1:] == in_order[:-1]
    return repeated


def _by_first_reason(log: TraceLog, faults: dict[str, Bools]) -> tuple[Ints, dict[str, int], dict[str, int]]:
    """Return the rows of the jobs that stay, and by reason how many others there are, and the line of the first."""
    stays = np.ones(len(log), dtype=np.bool_)
    counts, lines = {}, {}
    for reason, fault in faults.items():
        rows = np.flatnonzero(fault & stays)
        if rows.size:
            counts[reason] = int(rows.size)
            lines[reason] = int(log.line[rows[0]])
            stays[rows] = False
    return np.flatnonzero(stays), counts, lines


def _times(run: Ints, requested: Ints, overrun: Overrun) -> tuple[Ints, Ints]:
    """Return run and requested times with run <= requested."""
    requested = np.where(requested > 0, requested, run)
    if overrun == "kill":
        return np.minimum(run, requested), requested
    return run, np.maximum(run, requested)


def _ids_left_out(ids: JobIds, kept: Ints) -> frozenset[int | str]:
    """Return the ids that have no row left; the first row of a repeated id may still be there."""
    out = np.ones(len(ids), dtype=np.bool_)
    out[kept] = False
    gone = np.unique(ids[out])
    if gone.size:
        gone = gone[~np.isin(gone, ids[kept])]
    return frozenset(gone.tolist())
