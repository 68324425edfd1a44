"""The schedulers, workloads and experiments of section 5, and beyond."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cosched_sim.studies.design import Experiment
from cosched_sim.studies.study import Said

Settings = dict[str, Any]

NODES = 128
QUICK_JOBS, JOBS = 2000, 10_000

TRADITIONAL, CIRNE_BERMAN, NO_PREDICTION, SCOJO_P, SCOJO = OF_PAPER = (
    "traditional", "Cirne-Berman", "SCOJO-P without prediction", "SCOJO-P", "SCOJO",
)  # fmt: skip
SMALLEST = "all at N_min"
AT_MOST, AT_LEAST = f"{CIRNE_BERMAN}, at most N_opt", f"{CIRNE_BERMAN}, at least N_opt"
NO_BACKFILLING, CONSERVATIVE = f"{TRADITIONAL}, no backfilling", f"{TRADITIONAL}, conservative"
NEVER_LARGER = f"{NO_PREDICTION}, at most N_opt"
FROM_PAST = f"{SCOJO_P}, prediction from the past"
ALL = (*OF_PAPER, SMALLEST)

# Of the batch scheduler: the order of molding.md. Short jobs come first; who has waited long moves up, once.
MEDIUM, LONG, AGED = (f"min(1,max(0,{of}))" for of in ("requested-59", "requested-3599", "wait-5*requested+1"))
CLASSES = f"-({MEDIUM}*(1-{AGED})+{LONG})"

RULES: Mapping[str, Settings] = {
    TRADITIONAL: {"sizing": "none"},
    CIRNE_BERMAN: {"sizing": "cirne_berman"},
    NO_PREDICTION: {},
    SCOJO_P: {"prediction": "trained"},
    SCOJO: {"sizing": "scojo"},
    SMALLEST: {"sizing": "scojo", "sizes": "0.5..0.5"},
    AT_MOST: {"sizing": "cirne_berman", "sizes": "0.5..1"},
    AT_LEAST: {"sizing": "cirne_berman", "sizes": "1..2"},
    NO_BACKFILLING: {"scheduler": "batch", "policy": CLASSES, "backfill": "none"},
    CONSERVATIVE: {"scheduler": "batch", "policy": CLASSES, "backfill": "conservative"},
    NEVER_LARGER: {"sizes": "0.5..1"},
    FROM_PAST: {"prediction": "past"},
}

ALPHA_1, ALPHA_2, BETWEEN = 10.23, 9.83, 10.03
W1, W2, LOAD, SHARE, LIMITS, IDEAL, DOWNEY, LOGS = ("W1", "W2", "load", "share", "limits", "ideal", "Downey", "log")
SHARES, IDEALS = (0.8, 0.5), (0.7, 0.8, 0.9, 1.0, 1.2)
HIGH_SHARE = SHARES[0]
BESIDE = (TRADITIONAL, CIRNE_BERMAN, SCOJO_P)
OF_LIMITS = (AT_MOST, AT_LEAST, NEVER_LARGER, NO_BACKFILLING, CONSERVATIVE)
OF_CURVE = OF_PAPER[:4]
OF_LOGS = (TRADITIONAL, CIRNE_BERMAN, NO_PREDICTION, FROM_PAST, NEVER_LARGER, SCOJO, SMALLEST)

POINTS = {W1: ALPHA_1, W2: ALPHA_2, LOAD: BETWEEN, LIMITS: ALPHA_1, DOWNEY: ALPHA_1}


def experiments(said: Said, _: Path) -> list[Experiment]:
    """Return all experiments."""
    draw = partial(_drawn, said)

    def basic(alpha: float, schemes: str, replication: int) -> Settings:
        return draw(alpha, replication, **RULES[schemes])

    def shared(share: float, schemes: str, replication: int) -> Settings:
        return draw(ALPHA_1, replication, f"/moldable={share:g}", **RULES[schemes])

    def ideal(load: float, _: str, replication: int) -> Settings:
        return draw(ALPHA_1, replication, ideal_load=f"{load:g}")

    def by_curve(_: float, schemes: str, replication: int) -> Settings:
        return draw(ALPHA_1, replication, speedup="downey", **RULES[schemes])

    of = partial(Experiment, replications=said["further"])
    first = of(W1, "W1: every job moldable", "alpha", (ALPHA_1,), ALL, basic)
    return [
        replace(first, replications=said["replications"]),
        of(W2, "W2: every job moldable, a higher load", "alpha", (ALPHA_2,), ALL, basic),
        of(SHARE, "W1: a share of the jobs moldable", "moldable", SHARES, OF_PAPER[1:], shared),
        of(LIMITS, "W1: other bounds and backfilling", "alpha", (ALPHA_1,), OF_LIMITS, basic),
        of(LOAD, "A load between W1 and W2", "alpha", (BETWEEN,), BESIDE, basic),
        of(IDEAL, "W1: the ideal load", "ideal_load", IDEALS, (NO_PREDICTION,), ideal),
        of(DOWNEY, "W1: Downey's curve", "alpha", (ALPHA_1,), OF_CURVE, by_curve),
        *_of_logs(said),
    ]


def _of_logs(said: Said) -> Iterator[Experiment]:
    for number, log in enumerate(said["windows"], 1):

        def settings(_: float, schemes: str, window: int, log: Mapping[str, Any] = log) -> Settings:
            return _domain(log["files"][window - 1], window, said, nodes=log["nodes"], **RULES[schemes])

        name, count = log["name"], len(log["files"])
        yield Experiment(f"{LOGS} {number}", name, "log", (number,), OF_LOGS, settings, (name,), replications=count)


def trace_of(jobs: int, alpha: float) -> str:
    """Return so many jobs of the model, as a trace."""
    return f"generated:lublin/jobs={jobs}/nodes={NODES}/alpha={alpha:g}"


def _drawn(said: Said, alpha: float, replication: int, more: str = "", **rules: Any) -> Settings:
    return _domain(trace_of(said["jobs"], alpha) + more, replication, said, **rules)


def _domain(trace: str, replication: int, said: Said, **settings: Any) -> Settings:
    domain = {"name": "machine", "trace": trace, "scheduler": "molding", **settings}
    return {"domains": [domain], "seed": said["seed"] + replication - 1}
