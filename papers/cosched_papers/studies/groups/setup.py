"""The machines, the schemes, and what varies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cosched_papers.studies.tang2011.setup import BASE, Settings

LARGE, SMALL = ("intrepid", "mira"), ("eureka", "surveyor", "tukey")
CLASSES: Mapping[str, tuple[str, ...]] = {"large": LARGE, "small": SMALL}
SCHEMES = ("HH", "HY", "YH", "YY", "MM")
WORDS = {"H": "hold", "Y": "yield", "M": "meet"}
IN_PAIRS = " in pairs"  # of a place's schemes: the same jobs in pairs instead of groups

MEDIUM_LOAD, MEDIUM_SHARE, ANY_SIZE = 0.5, 0.1, "2-5"
BY_SIZE, BY_LOAD, BY_SHARE = "size", "load", "share"
SEEDS_APART = 1000  # of the machines of one replication

# As in section V of Tang et al. (2011), but with the release timer's jitter.
COMMON: Mapping[str, Any] = {"policy": "wfp", "backfill": "easy", "release_interval": "20m", "max_held_fraction": 1}


def settings(name: str, point: float, seed: int, days: float) -> Settings:
    """Return a replay of an experiment without its schemes."""
    load = point if name == BY_LOAD else MEDIUM_LOAD
    return {
        "domains": [*_machines(LARGE, "intrepid", None, seed, days), *_machines(SMALL, "eureka", load, seed, days)],
        "pair_fraction": str(point if name == BY_SHARE else MEDIUM_SHARE),
        "group_size": f"{point:g}" if name == BY_SIZE else ANY_SIZE,
        "seed": seed,
    }


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
