"""The slow model of fluid scheduling: the cases that were worked out by hand, and what must always hold."""

import math
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest

from tests.reference.fluid import HARVESTING, Job, Machine, Rules
from tests.reference.fluid_workloads import random_case, tell
from tests.tiers import seeds


def ends(nodes, jobs, *, cost=0, **rules):
    machine = Machine(nodes, [Job(*job, fixed=cost) for job in jobs], Rules(**rules)).simulate()
    return [job.ended for job in machine.jobs]


FIGURE_3B = [(0, 2, 4, 100), (0, 2, 4, 100), (10, 4, 4, 30), (12, 4, 4, 30)]


def test_figure_3b():
    """Figure 3(b): "Under Even-H, 2 resources are harvested from J1 and J2 allowing J3 to run. After this, J4 also
    arrives with a min of 4 but must be queued as it is not possible to harvest 4 resources without suspending the
    other jobs. Finally in (3), job J3 finishes freeing 4 resources. Using FQ, these resources are given to the queued
    job J4."
    """
    machine = Machine(8, [Job(*job) for job in FIGURE_3B], Rules()).simulate()
    assert [job.ended for job in machine.jobs] == [130, 130, 40, 70]
    assert [job.sizes for job in machine.jobs[:2]] == [[(0, 4), (10, 2), (70, 4)]] * 2
    assert machine.jobs[3].start == 40


def test_at_level_2_nobody_is_harvested_for_a_third_job():
    """2.2: "An application will be queued if M has been reached and insufficient free resources are available." """
    assert ends(8, FIGURE_3B, level=2) == [100, 100, 130, 130]


@pytest.mark.parametrize(("favor_running", "expected"), [(True, [100, 134, 167]), (False, [100, 150, 150])])
def test_running_or_queued_jobs_get_what_is_free_first(favor_running, expected):
    """2.2: "favor_running: this policy will distribute resources to running applications"; "favor_queued: this policy
    will distribute resources to queued applications to admit them into the system first".
    """
    jobs = [(0, 2, 4, 100), (0, 2, 6, 100), (10, 2, 4, 50)]
    assert ends(8, jobs, level=1, favor_running=favor_running) == expected


@pytest.mark.parametrize(("harvesting", "expected"), [("low_impact", [118, 110, 40]), ("even", [107, 135, 40])])
def test_low_impact_spares_small_jobs(harvesting, expected):
    """2.2: "an application that has 2 resources allocated with its ideal resources = 4 will be much greater impacted
    if a resource was taken away than an application with 8 resources allocated with its ideal resources = 9".
    """
    jobs = [(0, 1, 9, 100), (0, 1, 4, 100), (10, 3, 3, 30)]
    assert ends(12, jobs, harvesting=harvesting) == expected


def test_a_resize_costs_time():
    """4.3: "the cost of harvesting must also be included since the application is suspended while resource
    re-allocation is being performed".
    """
    assert ends(4, [(0, 2, 4, 100), (10, 2, 2, 50)], cost=7) == [136, 60]


@pytest.mark.parametrize(("procs", "seconds"), [(1, 213), (2, 125), (3, 105), (4, 100)])
def test_the_parabolic_model(procs, seconds):
    """4.3: "exec_time_parabolic = a / P + b P, where a = P_ideal RT_ideal / 2, b = RT_ideal / (2 P_ideal)"."""
    assert ends(procs, [(0, 1, 4, 100, True)]) == [seconds]


def test_who_cannot_be_had_is_tried_again_when_a_job_has_ended():
    """docs/fluid.md: "A job that could not be had is tried again only after a job started, ended, or was resized"."""
    assert ends(8, [(0, 2, 6, 100), (0, 2, 2, 20), (5, 6, 8, 80)]) == [172, 20, 127]


def test_the_cost_of_shipping_data():
    """4.1: "the overhead of removing a processor for STEN with N=128 at P=4 would be approximately 7 sec"."""
    stencil = Job(0, 1, 4, 1289, True, fixed=1, data=2 * 128**2 * 8)
    stencil.procs = 4
    assert stencil.cost() == 7
    stencil.procs = 3
    assert stencil.cost() == 9


def check(machine):
    """What must always hold."""
    assert machine.avail == machine.nodes - sum(job.procs for job in machine.running) >= 0
    assert all(job.least <= job.procs <= job.ideal for job in machine.running)
    assert all(job.left > 0 and job.end() > machine.now for job in machine.running)
    starts = [job.start for job in machine.running]
    assert starts == sorted(starts)
    if machine.rules.baseline is None:
        assert not machine.queue or machine.queue[0].least > machine.avail
        if not machine.rules.benefit:
            assert not machine.avail or all(job.procs == job.ideal for job in machine.running)


def exact_end(job):
    """The first second in which the work is done, in fractions; without costs."""
    left = Fraction(job.run)
    for (since, procs), (until, _) in pairwise([*job.sizes, (math.inf, 0)]):
        rate = Fraction(2 * job.ideal * procs, job.ideal**2 + procs**2) if job.parabolic else Fraction(procs, job.ideal)
        rate = Fraction(job.times[-1], job.times[procs - job.least]) if job.times else rate
        if until == math.inf or (until - since) * rate >= left:
            return since + math.ceil(left / rate)
        left -= (until - since) * rate
    raise AssertionError


@pytest.mark.parametrize("seed", seeds(5, 400))
@pytest.mark.parametrize("harvesting", HARVESTING)
def test_what_must_always_hold_does(seed, harvesting):
    nodes, jobs, rules = random_case(seed, harvesting)
    if seed % 2:
        tell(Random(seed), jobs, while_running=False)
    machine = Machine(nodes, jobs, rules, check).simulate()
    starts = [job.start for job in sorted(jobs, key=lambda job: job.submit)]
    assert starts == sorted(starts)  # "FCFS, nobody overtakes"
    for job in jobs:
        if not (any(job.costs) if job.times else job.fixed or job.data):
            assert abs(job.ended - exact_end(job)) <= (job.parabolic or job.times != ())
    assert machine.had <= machine.tried
