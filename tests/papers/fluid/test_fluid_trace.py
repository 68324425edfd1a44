"""The compiled fluid scheduler agrees with the slow model (tests/reference/fluid.py), job for job and size for size."""

import math
from collections import defaultdict
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from cosched.core.allocation import Table
from cosched.core.scheduling.primitives.codes import NONE
from cosched_papers.fluid.kernels.speeds import parabolic
from cosched_papers.fluid.machine import FluidJobs, FluidTrace
from cosched_papers.fluid.models import told
from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting
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


@pytest.mark.parametrize("ideal", [1, 2, 3, 1000, (1 << 20) - 1, 1 << 20])
def test_speeds_of_a_parabolic_job_are_exact(ideal):
    """ "speed(P) = 2^38 x 2 ideal P / (ideal^2 + P^2), rounded up"."""
    for procs in {1, 2, 3, ideal // 3, ideal - 1, ideal, *Random(ideal).choices(range(1, ideal + 1), k=300)} - {0}:
        assert parabolic(ideal, procs) == math.ceil(Fraction(2**38 * 2 * ideal * procs, ideal**2 + procs**2))


def test_speeds_by_a_table_are_exact():
    """ "speed(P) = 2^38 x the least T / T(P), rounded up"; times are up to 10^9 s in nanoseconds."""
    random = Random(1)
    for longest in (3, 1 << 20, 10**18, (1 << 60) - 1):
        times = [random.randint(max(1, longest >> 20), longest) for _ in range(300)]
        speeds = told([Table(tuple(times), (0,) * 300)]).speeds.tolist()
        assert speeds == [math.ceil(Fraction(2**38 * min(times), time)) for time in times]
