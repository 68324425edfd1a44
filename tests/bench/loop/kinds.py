"""The kinds of schedulers that are measured: their machines, and what their jobs say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.services import toml

RUNNING, WIDE = 1000, 2000  # jobs that run, and nodes where jobs have two each in the mean
CLASSES = 10
EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
ENTRY_POINTS = """[cosched.adapters]
played = tests.bench.loop.launcher:create
[cosched.schedulers]
express = example_scheduler:EXPRESS
"""
Says = Mapping[str, str]  # columns
NOTHING: Says = {}


@dataclass(frozen=True)
class Kind:
    """`settings`: of [manager], given the service's folder. `says`: the size and the columns of a job of a number."""

    settings: Callable[[Path], Mapping[str, Any]]
    says: Callable[[int], tuple[int, Says]] = lambda number: (1 + number % 3, NOTHING)
    keeps: tuple[str, ...] = ()  # what the scheduler has kept of each job that waits: its size


def _played(nodes: int, **settings: Any) -> Callable[[Path], Mapping[str, Any]]:
    return lambda _: {"kind": "played", "nodes": nodes, **settings}


def _site(*, preemptive: bool) -> Callable[[Path], Mapping[str, Any]]:
    """As many machines as jobs run, of two classes, and a cluster of each ten of a class."""

    def write(folder: Path) -> Mapping[str, Any]:
        machines = [f"slot{number}" for number in range(RUNNING)]
        halves = {"fast": machines[: RUNNING // 2], "slow": machines[RUNNING // 2 :]}
        tables = [{"class": name, "names": names} for name, names in halves.items()]
        clusters = [{"name": f"c{n}", "members": machines[n : n + 10]} for n in range(0, RUNNING // 2, 100)]
        known = f"preemptive = {str(preemptive).lower()}\n"
        (folder / "site.toml").write_text(known + toml({"machines": tables, "clusters": clusters}))
        seconds = {"fast": 6000, "slow": 9000}
        rows = [f"c{c},{m},{seconds[h] + 60 * c}" for c in range(CLASSES) for h, names in halves.items() for m in names]
        rows += [f"c{c},{cluster['name']},{900 + 10 * c}" for c in range(0, CLASSES, 5) for cluster in clusters]
        (folder / "times.csv").write_text("\n".join(["job_class,resource,seconds", *rows, ""]))
        files = {"site": str(folder / "site.toml"), "times": str(folder / "times.csv")}
        return {"kind": "played", "nodes": RUNNING, "scheduler": "heterogeneous", **files}

    return write


def _classed(number: int) -> tuple[int, Says]:
    return 1, {"job_class": f"c{number % CLASSES}", "priority": "high" if number % 20 == 0 else "low"}


def _malleable(number: int) -> tuple[int, Says]:
    return 1 + number % 3, {"least": "1", "model": ("linear", "parabolic")[number // 2 % 2]} if number % 2 else NOTHING


def _moldable(number: int) -> tuple[int, Says]:
    return 1 + number % 3, {"moldable": "1"} if number % 2 else NOTHING


KINDS = {
    "batch, EASY": Kind(_played(WIDE, policy="wfp")),
    "batch, conservative": Kind(_played(WIDE, policy="fcfs", backfill="conservative")),
    "fluid": Kind(_played(RUNNING, scheduler="fluid"), _malleable),
    **{
        f"molding, {sizing}": Kind(_played(WIDE, scheduler="molding", sizing=sizing), _moldable, keeps)
        for sizing, keeps in (("scojo_p", ()), ("scojo", ()), ("cirne_berman", ("chosen",)), ("none", ()))
    },
    "heterogeneous": Kind(_site(preemptive=False), _classed),
    "heterogeneous, preemptive": Kind(_site(preemptive=True), _classed),
    "plain (express)": Kind(_played(WIDE, scheduler="express")),
}
