"""One call of each algorithm: cases worked by hand, properties, and the slow reference (Collins and George 2001)."""

from collections.abc import Callable
from functools import partial
from random import Random

import numpy as np
import pytest

from cosched_papers.heterogeneous.algorithms import ALGORITHMS, olb
from cosched_papers.heterogeneous.calls import Call, Placement, total
from cosched_papers.heterogeneous.genetic import genetic
from cosched_papers.heterogeneous.greedy import max_min, min_min, pjs, sjs
from cosched_papers.heterogeneous.settings import Algorithm
from tests.papers.heterogeneous.tables import call_of, named, random_call, table
from tests.reference import heterogeneous as reference
from tests.tiers import seeds


def ends(algorithm: Callable[[Call], list[Placement]], *rows, clusters=((0, 1),), avail=None) -> list[int]:
    site, jobs = table(*rows, clusters=[list(cluster) for cluster in clusters])
    return [end for *_, end in sorted(algorithm(call_of(site, jobs, avail or [0] * site.machines)))]


def seq(*times: int) -> tuple[list[int], list[None]]:
    return list(times), [None]


def test_olb_takes_the_machine_that_is_free_first_whatever_the_job_takes_there():
    assert sum(ends(olb, seq(5, 1), seq(5, 1), seq(2, 9))) == 16


def test_min_min_and_max_min():
    jobs = seq(2, 2), seq(3, 3), seq(4, 4)
    assert (sum(ends(min_min, *jobs)), max(ends(min_min, *jobs))) == (11, 6)
    assert (sum(ends(max_min, *jobs)), max(ends(max_min, *jobs))) == (12, 5)


def test_sjs_is_the_better_of_both():
    """ "takes the min-min and min-max scheduling algorithms and chooses the result which yields the most advantageous
    schedule" """
    jobs = seq(2, 3), seq(3, 20)
    assert [sum(ends(algorithm, *jobs)) for algorithm in (min_min, max_min, sjs)] == [7, 6, 6]


@pytest.mark.parametrize(("par", "least"), [(4, 12), (2, 6), (3, 12)])
def test_pjs_commits_a_job_to_a_cluster_as_long_as_that_improves_the_sum(par, least):
    """ "repeat steps 2-5 until the resulting schedule fails to be an improvement" """
    jobs = ([6, 6], [par]), ([6, 6], [par])
    assert sum(ends(pjs, *jobs)) == least


TWO_CLUSTERS = (
    ([10, 10, None, None], [5, None]),
    ([None, None, 8, 8], [None, 5]),
    ([3, None, None, None], [None, None]),
    ([None, 3, None, None], [None, None]),
)


@pytest.mark.parametrize(("goes_on", "least"), [(False, 24 + 3), (True, 24)])
def test_pjs_stops_at_the_first_pair_that_improves_nothing_unless_it_goes_on(goes_on, least):
    assert sum(ends(partial(pjs, goes_on=goes_on), *TWO_CLUSTERS, clusters=[(0, 1), (2, 3)])) == least


def test_profit_is_that_of_completion():
    jobs = ([12] * 4, [4, 6]), ([12] * 4, [4, 6])
    assert ends(pjs, *jobs, clusters=[(0, 1), (2, 3)]) == [4, 6]


def test_a_cluster_is_available_when_its_last_member_is():
    jobs = ([30, 30], [5]), ([3, 3], [None])
    assert ends(pjs, *jobs, avail=[10, 0]) == [15, 18]
    assert sum(ends(sjs, *jobs, avail=[10, 0])) == 36


@pytest.mark.parametrize("seed", seeds(4, 2000))
def test_pjs_is_never_worse_than_sjs_in_one_call(seed):
    """ "this algorithm always produces a result that is superior or equal to the SJS algorithm" """
    for case in range(10):
        call = call_of(*random_call(Random(f"{seed} {case}")))
        assert total(pjs(call, goes_on=True)) <= total(sjs(call))
        assert total(pjs(call)) <= total(sjs(call))


@pytest.mark.parametrize("seed", seeds(4, 2000))
@pytest.mark.parametrize("name", reference.ALGORITHMS)
def test_each_algorithm_places_jobs_as_the_reference_does(name, seed):
    for case in range(5):
        site, jobs, avail = random_call(Random(f"{name} {seed} {case}"))
        found = ALGORITHMS[Algorithm(name)](call_of(site, jobs, avail))
        assert named(site, jobs, found) == reference.ALGORITHMS[name](site, jobs, avail)


@pytest.mark.parametrize("seed", seeds(4, 2000))
def test_pjs_that_goes_on_places_jobs_as_the_reference_does(seed):
    for case in range(5):
        site, jobs, avail = random_call(Random(f"next {seed} {case}"))
        found = pjs(call_of(site, jobs, avail), goes_on=True)
        assert named(site, jobs, found) == reference.pjs(site, jobs, avail, goes_on=True)


@pytest.mark.parametrize("seed", seeds(2, 50))
def test_the_genetic_algorithm_is_no_worse_than_min_min_and_each_job_runs_where_it_can(seed):
    site, jobs, avail = random_call(Random(f"genetic {seed}"))
    call = call_of(site, jobs, avail)
    placed = genetic(call)
    assert total(placed) <= total(min_min(call))
    assert sorted(job for job, *_ in placed) == list(range(len(jobs)))
    for job, machine, start, end in placed:
        assert end - start == site.seq[jobs[job].job_class, machine]
    assert genetic(call) == placed, "nothing is left to chance"


def test_what_is_committed_leaves_the_call_as_it_was():
    site, jobs, avail = random_call(Random(3))
    call = call_of(site, jobs, avail)
    before = call.avail.copy(), call.seq.copy(), call.par.copy()
    for algorithm in ALGORITHMS.values():
        algorithm(call)
    assert all(np.array_equal(*each) for each in zip(before, (call.avail, call.seq, call.par), strict=True))
