"""Sensitivity beyond the paper: one setting at a time (sensitivities.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from cosched_papers.studies.tang2011 import setup

DAY_S = 86_400
CUT_S = 3_600  # mean time for which the machines cannot reach each other
COOLING_DAYS = 10  # days after the last submission in which jobs still start


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One setting: its values (`points`), and the usual one; see sensitivities.toml.

    `splits_pairs`: mates may start apart. `labels` are the names of points. `riddle`: it looks for what decides how
    long Eureka's jobs wait in V-D. `needs`: what the months must be.
    """

    name: str
    title: str
    axis: str
    points: tuple[float, ...]
    usual: float
    key: str
    schemes: tuple[str, ...] = setup.SCHEMES
    of: str = ""
    own_base: bool = False
    splits_pairs: bool = False
    labels: tuple[str, ...] = ()
    share: float | None = None
    riddle: bool = False
    needs: str = ""

    def label(self, point: float) -> str:
        """Return the name of a point."""
        return self.labels[self.points.index(point)] if self.labels else f"{point:g}"

    def fewer(self) -> Sensitivity:
        """Return the same with only the least, the usual and the greatest value."""
        keep = sorted({self.points[0], self.usual, self.points[-1]}, key=self.points.index)
        return replace(self, points=tuple(keep), labels=tuple(self.label(point) for point in keep))

    def vary(self, settings: setup.Settings, point: float, days: float) -> setup.Settings:
        """Return a replay with this value, in a month of so many days."""
        if self.of == setup.MACHINES[1]:
            return _of_eureka(settings, self.key, f"{point:g}")
        change = VARY.get(self.key)
        return setup.everywhere(settings, self.key, point) if change is None else change(settings, point, days)


def sensitivities(plan: setup.Plan) -> list[Sensitivity]:
    """Return all sensitivities; quick studies have fewer points, and some need a machine or months of one kind."""
    rows = tomllib.loads(Path(__file__).with_name("sensitivities.toml").read_text())["sensitivity"]
    frozen: list[dict[str, Any]] = [
        {key: tuple(of) if isinstance(of, list) else of for key, of in row.items()} for row in rows
    ]
    found = [Sensitivity(**row) for row in frozen if "needs" not in row or getattr(plan.months, row["needs"])]
    return [sensitivity.fewer() for sensitivity in found] if plan.quick else found


def _of_eureka(settings: setup.Settings, key: str, value: str) -> setup.Settings:
    """Change the generated month of Eureka."""
    intrepid, eureka = settings["domains"]
    return {**settings, "domains": [intrepid, {**eureka, "trace": f"{eureka['trace']}/{key}={value}"}]}


def _paired(settings: setup.Settings, share: float, _: float) -> setup.Settings:
    """Draw the pairs, so that they are a share of Eureka's jobs; the setting counts those of Intrepid."""
    others = {key: value for key, value in settings.items() if key != "pair_window"}
    return {**others, "pair_fraction": f"{share * setup.EUREKA_JOBS / setup.MONTH_JOBS:.6g}"}


def _partitioned(settings: setup.Settings, _: float, __: float) -> setup.Settings:
    intrepid, eureka = settings["domains"]
    return {**settings, "domains": [{**intrepid, "node_pool": "partitioned:intrepid"}, eureka]}


def _cut_off(settings: setup.Settings, share: float, days: float) -> setup.Settings:
    lines = ["# times in which the machines do not reach each other\n", *_cuts(settings["seed"], share, days)]
    return {**settings, "script": "".join(lines)}


def _cuts(seed: int, share: float, days: float) -> Iterator[str]:
    """Yield the lines of a script that cuts the link for exponential times of mean `CUT_S`, a `share` of all time."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, crc32(b"unreachable")])))
    up_s = CUT_S * (1 - share) / share
    time, end = rng.exponential(up_s), (days + COOLING_DAYS) * DAY_S
    while time < end:
        down = max(1, round(rng.exponential(CUT_S)))
        yield f"{round(time)} cut {' '.join(setup.MACHINES)} {down}\n"
        time += down + max(1.0, rng.exponential(up_s))


VARY: Mapping[str, Callable[[setup.Settings, float, float], setup.Settings]] = {
    "release_interval": lambda settings, minutes, _: setup.everywhere(settings, "release_interval", f"{minutes:g}m"),
    "pair_window": lambda settings, minutes, _: {**settings, "pair_window": round(60 * minutes)},
    "unreachable": _cut_off,
    "partitions": _partitioned,
    "jobs": lambda settings, jobs, days: _of_eureka(settings, "jobs", f"{jobs * days / setup.MONTH_DAYS:.0f}"),
    "paired": _paired,
}
