"""Replays of heterogeneous domains are those of the slow reference, job for job; and cases worked by hand."""

from dataclasses import replace
from random import Random

import pytest

from tests.papers.heterogeneous.heterogeneous_cases import random_domain, runs_of, runs_of_reference, setup_of
from tests.reference import heterogeneous as reference
from tests.reference.heterogeneous import HIGH, LOW, MEDIUM, C, M, RefDomain, RefJob, RefSite
from tests.tiers import seeds


def fresh(jobs: list[RefJob]) -> list[RefJob]:
    return [replace(job, runs=[]) for job in jobs]


@pytest.mark.parametrize("seed", seeds(4, 500))
@pytest.mark.parametrize("algorithm", reference.ALGORITHMS)
def test_jobs_run_when_and_where_the_reference_has_them_run(algorithm, seed):
    for case in range(4):
        draw = Random(f"{algorithm} {seed} {case}")
        site, jobs = random_domain(draw)
        goes_on = algorithm == "pjs" and draw.random() < 0.3
        model = RefDomain(site, algorithm, goes_on=goes_on)
        found, counts = runs_of(setup_of(site, jobs, algorithm=algorithm, goes_on=goes_on))
        assert found == runs_of_reference(model, jobs)
        assert counts["preempted"] == sum(job.preempted for job in jobs)
        assert counts["displaced"] == model.displaced


def played_twice(site: RefSite, *jobs: RefJob) -> list[tuple[int, int, int]]:
    """(job, start, end) of all runs, which are the same in both."""
    found, _ = runs_of(setup_of(site, list(jobs)))
    assert found == runs_of_reference(RefDomain(site, "pjs"), fresh(list(jobs)))
    return [(job, start, end) for job, _, _, start, end, _ in found]


def one_machine(**times: int) -> RefSite:
    return RefSite(1, [], {(of, 0): seconds for of, seconds in times.items()}, {}, preemptive=True)


def test_a_job_of_high_priority_stops_one_of_low_priority_which_begins_anew():
    """ "The low-priority jobs are then rescheduled and no incremental progress is assumed" (5.4)"""
    site = one_machine(long=100, short=20)
    runs = played_twice(site, RefJob(1, 0, "long", LOW), RefJob(2, 10, "short", HIGH))
    assert runs == [(1, 0, 10), (2, 10, 30), (1, 30, 130)]


def test_medium_jobs_cannot_initiate_preemption():
    site = one_machine(long=100, short=20)
    runs = played_twice(site, RefJob(1, 0, "long", LOW), RefJob(2, 10, "short", MEDIUM))
    assert runs == [(1, 0, 100), (2, 100, 120)]


def test_medium_jobs_are_immune_to_preemption_and_low_ones_that_have_not_started_are_displaced():
    site = one_machine(medium=40, low=30, high=20)
    jobs = RefJob(1, 0, "medium", MEDIUM), RefJob(2, 0, "low", LOW), RefJob(3, 10, "high", HIGH)
    assert played_twice(site, *jobs) == [(1, 0, 40), (3, 40, 60), (2, 60, 90)]


def test_a_job_that_was_stopped_runs_on_a_cluster_if_that_ends_sooner():
    seq = {("low", 0): 90, ("low", 1): 90, ("high", 0): 30, ("high", 1): 30}
    site = RefSite(2, [[0, 1]], seq, {("low", 0): 50}, preemptive=True)
    found, counts = runs_of(setup_of(site, [RefJob(1, 0, "low", LOW), RefJob(2, 10, "high", HIGH)]))
    assert found == [(1, C, 0, 0, 10, True), (2, M, 0, 10, 40, False), (1, C, 0, 40, 90, False)]
    assert counts == {"preempted": 1, "displaced": 0, "parallel": 2}


def test_jobs_are_placed_at_multiples_of_the_quantum():
    site = replace(one_machine(long=100), quantum=10)
    runs = played_twice(site, RefJob(1, 3, "long", LOW), RefJob(2, 20, "long", LOW))
    assert runs == [(1, 10, 110), (2, 110, 210)]


def test_after_so_many_preemptions_a_job_is_of_medium_priority():
    site = replace(one_machine(long=100, short=20), promote_after=1)
    jobs = RefJob(1, 0, "long", LOW), RefJob(2, 10, "short", HIGH), RefJob(3, 40, "short", HIGH)
    assert played_twice(site, *jobs) == [(1, 0, 10), (2, 10, 30), (1, 30, 130), (3, 130, 150)]
