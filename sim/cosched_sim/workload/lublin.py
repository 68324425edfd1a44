"""Workloads of the model of Lublin and Feitelson (2003), with one type of jobs.

A job is serial, or its size is 2^x, where x is two-stage uniform and often rounded. The logarithm of its run time is
from one of two gamma distributions; the second is more likely for large jobs.

The logarithm of a gap between submissions has a gamma distribution, too. Gaps pass in operational time: half hour i of
the day lasts 1800 w_i of it, where w follows a gamma distribution over a day that begins at `day_start`. What of a gap
has passed in one half hour counts in the next, as in the archive's log of the model (`tests/sim/test_lublin.py`), but
not in GridSim's port to Java, which the default values are from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosched.installation.extras import SIMULATOR, install_command
from cosched.words.errors import InputError
from cosched_sim.workload.drawn import MOST_JOBS, check_range, drawn_log, machine_header
from cosched_sim.workload.jobs import Ints, TraceLog

Floats = NDArray[np.float64]

NAME = "lublin"
HALF_HOUR_S, HALF_HOURS = 1800, 48
DAY_S = HALF_HOUR_S * HALF_HOURS
MOST_NODES = 2**30
MOST_LOG = 13.8  # e^13.8 s are 11 days; a million such gaps end before the latest time of a log
LEAST_SHARE = 0.01  # of what is drawn, to be kept
STREAMS = range(4)  # of random numbers: sizes, run times, gaps, what is moldable


@dataclass(frozen=True, slots=True)
class LublinTrace:
    """What to draw: `jobs` of a machine of so many `nodes`, which is a power of two in the paper.

    `moldable`: the share of the jobs whose column `moldable` is 1, not 0 (None: no such column).

    * Sizes: a job is serial with probability `serial`, a power of two with `pow2`. x is uniform from `low` to `med`
      with probability `prob`, else from `med` to `hi` (None: log2 of the nodes, and 2.5 less, but not below `low`).
    * Run times: gamma(a1, b1) with probability pb + pa x size, else gamma(a2, b2); drawn again above `max_run`.
    * Gaps: gamma(arar x alpha, beta), drawn again above `max_gap`. `arar` is the ratio of all arrivals to those in the
      rush hours from which alpha comes.
    * Half hours: the mass of gamma(anum, bnum) from k - 1/2 to k + 1/2, for 48 k from `day_start`, is that of half
      hour k - 1 of the day.

    ValueError for a value out of range, or if hardly any value that is drawn could be kept.
    """

    jobs: int = 10_000
    nodes: int = 128
    moldable: float | None = None
    seed: int | None = None
    serial: float = 0.244
    pow2: float = 0.576
    low: float = 0.8
    med: float | None = None
    hi: float | None = None
    prob: float = 0.86
    a1: float = 4.2
    b1: float = 0.94
    a2: float = 312.0
    b2: float = 0.03
    pa: float = -0.0054
    pb: float = 0.78
    max_run: float = 12.0
    alpha: float = 10.2303
    beta: float = 0.4871
    arar: float = 1.0225
    max_gap: float = 13.0
    anum: float = 8.1737
    bnum: float = 3.9631
    day_start: int = 11

    def __post_init__(self) -> None:
        """Check the values."""
        check_range("jobs", self.jobs, 1, MOST_JOBS)
        check_range("nodes", self.nodes, 2, MOST_NODES)
        for key in ("moldable", "serial", "pow2", "prob"):
            check_range(key, getattr(self, key) or 0, 0, 1)
        if self.serial + self.pow2 > 1:
            raise ValueError(f"pow2: {self.pow2:g} and serial, {self.serial:g}, are more than all jobs; lower one")
        self._check_sizes()
        for key in ("a1", "b1", "a2", "b2", "alpha", "beta", "arar", "anum", "bnum"):
            check_range(key, getattr(self, key), 1e-6, 1e6)
        for key in ("max_run", "max_gap"):
            check_range(key, getattr(self, key), 1, MOST_LOG)
        check_range("day_start", self.day_start, 1, HALF_HOURS)
        self._check_draws()

    def _check_sizes(self) -> None:
        low, med, hi = self._stages
        if hi > math.log2(self.nodes):
            raise ValueError(f"hi: {hi:g} is above {math.log2(self.nodes):.4g}, log2 of the nodes; lower it")
        if not low <= med <= hi:
            raise ValueError(f"med: {med:g} is not between low, {low:g}, and hi, {hi:g}; change one of them")

    def _check_draws(self) -> None:
        for key, shape, scale, bound in (
            ("a1", self.a1, self.b1, "max_run"),
            ("a2", self.a2, self.b2, "max_run"),
            ("alpha", self.arar * self.alpha, self.beta, "max_gap"),
        ):
            if _mass(shape, scale, getattr(self, bound)) < LEAST_SHARE:
                said = f"{getattr(self, key):g} puts nearly all values above {bound}, {getattr(self, bound):g}"
                raise ValueError(f"{key}: {said}; lower {key} or raise {bound}")
        if _half_hours(self.anum, self.bnum, self.day_start).sum() < LEAST_SHARE:
            raise ValueError(f"anum: {self.anum:g} leaves the day without submissions; change anum or bnum")

    @property
    def _stages(self) -> tuple[float, float, float]:
        hi = math.log2(self.nodes) if self.hi is None else self.hi
        return self.low, max(self.low, hi - 2.5) if self.med is None else self.med, hi

    def log(self, seed: int) -> TraceLog:
        """Draw the jobs as if read from a file, with `seed` unless the trace states its own; time 0 is midnight.

        Sizes, run times, gaps and what is moldable have streams of random numbers of their own. So another alpha moves
        the submissions alone, and a larger share of moldable jobs includes a smaller one.
        """
        seed = seed if self.seed is None else self.seed
        size, run, gap, moldable = (np.random.default_rng([seed, 2003, stream]) for stream in STREAMS)
        sizes = self._sizes(size)
        columns = {}
        if self.moldable is not None:
            columns["moldable"] = (moldable.random(self.jobs) < self.moldable).astype(np.int64)
        note = f"drawn by cosched with seed {seed} from the model of Lublin and Feitelson; time 0 is 00:00:00"
        submit, times, header = (
            self._submissions(gap),
            self._runs(run, sizes),
            machine_header("cluster", self.nodes, note),
        )
        return drawn_log(f"generated:{NAME}", submit=submit, run=times, size=sizes, header=header, columns=columns)

    def _sizes(self, rng: np.random.Generator) -> Ints:
        low, med, hi = self._stages
        kind, stage, x = rng.random((3, self.jobs))
        x = np.where(stage < self.prob, low + (med - low) * x, med + (hi - med) * x)
        # Rounded up, x may be above the machine where that is not a power of two.
        power = np.minimum(np.floor(x + 0.5), math.floor(math.log2(self.nodes)))
        size = np.floor(2 ** np.where(kind < self.serial + self.pow2, power, x) + 0.5)
        return np.where(kind < self.serial, 1, size).astype(np.int64)

    def _runs(self, rng: np.random.Generator, sizes: Ints) -> Ints:
        first = self.pb + self.pa * sizes

        def draw(rows: Ints) -> Floats:
            is_first = rng.random(len(rows)) < first[rows]
            return rng.gamma(np.where(is_first, self.a1, self.a2), np.where(is_first, self.b1, self.b2))

        return np.maximum(np.exp(_until(self.max_run, draw, self.jobs)), 1).astype(np.int64)

    def _submissions(self, rng: np.random.Generator) -> Ints:
        def draw(rows: Ints) -> Floats:
            return rng.gamma(self.arar * self.alpha, self.beta, len(rows))

        operational = np.cumsum(np.exp(_until(self.max_gap, draw, self.jobs)))
        days, rest = np.divmod(operational, DAY_S)
        weights = _half_hours(self.anum, self.bnum, self.day_start)
        ends = np.concatenate(([0.0], np.cumsum(weights / weights.mean()))) * HALF_HOUR_S
        times: Floats = days * DAY_S + np.interp(rest, ends, np.arange(HALF_HOURS + 1.0) * HALF_HOUR_S)
        return times.astype(np.int64)


KEYS = tuple(field.name for field in fields(LublinTrace))


def _until(most: float, draw: Callable[[Ints], Floats], count: int) -> Floats:
    """Return a value for each of so many rows: those above `most` are drawn again."""
    values = np.empty(count)
    rows = np.arange(count)
    while len(rows):
        values[rows] = draw(rows)
        rows = rows[values[rows] > most]
    return values


def _mass(shape: float, scale: float, upto: float | Floats) -> Any:
    """Return the probability of a gamma distribution up to a value, or to each of several."""
    try:
        from scipy.special import gammainc  # type: ignore[import-untyped]  # a tenth of a second that few need
    except ImportError:
        how = install_command(SIMULATOR)
        raise InputError(f"generated:{NAME}", None, f"needs the package scipy: {how}") from None

    return gammainc(shape, upto / scale)


def _half_hours(shape: float, scale: float, first: int) -> Floats:
    """Return the mass of a gamma distribution in each half hour of the day; it covers 48 of them from `first`."""
    ends = first - 0.5 + np.arange(HALF_HOURS + 1.0)
    mass: Floats = np.roll(np.diff(_mass(shape, scale, ends)), first - 1)
    return mass
