"""The cases of molding.md that were worked out by hand."""

import pytest

from cosched.core.scheduling.primitives.codes import CONSERVATIVE, EASY
from cosched_papers.molding.future import Expected, Future
from cosched_papers.molding.settings import MoldingSettings, Sizing
from tests.papers.molding.molding_cases import Case, ran, rigid, setup
from tests.sim.schedulers.together import played

NONE, SCOJO, SCOJO_P, CIRNE_BERMAN = Sizing.NONE, Sizing.SCOJO, Sizing.SCOJO_P, Sizing.CIRNE_BERMAN
ONE_SHORT = Future([Expected((1.0,) * 48, 5.0, 50.0), *[Expected((0.0,) * 48, 1.0, 1.0)] * 2])


def schedule(jobs, sizing=SCOJO_P, **settings):
    """The jobs' sizes, starts and ends."""
    return ran(played([setup(jobs, MoldingSettings(10, sizing, **settings))]).domains["A"])


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ([Case(0, 4, 100)], [(8, 0, 81)]),
        ([Case(0, 8, 100)] * 2, [(5, 0, 141), (4, 0, 163)]),
        ([rigid(0, 6, 100), Case(10, 8, 1000)], [(6, 0, 100), (9, 100, 1072)]),
        ([rigid(0, 6, 2000), Case(10, 8, 1000)], [(6, 0, 2000), (4, 10, 1635)]),
        ([rigid(0, 7, 1000), rigid(1, 8, 1000), Case(1, 4, 100)], [(7, 0, 1000), (8, 1000, 2000), (2, 1, 164)]),
    ],
    ids="abcde",
)
def test_scojo_p(jobs, expected):
    assert schedule(jobs) == expected


@pytest.mark.parametrize("backfilling", [EASY, CONSERVATIVE])
@pytest.mark.parametrize(("run", "expected"), [(300, (4, 0, 400)), (50, (8, 50, 375))])
def test_cirne_berman(run, expected, backfilling):
    assert schedule([rigid(0, 6, run), Case(0, 4, 400)], CIRNE_BERMAN, backfilling=backfilling)[1] == expected


def test_conservative_backfilling_delays_no_job_that_waits():
    """Job 4 fits beside the reserved job 2, but job 3 would wait for its end."""
    jobs = [rigid(0, 6, 100), rigid(0, 8, 100), rigid(0, 10, 100), rigid(0, 2, 500)]
    begun = [(6, 0, 100), (8, 100, 200)]
    assert schedule(jobs, NONE) == [*begun, (10, 500, 600), (2, 0, 500)]
    assert schedule(jobs, NONE, backfilling=CONSERVATIVE) == [*begun, (10, 200, 300), (2, 300, 800)]


def test_a_size_is_chosen_by_the_backfilling_under_which_it_starts():
    """Behind the same jobs, one that can have 1 to 4 nodes starts at once on 2, with EASY; else it has 4 at 300."""
    jobs = [rigid(0, 6, 100), rigid(0, 8, 100), rigid(0, 10, 100), Case(0, 2, 500)]
    assert schedule(jobs, CIRNE_BERMAN)[3] == (2, 0, 500)
    assert schedule(jobs, CIRNE_BERMAN, backfilling=CONSERVATIVE)[3] == (4, 300, 706)


def test_prediction():
    assert schedule([Case(0, 4, 3600)], future=ONE_SHORT) == [(8, 0, 2925)]


def test_scojo():
    assert schedule([Case(0, 8, 100)] * 3, SCOJO) == [(4, 0, 163), (4, 0, 163), (10, 163, 258)]


def test_without_molding_jobs_have_what_they_ask_for():
    assert schedule([Case(0, 8, 100), Case(0, 8, 50)], NONE) == [(8, 50, 150), (8, 0, 50)]


@pytest.mark.parametrize(("before", "first"), [(301, 1), (300, 2)])
def test_a_job_ages_when_it_has_waited_five_times_as_long_as_it_runs(before, first):
    """Job 2 of 60 s, which is medium, comes before a short one then."""
    found = schedule([rigid(0, 10, before), rigid(1, 10, 60), rigid(2, 10, 50)])
    assert min((1, 2), key=lambda job: found[job][1]) == first
