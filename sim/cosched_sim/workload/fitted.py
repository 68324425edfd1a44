"""Workloads drawn from a model that is fitted to a job log, as in Weissman et al. (2004), 4.2.

Gaps between submissions are exponential; their mean depends on the hour of day of the job before ("a non-stationary
poisson process"). Sizes have the frequencies of the log. Run times are from one Weibull distribution, fitted by maximum
likelihood, independent of the sizes, and rounded up to whole seconds.
"""

from __future__ import annotations

import functools
import math
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cosched.words.errors import InputError
from cosched_sim.workload import traces
from cosched_sim.workload.drawn import MOST_JOBS, check_range, drawn_log, machine_header
from cosched_sim.workload.jobs import Ints, TraceLog, Workload

HOUR_S, HOURS = 3600, 24
MOST_NODES = 10**9
LEAST_SHAPE, MOST_SHAPE, STEPS = 0.01, 100.0, 100  # of the search for the shape


@dataclass(frozen=True, slots=True)
class FittedModel:
    """What workloads like a log are drawn from.

    `begin`: the second of the day of the first submission. `gaps`: 24 means in s of the time from a job that is
    submitted in this hour of the day to the next one; `mean_gap`: over all hours. `shape` and `scale` (s) are those of
    the run times, `counts` how many jobs have which of the `sizes` in nodes.
    """

    name: str
    nodes: int
    begin: int
    gaps: tuple[float, ...]
    mean_gap: float
    shape: float
    scale: float
    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def mean_size(self) -> float:
        """The mean number of nodes."""
        return sum(size * count for size, count in zip(self.sizes, self.counts, strict=True)) / sum(self.counts)

    @property
    def load(self) -> float:
        """The offered load of workloads from this model, in the mean."""
        mean_run = self.scale * math.gamma(1 + 1 / self.shape)
        return mean_run * self.mean_size / (self.nodes * self.mean_gap)

    def on(self, nodes: int) -> FittedModel:
        """Return the model of a machine of so many nodes, without larger jobs; ValueError if none is left."""
        fitting = [(size, count) for size, count in zip(self.sizes, self.counts, strict=True) if size <= nodes]
        if not fitting:
            least = self.sizes[0]
            raise ValueError(f"nodes: no job of {self.name} has {nodes} nodes or fewer; the smallest has {least}")
        sizes, counts = zip(*fitting, strict=True)
        return replace(self, nodes=nodes, sizes=sizes, counts=counts)

    def log(self, jobs: int, load: float | None, seed: int) -> TraceLog:
        """Draw jobs as if read from a file. All gaps are scaled so that the mean load is `load` (None: as fitted)."""
        gap, size, run = (np.random.default_rng([seed, 2004, part]) for part in range(3))
        slower = 1.0 if load is None else self.load / load
        shares = np.cumsum(self.counts)
        picked = np.searchsorted(shares, size.random(jobs) * shares[-1], "right")
        sizes = np.array(self.sizes, np.int64)[picked]
        times = np.maximum(np.ceil(self.scale * run.weibull(self.shape, jobs)), 1).astype(np.int64)
        clock = time.strftime("%H:%M:%S", time.gmtime(self.begin))
        note = f"drawn by cosched with seed {seed} from a model of {self.name}; time 0 is {clock}"
        header = machine_header(f"like {self.name}", self.nodes, note)
        submit = self._submissions(gap.standard_exponential(jobs - 1), slower)
        return drawn_log(f"fitted to {self.name}", submit=submit, run=times, size=sizes, header=header)

    def _submissions(self, units: NDArray[np.float64], slower: float) -> Ints:
        """Return when jobs are submitted, the first at 0; `units` are gaps of mean 1."""
        times = [0.0]
        for unit in units.tolist():
            times.append(times[-1] + unit * slower * self.gaps[int((self.begin + times[-1]) // HOUR_S) % HOURS])
        return np.array(times).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FittedTrace:
    """What to draw: from a log file, or from a model. None: `jobs` and `nodes` as the log has, `load` as fitted."""

    source: str | FittedModel
    jobs: int | None = None
    nodes: int | None = None
    load: Fraction | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        """ValueError for a value out of range."""
        check_range("jobs", 1 if self.jobs is None else self.jobs, 1, MOST_JOBS)
        check_range("nodes", 1 if self.nodes is None else self.nodes, 1, MOST_NODES)
        check_range("load", 1 if self.load is None else self.load, Fraction(1, 1000), 1000)

    def model(self) -> FittedModel:
        """Return the model; InputError for a log that cannot be read or fitted; ValueError for `nodes`."""
        if isinstance(self.source, FittedModel):
            return self.source if self.nodes is None else self.source.on(self.nodes)
        return fitted_file(self.source, self.nodes)

    def log(self, seed: int) -> TraceLog:
        """Draw the jobs as if read from a file, with `seed` unless the trace states its own; InputError, ValueError."""
        model = self.model()
        load = None if self.load is None else float(self.load)
        return model.log(self.jobs or sum(model.counts), load, seed if self.seed is None else self.seed)


def fitted_file(path: str, nodes: int | None = None) -> FittedModel:
    """Fit a model to a log file of any format; `nodes`: as the log states. InputError."""
    if path == "-":
        raise InputError("standard input", None, "a fitted trace needs the name of a file")
    try:
        state = os.stat(path)
    except OSError as error:
        raise InputError(path, None, f"cannot be read: {error.strerror or error}") from None
    return _fitted_file(path, nodes, state.st_size, state.st_mtime_ns, state.st_ino)


@functools.lru_cache(maxsize=8)
def _fitted_file(path: str, nodes: int | None, *_state: int) -> FittedModel:
    """Fit a model once for each state of the file."""
    log = traces.read_trace(path)
    nodes = nodes or traces.machine_nodes(log)
    if nodes is None:
        raise InputError(path, None, "does not state the machine's size: add /nodes=N to the trace")
    return fit(traces.clean(log, nodes), nodes, _begin(log.header.get("StartTime", "")))


def _begin(start: str) -> int:
    """Return the second of the day of a log's time 0, from its local start time; 0 if that is not stated."""
    found = re.search(r"\b(\d\d):(\d\d):(\d\d)\b", start, re.ASCII)
    if found is None:
        return 0
    hour, minute, second = map(int, found.groups())
    return (hour * HOUR_S + minute * 60 + second) % (HOURS * HOUR_S)


def fit(jobs: Workload, nodes: int, begin: int = 0) -> FittedModel:
    """Fit a model to a workload; `begin` is the second of the day of its time 0. InputError if it is too small."""
    submit = jobs.submit
    if len(jobs) < 2 or submit[0] == submit[-1]:
        raise InputError(jobs.source, None, "cannot be fitted: it needs jobs that are submitted at different times")
    if (jobs.run == jobs.run[0]).all():
        raise InputError(jobs.source, None, "cannot be fitted: all run times are equal")
    gaps, hours = np.diff(submit), hours_of(submit, begin)[:-1]
    shape, scale = weibull(jobs.run)
    sizes, counts = np.unique(jobs.nodes, return_counts=True)
    return FittedModel(
        name=re.sub(r"(\.[a-z]+)+$", "", os.path.basename(jobs.source)),  # without what says its format
        nodes=nodes,
        begin=int(begin + submit[0]) % (HOURS * HOUR_S),
        gaps=tuple(_rounded((gaps[hours == hour] if (hours == hour).any() else gaps).mean()) for hour in range(HOURS)),
        mean_gap=_rounded(gaps.mean()),
        shape=_rounded(shape),
        scale=_rounded(scale),
        sizes=tuple(sizes.tolist()),
        counts=tuple(counts.tolist()),
    )


def _rounded(value: float) -> float:
    """Return a value with four digits: more of it cannot be known, and so a model can be written down."""
    return float(f"{value:.4g}")


def hours_of(submit: Ints, begin: int) -> Ints:
    """Return the hour of day of each submission."""
    return (submit + begin) // HOUR_S % HOURS


def weibull(values: Ints | Sequence[float]) -> tuple[float, float]:
    """Return shape and scale of the Weibull distribution that makes positive values most likely.

    The likelihood is greatest where sum(x^k ln x) / sum(x^k) - 1 / k = mean(ln x), whose left side grows with the shape
    k, and at scale = mean(x^k)^(1/k). The values must differ.
    """
    logs = np.log(np.asarray(values, np.float64))
    logs -= (most := float(logs.max()))  # so that no power overflows; it changes the scale alone
    mean = float(logs.mean())
    low, high = LEAST_SHAPE, MOST_SHAPE
    for _ in range(STEPS):
        shape = math.sqrt(low * high)
        powers = np.exp(shape * logs)
        if float((powers * logs).sum() / powers.sum()) - 1 / shape > mean:
            high = shape
        else:
            low = shape
    return shape, math.exp(most + math.log(float(np.exp(shape * logs).mean())) / shape)
