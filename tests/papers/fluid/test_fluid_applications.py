"""The generated applications of Weissman et al. (2004), 4.1, and table 3 with them."""

import re
from fractions import Fraction
from statistics import mean

import numpy as np
import pytest

from cosched_papers.fluid.machine import FluidJobs, FluidTrace
from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting
from cosched_sim.workload.applications import APPLICATIONS, PROCESSORS, ApplicationTrace
from cosched_sim.workload.columns import least_nodes
from cosched_sim.workload.generated import parse_generated
from cosched_sim.workload.jobs import UNKNOWN

LOW_IMPACT = FluidSettings(PROCESSORS, Harvesting.LOW_IMPACT, Distribution.FAVOR_RUNNING)
MOLDABLE = FluidSettings(PROCESSORS, resizes=False)


def jobs_an_hour(settings: FluidSettings, share: str, beta: str) -> float:
    """The mean over ten traces of 300 jobs."""
    found = []
    for seed in range(10):
        log = ApplicationTrace("gauss", beta=Fraction(beta), ge_p4=21_265).log(seed)
        more = log.columns
        least = least_nodes(log.allocated, np.full(len(log), UNKNOWN), Fraction(share))
        how = more["model"] == 1, more["resize_s"], more["resize_bytes"]
        trace = FluidTrace(settings, FluidJobs(log.submit, least, log.allocated, log.run, log.run, *how))
        trace.run()
        found.append(3600 * len(log) / int(trace.state.jobs["end"].max()))
    return mean(found)


@pytest.mark.parametrize(
    ("settings", "share", "beta", "paper"),
    [
        (MOLDABLE, "1", "0.25", 1.78),  # IDEAL-ONLY
        (LOW_IMPACT, "0.5", "0.25", 3.16),
        (LOW_IMPACT, "0.3", "0.25", 3.73),
        (LOW_IMPACT, "0.1", "0.25", 4.04),
        (LOW_IMPACT, "0.5", "1", 2.94),
        (LOW_IMPACT, "0.1", "1", 2.99),
        (MOLDABLE, "0.5", "0.25", 2.45),
        (MOLDABLE, "0.5", "1", 2.40),
    ],
)
def test_table_3(settings, share, beta, paper):
    """Table 3: "GE Throughput (jobs/hr)"; ours is within 4 %."""
    assert jobs_an_hour(settings, share, beta) == pytest.approx(paper, rel=0.04)


def test_moldable_suffers_when_the_least_size_is_too_small():
    """4.4: "when min_%_of_ideal becomes too small (10%), moldable suffers because it has no way to replenish running
    jobs with resources".
    """
    assert jobs_an_hour(MOLDABLE, "0.1", "0.25") < jobs_an_hour(MOLDABLE, "0.3", "0.25")


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_instance_has_as_many_jobs(name):
    """4.1: "Each problem instance was generated with equal likelihood"."""
    log = ApplicationTrace(name).log(seed=3)
    pairs, counts = np.unique(np.stack([log.allocated, log.run]), axis=1, return_counts=True)
    assert len(pairs.T) == len(APPLICATIONS[name])
    assert set(counts.tolist()) == {300 // len(APPLICATIONS[name])}
    assert log.submit[0] == 0
    assert set(np.diff(log.submit, 2).tolist()) <= {-1, 0, 1}
    again, other = ApplicationTrace(name, seed=3).log(seed=4), ApplicationTrace(name).log(seed=4)
    assert (again.run == log.run).all()
    assert (other.run != log.run).any()


def test_the_settings_of_a_trace():
    assert parse_generated("generated:gauss/jobs=8/beta=0.25/ge_p4=3857/seed=2") == ApplicationTrace(
        "gauss", 8, Fraction(1, 4), 3857, 2
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("generated:gauss/days=3", "generated:APPLICATION/jobs=N/beta=B/ge_p4=S/seed=S expected, not 'days=3'"),
        ("generated:gauss/beta=1/0", "expected, not '0'"),
        ("generated:gauss/jobs=0", "jobs: 0 is not between 1 and 1000000"),
        ("generated:gaus", "no machine is called 'gaus'; there are"),
    ],
)
def test_mistakes_in_a_trace(text, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_generated(text)
