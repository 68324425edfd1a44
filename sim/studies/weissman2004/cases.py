"""The cases of the study: each a trace under all policies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from cosched.sim.studies.tang2011.cases import LABELS
from cosched.sim.studies.weissman2004.setup import (
    APPLICATIONS,
    BETAS,
    IDEAL,
    LINEAR,
    LOAD,
    LOADS,
    MODELS,
    OTHER_LOADS,
    READINGS,
    SDSC,
    SHARES,
    Plan,
    Settings,
    domain,
    fluid,
    percent,
)
from cosched.sim.sweeps.case import Case, Label, Row

POLICIES_ALL, POLICIES_FINAL, IDEAL_SIZES, OTHER_READINGS = ("policies", "final", "ideal", "readings")  # what is run


@dataclass(frozen=True)
class FluidCase(Case):
    """A case with the study's own measures; `runs` says what is run."""

    runs: str = POLICIES_ALL

    @cached_property
    def key(self) -> str:
        """A hash of the replay, as that of any case, and of what is run."""
        return hashlib.sha256(json.dumps((super().key, self.runs)).encode()).hexdigest()[:16]

    def measures(self) -> Row:
        """Run it."""
        from cosched.sim.studies.weissman2004 import measuring, readings

        trace = str(self.settings["domains"][0]["trace"])
        if self.runs == IDEAL_SIZES:
            return measuring.on_ideal(trace)
        jobs, nodes = measuring.jobs_of(self.settings)
        if self.runs == OTHER_READINGS:
            return readings.by_readings(jobs, nodes)
        if self.runs == POLICIES_FINAL:
            return measuring.final(jobs, nodes)
        return measuring.policies(jobs, nodes)


def cases(plan: Plan) -> list[Case]:
    """Return every case, one trace after another."""
    found: list[Case] = []
    for replication in range(1, plan.traces + 1):
        found += _system(plan, replication)
        found += _loads(plan, replication)
        found += _users(plan, replication)
        if replication <= plan.read_differently:
            found += _readings(plan, replication)
    return found


def _case(experiment: str, point: float, place: str, replication: int, settings: Settings, runs: str) -> Case:
    labels: dict[str, Label] = dict(zip(LABELS, (experiment, float(point), place, replication), strict=True))
    return FluidCase(settings, labels, runs)


def _system(plan: Plan, replication: int) -> Iterator[Case]:
    """Yield figures 9 to 13 and table 2: the point is min_%_of_ideal."""
    trace = plan.sp2(SDSC, LOAD, replication)
    for model in MODELS:
        for share in SHARES:
            yield _case(model, share, "", replication, fluid(trace, share, model), POLICIES_ALL)


def _loads(plan: Plan, replication: int) -> Iterator[Case]:
    """Yield figure 14 at several loads, and for the logs: the point is the load."""
    points = [(SDSC, load) for load in (LOAD, *OTHER_LOADS)]
    for source, load in points + [(log, LOAD) for log in plan.logs]:
        trace = plan.sp2(source, load, replication)
        name = source if source == SDSC else f"log {plan.logs.index(source) + 1}"
        yield _case(LOADS, load, f"{name}, {IDEAL}", replication, domain(trace), IDEAL_SIZES)
        for share in SHARES:
            place = f"{name}, {percent(share)}"
            yield _case(LOADS, load, place, replication, fluid(trace, share), POLICIES_FINAL)


def _users(plan: Plan, replication: int) -> Iterator[Case]:
    """Yield figures 15 and 16 and table 3: the point is beta."""
    for application in APPLICATIONS:
        for beta in BETAS:
            trace = plan.application(application, beta, replication)
            yield _case(application, beta, IDEAL, replication, domain(trace), IDEAL_SIZES)
            for share in SHARES:
                yield _case(application, beta, percent(share), replication, fluid(trace, share), POLICIES_FINAL)


def _readings(plan: Plan, replication: int) -> Iterator[Case]:
    """Yield other readings of the paper; the point is min_%_of_ideal."""
    trace = plan.sp2(SDSC, LOAD, replication).replace(f"jobs={plan.jobs}", f"jobs={min(plan.jobs, 2000)}")
    for share in SHARES:
        yield _case(READINGS, share, "", replication, fluid(trace, share, LINEAR), OTHER_READINGS)
