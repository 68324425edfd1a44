"""Replays whose files the tests of figures read."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars

import cosched_sim as sim
from cosched_sim.reports.run import Run, RunDomain, read_run
from cosched_sim.results.output import RunInfo, write_run
from cosched_sim.workload.jobs import Workload
from cosched_sim.workload.pairing import Pairing

Row = tuple[int, int, int]  # submit, run time, nodes


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def work(name: str, *rows: Row, ids: Sequence[str] = ()) -> Workload:
    """Jobs 1, 2, ..., or with these ids; requests are the run times."""
    submit, run, nodes = (ints(*column) for column in zip(*rows, strict=True))
    return Workload(name, np.array(ids) if ids else np.arange(1, len(rows) + 1), submit, run, nodes, run)


def domain(name: str, nodes: int, *rows: Row, **settings) -> sim.Domain:
    return sim.Domain(name=name, trace=work(name, *rows), nodes=nodes, policy="fcfs", **settings)


def pairs_of(*mates: tuple[int, int]) -> Pairing:
    """Pairs of job numbers (from 1) of the first two domains."""
    rows = np.array(mates, np.int64)
    return Pairing(np.arange(1, len(rows) + 1), np.broadcast_to(ints(0, 1), rows.shape).copy(), rows - 1)


def replay_of(domains: Sequence[sim.Domain], mates: Sequence[tuple[int, int]] = (), **options) -> sim.Replay:
    """A replay of jobs that are mates by their numbers (from 1) in the first two domains."""
    replay = sim.Replay(sim.ReplayConfig(domains=tuple(domains), **options))
    if mates:
        replay.pairing = pairs_of(*mates)
    return replay


def run_of(folder: Path, domains: Sequence[sim.Domain], mates: Sequence[tuple[int, int]] = (), **options) -> Run:
    """The same, written and read back."""
    replay = replay_of(domains, mates, **options)
    write_run(replay.run(), folder, RunInfo("cosched replay", 0, time.perf_counter()))
    return read_run(folder)


def without_records(run: Run) -> Run:
    """The same as if real services had run it, of which holds and yields are not known."""
    return Run(run.summary, tuple(RunDomain(d.name, d.nodes, d.summary, d.jobs, None, None) for d in run.domains))


def tables(run: Run, table: polars.DataFrame) -> list[tuple[RunDomain, polars.DataFrame]]:
    """A figure's table by domain."""
    return [(d, table.filter(polars.col("domain") == d.name)) for d in run.domains]
