"""Workloads with Downey's curves as in 4.6 and 5.2: of each job another one, whatever its size and run time.

The size becomes N_PWS of the curve, the one with the greatest S(n)^2 / n, and the run time that on it. The paper does
not say how A is distributed: it is uniform in its logarithm here, up to where the mean N_PWS is the paper's 69.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched.core.scheduling.molding.curves import MILLIONTHS, Downey, half_up, speed_up
from cosched.schedulers.molding import MOLDING
from cosched.workload.generated import read_generated
from cosched.workload.jobs import TraceLog
from cosched.workload.traces.table_writer import write_table

Floats = NDArray[np.float64]

GREATEST_A = 2500.0
SIGMA = (1.209, 1.132)  # "a standard distribution with mean = 1.209 and deviation = 1.132"; 0 where negative
STREAM = 0x646F776E  # of random numbers


def downey_file(folder: Path, trace: str, seed: int) -> Path:
    """Return the CSV log of a drawn trace with curves, which is written if it is missing; OSError."""
    path = folder / f"{trace.rpartition('jobs=')[2].replace('/', '-').replace('=', '')}-{seed}.csv.gz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        columns = {column.name: column for column in MOLDING.columns()}
        write_table(with_curves(read_generated(trace, seed, "downey"), _nodes(trace), seed), path, columns)
    return path


def with_curves(log: TraceLog, machine: int, seed: int) -> TraceLog:
    """Return the jobs of a log with a curve each, on their N_PWS."""
    random = np.random.default_rng([seed, STREAM])
    count = len(log.run)
    a = np.rint(np.exp(random.uniform(0, np.log(GREATEST_A), count)) * MILLIONTHS).astype(np.int64)
    sigma = np.rint(np.maximum(random.normal(*SIGMA, count), 0) * MILLIONTHS).astype(np.int64)
    best = working_sets(a / MILLIONTHS, sigma / MILLIONTHS, machine)
    run = [
        half_up(ratio.numerator, ratio.denominator)
        for curve, asked, size, seconds in zip(
            map(Downey, a.tolist(), sigma.tolist()),
            log.allocated.tolist(),
            best.tolist(),
            log.run.tolist(),
            strict=True,
        )
        for ratio in [seconds * speed_up(curve, asked) / speed_up(curve, size)]
    ]
    columns = {"moldable": np.ones(count, np.int64), "downey_a": a, "downey_sigma": sigma}
    times = np.array(run, np.int64)
    return replace(log, allocated=best, requested_procs=best, run=times, requested_time=times, columns=columns)


def working_sets(a: Floats, sigma: Floats, machine: int) -> NDArray[np.int64]:
    """Return N_PWS of each curve, at most `machine`: the smallest size of those that are best."""
    sizes = np.arange(1.0, machine + 1)
    speed = _speed_ups(a[:, np.newaxis], sigma[:, np.newaxis], sizes)
    return np.asarray(1 + np.argmax(speed**2 / sizes, axis=1), np.int64)


def _speed_ups(a: Floats, sigma: Floats, n: Floats) -> Floats:
    """Return S(n) of Downey's curves, as floats (molding.md)."""
    low = np.where(n <= a, a * n / (a + sigma * (n - 1) / 2), a * n / (sigma * (a - 0.5) + n * (1 - sigma / 2)))
    low = np.where(n >= 2 * a - 1, np.where(n <= a, low, a), low)
    high = n * a * (sigma + 1) / (sigma * (n + a - 1) + a)
    return np.asarray(np.where(sigma > 1, np.where(n <= a + a * sigma - sigma, high, a), low))


def _nodes(trace: str) -> int:
    return int(trace.partition("nodes=")[2].partition("/")[0])


def asked_sizes(trace: str, seed: int) -> Any:
    """Return the sizes that the model had drawn, before the curves."""
    return read_generated(trace, seed, "downey").allocated
