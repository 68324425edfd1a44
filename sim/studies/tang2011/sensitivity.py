"""Sensitivity beyond the paper: one setting at a time, at a medium load of Eureka (V-D), or in V-E."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

import numpy as np

from cosched.sim.studies.tang2011.setup import (
    HOLDING,
    MACHINES,
    RELEASE_MIN,
    SCHEMES,
    SHARES,
    WINDOW_S,
    YIELDING,
    Plan,
    Settings,
    everywhere,
)

DAY_S = 86_400
CUT_S = 3_600  # mean time for which the machines cannot reach each other
COOLING_DAYS = 10  # days after the last submission in which jobs still start

PARTITIONED = "partitioned:intrepid"


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One setting: its values (`points`), the paper's value (`default`), and a function that changes a replay.

    `own_base`: the setting also changes what happens without coscheduling. `splits_pairs`: mates may start apart.
    `labels` are the names of points. `share`: it is V-E with this share of paired jobs that is varied, else V-D.
    """

    name: str
    title: str
    axis: str
    points: tuple[float, ...]
    default: float
    schemes: tuple[str, ...]
    vary: Callable[[Settings, float], Settings]
    own_base: bool = False
    splits_pairs: bool = False
    labels: tuple[str, ...] = ()
    share: float | None = None

    def label(self, point: float) -> str:
        """Return the name of a point."""
        return self.labels[self.points.index(point)] if self.labels else f"{point:g}"

    def fewer(self) -> Sensitivity:
        """Return the same with only the least, the default and the greatest value."""
        keep = sorted({self.points[0], self.default, self.points[-1]}, key=self.points.index)
        return replace(self, points=tuple(keep), labels=tuple(self.label(point) for point in keep))


def sensitivities(plan: Plan) -> list[Sensitivity]:
    """Return all sensitivities; quick studies have fewer points, and partitions need a machine like Intrepid."""
    found = [*_of_policies(), *_of_workloads(), _unreachable(plan)]
    if plan.months.partitioned:
        found.append(_partitions())
    if plan.months.generated:
        found += _of_many()
    return [sensitivity.fewer() for sensitivity in found] if plan.quick else found


def _of_policies() -> Iterator[Sensitivity]:
    """Yield the enhancements of section IV-E."""
    minutes = (5, 10, RELEASE_MIN, 40, 60)
    yield Sensitivity(
        "release-interval",
        "Release interval",
        "release interval (min)",
        minutes,
        RELEASE_MIN,
        HOLDING,
        _release_interval,
    )
    cap = partial(_everywhere, "max_held_fraction")
    yield Sensitivity("held-cap", "Cap on held nodes", "share of the nodes", (0.1, 0.25, 0.5, 1), 1, HOLDING, cap)
    limit = partial(_everywhere, "max_yields")
    labels = ("none", "1", "3", "10", "30")
    yield Sensitivity(
        "yield-limit", "Yield limit", "yields before a hold", (0, 1, 3, 10, 30), 0, YIELDING, limit, labels=labels
    )
    boost = partial(_everywhere, "yield_boost")
    yield Sensitivity("yield-boost", "Yield boost", "boost at each yield", (0, 0.05, 0.2, 1), 0, YIELDING, boost)


def _of_workloads() -> Iterator[Sensitivity]:
    """Yield settings of the workload: which jobs are paired, and how well users know their run times."""
    windows = (0.5, 1, WINDOW_S / 60, 5, 10)
    yield Sensitivity("pair-window", "Pair window", "window (min)", windows, WINDOW_S / 60, SCHEMES, _pair_window)
    yield Sensitivity(
        "estimates",
        "Estimates of run times",
        "excess of the estimates, times that of the log",
        (0, 0.5, 1, 2, 4),
        1,
        SCHEMES,
        partial(_everywhere, "estimates"),
        own_base=True,
    )


def _unreachable(plan: Plan) -> Sensitivity:
    cut = partial(_cut_off, days=plan.days)
    shares = (0, 0.01, 0.05, 0.1, 0.2)
    labels = ("0", "1", "5", "10", "20")
    return Sensitivity(
        "unreachable",
        "Unreachable peers",
        "share of the time (%)",
        shares,
        0,
        SCHEMES,
        cut,
        splits_pairs=True,
        labels=labels,
    )


def _partitions() -> Sensitivity:
    return Sensitivity(
        "partitions",
        "Flat and partitioned Intrepid",
        "Intrepid's nodes",
        (0, 1),
        0,
        SCHEMES,
        _partitioned,
        own_base=True,
        labels=("flat", "partitioned"),
    )


def _of_many() -> Iterator[Sensitivity]:
    """Yield what the paper does not say of Eureka's month in V-E, at the greatest share of paired jobs."""
    properties = (
        ("sessions", "Bursts of Eureka's jobs", "jobs that a user submits in a row", (1, 1.5, 5, 20, 80), 1.5),
        ("swing", "Daily cycle of Eureka's jobs", "swing around the mean rate", (0, 0.4, 0.7, 1), 0.4),
        ("large", "Large jobs of Eureka", "share on 50 nodes or more", (0.0008, 0.01, 0.04, 0.1), 0.0008),
        ("spread", "Spread of Eureka's run times", "times the usual sigma", (0.5, 0.75, 1, 1.25), 1),
    )
    for key, title, axis, points, usual in properties:
        vary = partial(_eureka_varied, key)
        yield Sensitivity(f"eureka-{key}", title, axis, points, usual, SCHEMES, vary, own_base=True, share=SHARES[-1])


def _eureka_varied(key: str, settings: Settings, value: float) -> Settings:
    intrepid, eureka = settings["domains"]
    return {**settings, "domains": [intrepid, {**eureka, "trace": f"{eureka['trace']}/{key}={value:g}"}]}


def _everywhere(key: str, settings: Settings, value: float) -> Settings:
    return everywhere(settings, key, value)


def _release_interval(settings: Settings, minutes: float) -> Settings:
    return everywhere(settings, "release_interval", f"{minutes:g}m")


def _pair_window(settings: Settings, minutes: float) -> Settings:
    return {**settings, "pair_window": round(60 * minutes)}


def _partitioned(settings: Settings, _: float) -> Settings:
    intrepid, eureka = settings["domains"]
    return {**settings, "domains": [{**intrepid, "node_pool": PARTITIONED}, eureka]}


def _cut_off(settings: Settings, share: float, days: float) -> Settings:
    lines = ["# times in which the machines do not reach each other\n", *_cuts(settings["seed"], share, days)]
    return {**settings, "script": "".join(lines)}


def _cuts(seed: int, share: float, days: float) -> Iterator[str]:
    """Yield the lines of a script that cuts the link for exponential times of mean `CUT_S`, a `share` of all time."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, crc32(b"unreachable")])))
    up_s = CUT_S * (1 - share) / share
    time, end = rng.exponential(up_s), (days + COOLING_DAYS) * DAY_S
    while time < end:
        down = max(1, round(rng.exponential(CUT_S)))
        yield f"{round(time)} cut {' '.join(MACHINES)} {down}\n"
        time += down + max(1.0, rng.exponential(up_s))
