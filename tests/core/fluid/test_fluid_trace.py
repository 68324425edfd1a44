"""The compiled fluid scheduler agrees with the slow model (tests/reference/fluid.py), job for job and size for size."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from cosched.core.scheduling.fluid.machine import FluidJobs, FluidTrace
from cosched.core.scheduling.fluid.settings import Distribution, FluidSettings, Harvesting
from cosched.core.scheduling.primitives.codes import NONE
from tests.reference.fluid import HARVESTING, Job, Machine, Rules
from tests.reference.fluid_workloads import random_case
from tests.tiers import seeds


def columns(jobs: list[Job]) -> FluidJobs:
    whole = ("submit", "least", "ideal", "run", "fixed", "data")
    values = {name: np.array([getattr(job, name) for job in jobs], np.int64) for name in whole}
    parabolic = np.array([job.parabolic for job in jobs], bool)
    return FluidJobs(**values, requested=values["run"], parabolic=parabolic)


def settings(nodes: int, rules: Rules) -> FluidSettings:
    assert rules.baseline in (None, "moldable")
    return FluidSettings(
        nodes,
        Harvesting[rules.harvesting.upper()],
        Distribution.FAVOR_RUNNING if rules.favor_running else Distribution.FAVOR_QUEUED,
        whole(rules.level),
        rules.baseline is None,
        whole(rules.max_harvests),
        rules.protect_age,
        rules.benefit,
    )


def whole(number: float) -> int | None:
    return None if number == float("inf") else int(number)


@pytest.mark.parametrize("seed", seeds(12, 2000))
@pytest.mark.parametrize("policy", [*HARVESTING, "moldable"])
def test_agrees_with_the_slow_model(seed, policy):
    nodes, jobs, rules = random_case(seed, policy)
    trace = FluidTrace(settings(nodes, rules), columns(jobs))
    told = trace.run()
    machine = Machine(nodes, jobs, rules).simulate()
    sizes = defaultdict(list)
    before = defaultdict(int)
    for row, at, procs, gave_to in np.column_stack([told.row, told.at, told.procs, told.gave_to]).tolist():
        assert (gave_to != NONE) == (procs < before[row])
        assert gave_to == NONE or jobs[gave_to].start == at
        before[row] = procs
        sizes[row].append((at, procs))
    for row, job in enumerate(jobs):
        found = trace.state.jobs[row]
        assert sizes[row] == job.sizes
        assert (found["start"], found["end"], found["harvests"]) == (job.start, job.ended, job.harvests)
    record = trace.state.machine[0]
    assert (record["tried"], record["had"]) == (machine.tried, machine.had)
