"""What varies: applications, testbeds and problem sizes (IV.A), and what is assumed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from cosched_papers.studies.dail2002.measuring import STRATEGIES
from cosched_papers.studies.dail2002.testbed import REDRAWN, SPREAD, UTKS
from cosched_sim.studies.design import Experiment
from cosched_sim.studies.study import Said

SIZES = {1: (600, 1200, 2400, 4800, 7200, 9600), 3: (600, 4800, 9600, 14_400, 16_800, 19_200)}
CASE_STUDY = 16_800
LIFE_1, LIFE_3, JACOBI_1, JACOBI_3 = TESTED = ("life 1", "life 3", "jacobi 1", "jacobi 3")
TITLES = dict(zip(TESTED, (
    "Game of Life, one site", "Game of Life, three sites", "Jacobi, one site", "Jacobi, three sites"
), strict=True))  # fmt: skip
ASSUMED = {"cycles": 40.0, "utk": UTKS, "spread": SPREAD, "redrawn": REDRAWN}
LINKS = "utk"
OTHERWISE = {
    LINKS: ("Jacobi, N = 16,800, by the bandwidth of UTK's links", "Mb/s", (0.2, 0.4, 0.8, 2.5)),
    "cycles": ("Jacobi, three sites, sizes in turn, by the cycles of an element", "cycles", (31.0, 46.0)),
    "spread": ("Jacobi, three sites, sizes in turn, by how links vary", "spread", (0.2, 0.8)),
    "redrawn": ("Jacobi, three sites, sizes in turn, by what changes before the run", "redrawn", (0.0, 0.5)),
}


def sizes_of(name: str) -> tuple[int, ...]:
    """Return the problem sizes of what was tested."""
    return SIZES[int(name.split()[1])]


def experiments(said: Said, _: Path) -> list[Experiment]:
    """Return the paper's experiments, and those by what is assumed."""
    of, found = partial(Experiment, schemes=STRATEGIES, replications=said["replications"]), []
    for name in TESTED:
        settings, sizes = partial(_settings, said, name), sizes_of(name)
        labels = tuple(f"{size:,}" for size in sizes)
        found.append(of(name, TITLES[name], "N", tuple(map(float, sizes)), settings=settings, labels=labels))
    for key, (title, axis, points) in OTHERWISE.items():
        found.append(of(key, title, axis, points, settings=partial(_other, said, key)))
    return found


def _other(said: Said, key: str, value: float, strategy: str, replication: int) -> dict[str, Any]:
    sizes = SIZES[3]
    size = CASE_STUDY if key == LINKS else sizes[(replication - 1) % len(sizes)]
    return {**_settings(said, JACOBI_3, size, strategy, replication), key: value}


def _settings(said: Said, name: str, size: float, strategy: str, replication: int) -> dict[str, Any]:
    application, sites = name.split()
    more = {"application": application, "sites": int(sites), "size": int(size), "strategy": strategy}
    return {**ASSUMED, **more, "seed": said["seed"] + replication - 1}
