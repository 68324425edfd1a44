"""How well the model of 4.2 fits a log: the numbers and histograms of figures 5 to 8."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched_papers.studies.weissman2004.setup import NODES
from cosched_sim.workload import traces
from cosched_sim.workload.fitted import HOURS, FittedModel, fitted_file, hours_of
from cosched_sim.workload.jobs import Workload

Floats = NDArray[np.float64]
Shares = dict[str, list[float]]

BIN_S, BINS = 500, 20  # "Each bin is 500 seconds in duration"; the last one has all that is longer
SIZES = (1, 2, 4, 8, 16, 32, 64)  # "The common job sizes"; others are counted together
DRAWN, SEED = 50_000, 1


def goodness(path: str) -> dict[str, Any]:
    """Return a log's name, parameters, distances and histograms, for study.json; InputError."""
    model = fitted_file(path, NODES)
    log = traces.clean(traces.read_trace(path), NODES)
    drawn = traces.clean(model.log(DRAWN, None, SEED), NODES)
    begin = model.begin - int(log.submit[0])
    found = {"name": model.name, "jobs": len(log), "shape": model.shape, "scale": model.scale}
    found |= {"mean size": model.mean_size, "load": model.load, "load of the log": traces.offered_load(log, NODES)}
    histograms = {
        "hour": _both(lambda jobs: _hours(jobs, begin if jobs is log else model.begin), log, drawn),
        "gap": _both(lambda jobs: _binned(np.diff(jobs.submit)), log, drawn),
        "size": _both(_sizes, log, drawn),
        "run": _both(lambda jobs: _binned(jobs.run), log, drawn),
    }
    return {**found, "distances": _distances(model, log, drawn, begin), "histograms": histograms}


def _both(of: Any, log: Workload, drawn: Workload) -> Shares:
    return {"log": of(log), "model": of(drawn)}


def _distances(model: FittedModel, log: Workload, drawn: Workload, begin: int) -> dict[str, float]:
    """Return the greatest differences of cumulative shares (Kolmogorov and Smirnov), and half the sum of all of shares.

    Gaps and run times are compared with their distributions, hours and sizes with drawn jobs.
    """
    weights = np.bincount(hours_of(log.submit, begin)[:-1], minlength=HOURS) / (len(log) - 1)
    gaps = np.asarray(model.gaps)

    def of_gap(seconds: Floats) -> Floats:
        return np.asarray(-np.expm1(-seconds[:, np.newaxis] / gaps) @ weights)

    def of_run(seconds: Floats) -> Floats:
        return np.asarray(-np.expm1(-((seconds / model.scale) ** model.shape)))

    hours = np.subtract(_hours(log, begin), _hours(drawn, model.begin))
    sizes = np.union1d(log.nodes, drawn.nodes)
    of_size = [np.searchsorted(np.sort(jobs.nodes), sizes, "right") / len(jobs) for jobs in (log, drawn)]
    return {
        "hour": float(np.abs(hours).sum() / 2 / 100),  # they are in per cent
        "gap": _greatest(np.diff(log.submit), of_gap),
        "size": float(np.abs(of_size[0] - of_size[1]).max()),
        "run": _greatest(log.run, of_run),
    }


def _greatest(values: NDArray[np.int64], cumulative: Any) -> float:
    """Return the greatest difference of the shares of values up to each from a distribution; it is counted in s."""
    seconds, counts = np.unique(values, return_counts=True)
    shares = np.cumsum(counts) / len(values)
    return float(np.abs(shares - cumulative(seconds.astype(np.float64) + 0.5)).max())


def _hours(jobs: Workload, begin: int) -> list[float]:
    return _shares(hours_of(jobs.submit, begin), HOURS)


def _binned(values: NDArray[np.int64]) -> list[float]:
    return _shares(np.minimum(values // BIN_S, BINS - 1), BINS)


def _sizes(jobs: Workload) -> list[float]:
    where = np.full(len(jobs), len(SIZES), np.int64)
    for place, size in enumerate(SIZES):
        where[jobs.nodes == size] = place
    return _shares(where, len(SIZES) + 1)


def _shares(places: NDArray[np.int64], count: int) -> list[float]:
    """Return the share of each place, in per cent."""
    found: list[float] = (100 * np.bincount(places, minlength=count) / len(places)).tolist()
    return found
