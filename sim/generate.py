"""Generated workloads: months like those of Intrepid and Eureka, of any length and load, from a seed.

Of the number of jobs, the span and the load, what is not given follows from the rest:

* jobs (and a load): the span is as long as their work needs, so that any number of jobs makes the same load;
* a span (and a load): as many jobs as the machine gets in that time at that load;
* jobs and a span: the load that such jobs make;
* all three: the run times are scaled.

The load is the offered load: run times x nodes of all jobs / (the machine's nodes x the time from the first
to the last submission). Time 0 is a Monday, 00:00.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cosched.errors import InputError
from sim.machine_models import MODELS, MONTH_S, MachineModel, MachineName
from sim.workload import Ints, Workload

Floats = NDArray[np.float64]

HOUR_S = 3_600
WEEK_S = 7 * 86_400
SATURDAY = 5

LOAD_TOLERANCE = 1e-4
FACTOR_STEP = 1e-9


def generate(
    machine: MachineName | MachineModel,
    *,
    jobs: int | None = None,
    span_s: int | None = None,
    utilisation: float | None = None,
    seed: int,
) -> Workload:
    """Draw a workload for one machine: `jobs` rows in submission order, ids from 1, first submission at 0 s.

    `span_s` is the time from the first to the last submission in seconds (neither it nor `jobs` given: 30
    days) and `utilisation` the offered load (default: the model's); the module says what follows from what.
    Of three given the load is met within 0.01 %, or as near as whole seconds allow. The same arguments make
    the same workload; two machines with one seed are independent. Peak memory is below 200 bytes a job
    beyond the result.

    Raises InputError for an unknown machine, a value out of range, or a load that such jobs cannot make.
    """
    model = _model(machine)
    _check(jobs, span_s, utilisation, seed)
    if jobs is None:
        span_s = span_s or MONTH_S
        utilisation = utilisation or model.utilisation
        jobs = max(2, round(model.jobs_per_month / MONTH_S * span_s * utilisation / model.utilisation))

    # The model's name keeps two machines with one seed apart: else their submissions would coincide.
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, crc32(model.name.encode())])))
    nodes = _draw(rng, model.sizes, jobs)
    run = _runs(rng, model, nodes, utilisation, span_s)
    if span_s is None:
        span_s = round(_work(run, nodes) / (model.nodes * (utilisation or model.utilisation)))
    requested = _requests(rng, model, run)
    submit = _submissions(rng, model, jobs, span_s)
    job_id = np.arange(1, jobs + 1, dtype=np.int64)
    return Workload(f"generated:{model.name}", job_id, submit, run, nodes, requested)


def hourly_rates(model: MachineModel) -> Floats:
    """Relative rate of session beginnings by hour of the week from Monday 00:00: shape (168,), mean 1."""
    hour = np.arange(WEEK_S // HOUR_S)
    rate: Floats = 1 + model.daily_swing * np.cos((hour % 24 + 0.5 - model.peak_hour) * (2 * math.pi / 24))
    rate[hour >= SATURDAY * 24] *= model.weekend_rate
    rate /= rate.mean()
    return rate


def _model(machine: MachineName | MachineModel) -> MachineModel:
    if isinstance(machine, MachineModel):
        return machine
    if machine not in MODELS:
        raise InputError(
            "--machine", None, f"no machine is called {machine!r}; there are {', '.join(MODELS)}"
        )
    return MODELS[machine]


def _check(jobs: int | None, span_s: int | None, utilisation: float | None, seed: int) -> None:
    if jobs is not None and jobs < 1:
        raise InputError("--jobs", None, f"{jobs} is not a number of jobs; give 1 or more")
    if span_s is not None and span_s < 1:
        raise InputError("--days", None, f"{span_s} s is not a span; give 1 second or more")
    if utilisation is not None and not 0 < utilisation < math.inf:
        raise InputError("--utilisation", None, f"{utilisation} is not a load; give a number above 0")
    if seed < 0:
        raise InputError("--seed", None, f"{seed} is not a seed; give 0 or more")


def _work(run: Ints, nodes: Ints) -> int:
    return int((run * nodes).sum())


def _draw(rng: np.random.Generator, shares: Sequence[tuple[int, float]], count: int) -> Ints:
    """`count` values, each with the probability of its share."""
    values, weights = zip(*shares, strict=True)
    cumulative = np.cumsum(weights)
    picked = np.searchsorted(cumulative[:-1] / cumulative[-1], rng.random(count), side="right")
    return np.asarray(values, dtype=np.int64)[picked]


def _runs(
    rng: np.random.Generator, model: MachineModel, nodes: Ints, load: float | None, span_s: int | None
) -> Ints:
    """Run times: the mixture of log-normals, clipped; scaled by one factor if load and span are both set."""
    part = _draw(rng, [(i, c.share) for i, c in enumerate(model.runs)], len(nodes))
    raw = rng.standard_normal(len(nodes))
    raw *= np.array([c.sigma for c in model.runs])[part]
    raw += np.log([c.median_s for c in model.runs])[part]
    del part
    np.exp(raw, out=raw)
    if load is None or span_s is None:
        return _clipped(raw, 1.0, model)
    return _scaled_to_load(raw, nodes, model, load, span_s)


def _clipped(raw: Floats, factor: float, model: MachineModel) -> Ints:
    seconds = raw * factor
    np.clip(seconds, model.min_run_s, model.limit_s, out=seconds)
    return np.rint(seconds, out=seconds).astype(np.int64)


def _scaled_to_load(raw: Floats, nodes: Ints, model: MachineModel, load: float, span_s: int) -> Ints:
    """Bisect the factor: the work grows with it, from all jobs at the least run time to all at the most."""
    target = load * model.nodes * span_s
    least, most = (limit * int(nodes.sum()) for limit in (model.min_run_s, model.limit_s))
    if not least <= target <= most:
        reach = [f"{work / (model.nodes * span_s):.3g}" for work in (least, most)]
        reason = (
            f"{len(raw)} jobs in {span_s} s cannot make a load of {load:g}: with run times of "
            f"{model.min_run_s} to {model.limit_s} s they make {reach[0]} to {reach[1]}"
        )
        raise InputError("--utilisation", None, reason)
    low = math.log(model.min_run_s / float(raw.max()))
    high = math.log(model.limit_s / float(raw.min()))
    while True:
        middle = (low + high) / 2
        run = _clipped(raw, math.exp(middle), model)
        excess = _work(run, nodes) - target
        if abs(excess) <= LOAD_TOLERANCE * target or high - low < FACTOR_STEP:
            return run
        low, high = (low, middle) if excess > 0 else (middle, high)


def _requests(rng: np.random.Generator, model: MachineModel, run: Ints) -> Ints:
    """Requested times: an estimate not below the run time, rounded up as people do, at most the limit."""
    quantiles, ratios = zip(*model.accuracy, strict=True)
    estimate = run / np.interp(rng.random(len(run)), quantiles, ratios)
    step = _draw(rng, model.rounding, len(run))
    estimate /= step
    np.ceil(estimate, out=estimate)
    estimate *= step
    requested: Ints = np.minimum(estimate, model.limit_s, out=estimate).astype(np.int64)
    return requested


def _submissions(rng: np.random.Generator, model: MachineModel, count: int, span_s: int) -> Ints:
    """Sorted submit times, the first 0 and the last `span_s`.

    A session's jobs follow one another; what would pass the end of the span goes on at its start.
    """
    begins = rng.random(count) * model.session_jobs < 1
    begins[0] = True
    first = np.flatnonzero(begins)
    session = np.cumsum(begins) - 1
    time = np.cumsum(rng.exponential(model.session_gap_s, count))
    time += (_session_times(rng, model, len(first), span_s) - time[first])[session]
    time %= max(span_s, 1)
    time.sort()
    submit = time.astype(np.int64)
    submit[0] = 0
    if count > 1:
        submit[-1] = span_s
    return submit


def _session_times(rng: np.random.Generator, model: MachineModel, count: int, span_s: int) -> Floats:
    """A Poisson process of this rate, given the number of its points: independent draws from the rate."""
    edges = np.arange(0, WEEK_S + 1, HOUR_S)
    expected = np.concatenate(([0.0], np.cumsum(hourly_rates(model))))
    weeks, rest = divmod(span_s, WEEK_S)
    drawn = rng.random(count) * (weeks * expected[-1] + np.interp(rest, edges, expected))
    week, within = np.divmod(drawn, expected[-1])
    times: Floats = week * WEEK_S + np.interp(within, expected, edges)
    return times
