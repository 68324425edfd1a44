"""The machines, the schemes, and what varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cosched.sim.studies.tang2011.setup import BASE, Settings

LARGE, SMALL = ("intrepid", "mira"), ("eureka", "surveyor", "tukey")
CLASSES: Mapping[str, tuple[str, ...]] = {"large": LARGE, "small": SMALL}
SCHEMES = ("HH", "HY", "YH", "YY", "MM")
WORDS = {"H": "hold", "Y": "yield", "M": "meet"}
IN_PAIRS = " in pairs"  # of a place's schemes: the same jobs in pairs instead of groups

MEDIUM_LOAD, MEDIUM_SHARE, ANY_SIZE = 0.5, 0.1, "2-5"
BY_SIZE, BY_LOAD, BY_SHARE = "size", "load", "share"
SEEDS_APART = 1000  # of the machines of one replication

# As in section V of Tang et al. (2011), but with the release timer's jitter.
COMMON: Mapping[str, Any] = {
    "policy": "wfp",
    "backfill": "easy",
    "release_interval": "20m",
    "max_held_fraction": 1,
}
SETUP = (
    "Five machines: Intrepid and Mira are like Intrepid (the large ones), Eureka, Surveyor and Tukey like Eureka (the "
    "small ones). WFP and EASY backfilling, holds of at most 20 to 25 minutes, and the whole machine may be held. "
    "Groups are drawn at random: a job takes the jobs of other machines that were submitted nearest to it. All "
    "combinations see the same jobs in a replication."
)
MEANING = (
    "A letter for the large machines and one for the small ones: H holds, Y yields, M meets (with slots); "
    '"none": no coscheduling. "In pairs": two members of each group at a time are a pair, and the last of an odd '
    "number is a job like others."
)


@dataclass(frozen=True)
class Experiment:
    """One setting that varies, with its values."""

    name: str
    title: str
    axis: str
    points: tuple[float, ...]

    def settings(self, point: float, seed: int, days: float) -> Settings:
        """Return a replay without its schemes."""
        load = point if self.name == BY_LOAD else MEDIUM_LOAD
        return {
            "domains": [*_machines(LARGE, "intrepid", None, seed, days), *_machines(SMALL, "eureka", load, seed, days)],
            "pair_fraction": str(point if self.name == BY_SHARE else MEDIUM_SHARE),
            "group_size": f"{point:g}" if self.name == BY_SIZE else ANY_SIZE,
            "seed": seed,
        }

    def label(self, point: float) -> str:
        """Return what a point is called."""
        return f"{100 * point:g} %" if self.name == BY_SHARE else f"{point:g}"

    def has_groups(self, point: float) -> bool:
        """Whether groups there are larger than pairs."""
        return self.name != BY_SIZE or point > 2


EXPERIMENTS = (
    Experiment(BY_SIZE, "By the number of members", "members", (2, 3, 4, 5)),
    Experiment(BY_LOAD, "By the load of the small machines", "load", (0.25, 0.5, 0.75)),
    Experiment(BY_SHARE, "By the share of all jobs that are in groups", "share", (0.025, 0.05, 0.2)),
)


def _machines(names: tuple[str, ...], model: str, load: float | None, seed: int, days: float) -> list[Settings]:
    first = 0 if names == LARGE else len(LARGE)
    drawn = f"generated:{model}/days={days:g}" + ("" if load is None else f"/utilisation={load:g}")
    return [
        {"name": name, **COMMON, "trace": f"{drawn}/seed={SEEDS_APART * number + seed}"}
        for number, name in enumerate(names, first)
    ]


def under(settings: Settings, schemes: str) -> Settings:
    """Return a replay's settings with the schemes of its machines."""
    large, small = ("off", "off") if schemes == BASE else (WORDS[letter] for letter in schemes)
    domains = [{**of, "scheme": large if of["name"] in LARGE else small} for of in settings["domains"]]
    return {**settings, "domains": domains}
