"""Curves of Downey's for jobs whose log says none (molding.md, Jobs): each is drawn, whatever the job's size and time.

The size becomes N_PWS of the curve, the one with the greatest S(n)^2 / n, and the times those on it. Sigma is as in
4.6 of Barsanti and Sodan (2006). They do not say how A is distributed: it is uniform in its logarithm, up to where the
mean N_PWS on their machine of 128 nodes is theirs, 69.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cosched_papers.molding.curves import MILLIONTHS, Downey, half_up
from cosched_papers.molding.kernels.sizes import downey_speed_up
from cosched_sim.workload.jobs import Workload

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GREATEST_A = 2500.0
SIGMA = (1.209, 1.132)  # "a standard distribution with mean = 1.209 and deviation = 1.132"; 0 where negative
STREAM = 0x646F776E  # of random numbers
SPEED_UPS = np.vectorize(downey_speed_up, otypes=[float])


def with_curves(workload: Workload, rows: Bools, machine: int, seed: int) -> Workload:
    """Return the jobs of a machine of so many nodes, where those of `rows` have a curve each, and are on its N_PWS.

    The curve of a job does not depend on which others get one.
    """
    random = np.random.default_rng([seed, STREAM])
    count = len(workload)
    a = np.rint(np.exp(random.uniform(0, np.log(GREATEST_A), count)) * MILLIONTHS).astype(np.int64)
    sigma = np.rint(np.maximum(random.normal(*SIGMA, count), 0) * MILLIONTHS).astype(np.int64)
    nodes = np.where(rows, working_sets(a / MILLIONTHS, sigma / MILLIONTHS, machine), workload.nodes)
    run, requested = workload.run.copy(), workload.requested.copy()
    for row in np.flatnonzero(rows).tolist():
        curve = Downey(int(a[row]), int(sigma[row]))
        ratio = curve.speed_up(int(workload.nodes[row])) / curve.speed_up(int(nodes[row]))
        for times in (run, requested):
            times[row] = _times_ratio(int(times[row]), ratio)
    drawn = {"downey_a": a, "downey_sigma": sigma}
    columns = {name: np.where(rows, values, workload.columns[name]) for name, values in drawn.items()}
    return replace(workload, nodes=nodes, run=run, requested=requested, columns={**workload.columns, **columns})


def _times_ratio(seconds: int, ratio: Fraction) -> int:
    return half_up(seconds * ratio.numerator, ratio.denominator)


def working_sets(a: Floats, sigma: Floats, machine: int) -> NDArray[np.int64]:
    """Return N_PWS of each curve, at most `machine`: the smallest size of those that are best.

    S(n)^2 / n rises up to one real size, and falls beyond it; so the best size is next to that.
    """
    below = np.minimum(sigma, 1)
    low = np.maximum(a, below * (a - 0.5) / (1 - below / 2))
    peak = np.where(sigma > 1, a - 1 + a / np.maximum(sigma, 1), low)
    one, other = (np.clip(size, 1, machine) for size in (np.floor(peak), np.ceil(peak)))
    better = SPEED_UPS(a, sigma, other) ** 2 / other > SPEED_UPS(a, sigma, one) ** 2 / one
    return np.where(better, other, one).astype(np.int64)
