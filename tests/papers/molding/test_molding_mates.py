"""Jobs with mates whose sizes are chosen at their start (molding.md, With mates)."""

import pytest

from cosched.core.allocation import NOT_NOW
from cosched.core.job import JobState
from cosched.core.scheduling.primitives.codes import CONSERVATIVE
from cosched.core.scheduling.scheduler import ClusterJob
from cosched_papers.molding.cluster import Molding
from cosched_papers.molding.jobs import Moldable
from cosched_papers.molding.settings import MoldingSettings, Sizing


def machine(sizing: Sizing = Sizing.SCOJO_P) -> Molding:
    made = Molding(MoldingSettings(10, sizing))
    made.enter(0)
    return made


def submit(scheduler: Molding, job: str, nodes: int, run: int, *, rigid: bool = False, paired: bool = False) -> None:
    how = None if rigid else Moldable()
    scheduler.submit(ClusterJob(job, nodes, run, scheduler.now, paired, columns=how))


def start_all(scheduler: Molding, now: int) -> None:
    scheduler.enter(now)
    while (ready := scheduler.next(now)) is not None:
        scheduler.start(ready.job, now)


@pytest.fixture
def busy() -> Molding:
    """A rigid job has 6 of 10 nodes until 100. At 10 a job would be guaranteed 8."""
    made = machine()
    submit(made, "r", 6, 100, rigid=True)
    start_all(made, 0)
    made.enter(10)
    submit(made, "j", 8, 1000)
    return made


def test_what_is_guaranteed_is_kept(busy):
    start_all(busy, 10)
    assert busy.job("j").kept == {"guaranteed": 8}
    assert busy.take_changed() == ["j"]
    assert busy.take_changed() == []


def test_a_dry_run_leaves_nothing_behind(busy):
    submit(busy, "k", 5, 200, rigid=True, paired=True)
    assert busy.try_start("k", 10, 20) is NOT_NOW
    assert busy.job("j").kept == {}
    assert busy.take_changed() == []
    busy.leave("r", 10, JobState.COMPLETED)
    submit(busy, "q", 8, 1000)
    assert busy.next(10).allocation.nodes < 8, "job j is guaranteed nothing"


def test_a_hold_keeps_the_size_that_the_job_was_selected_with():
    made = machine()
    submit(made, "k", 4, 100, paired=True)
    assert made.next(0).allocation.nodes == 8
    made.hold("k", 0, 100)
    assert made.used()[JobState.HOLDING] == 8
    made.enter(50)
    started = made.start("k", 50)
    assert (started.nodes, started.expected) == (8, 50 + 81)


def test_a_job_that_yielded_starts_for_its_mate_on_another_size():
    made = machine()
    submit(made, "k", 4, 100, paired=True)
    assert made.next(0).allocation.nodes == 8
    made.pass_over("k", 0, 1.0)
    submit(made, "r", 7, 1000, rigid=True)
    start_all(made, 0)
    assert made.try_start("k", 0, 20).nodes == 3


def test_who_yields_has_no_reservation():
    """Job 2 is reserved, as the first one that has not yielded."""
    made = machine()
    submit(made, "1", 8, 100, paired=True)
    submit(made, "2", 8, 100)
    first = made.next(0)
    made.pass_over("1", 0, 1.0)
    assert (first.job, made.next(0).job) == ("1", "2")
    assert "guaranteed" not in made.job("1").kept


def test_a_job_that_has_chosen_its_size_keeps_it_after_a_release():
    made = machine(Sizing.CIRNE_BERMAN)
    submit(made, "k", 4, 400, paired=True)
    assert made.job("k").kept == {"chosen": 8}
    assert made.next(0).allocation.nodes == 8
    made.hold("k", 0, 20)
    made.enter(20)
    made.release("k", 20)
    submit(made, "r", 6, 300, rigid=True)
    assert made.job("k").kept == {"chosen": 8}


def test_a_job_behind_a_reservation_may_hold_until_it_would_delay_that(busy):
    """Rule 5 counts with T(n): 3 nodes for 80 s from 20 leave the reservation at 100 alone."""
    submit(busy, "k", 3, 80, rigid=True, paired=True)
    ready = busy.next(10)
    assert (ready.job, ready.hold_limit) == ("k", 20)


def test_a_hold_delays_no_place_of_the_plan():
    """Conservative: job q has all nodes from 1100 on, so k, who would run for 60 s, may hold until 1040."""
    made = Molding(MoldingSettings(10, Sizing.NONE, backfilling=CONSERVATIVE))
    submit(made, "r", 6, 100, rigid=True)
    start_all(made, 0)
    made.enter(10)
    submit(made, "j", 8, 1000)
    submit(made, "q", 10, 100)
    submit(made, "k", 2, 60, paired=True)
    ready = made.next(10)
    assert (ready.job, ready.hold_limit) == ("k", 1040)
    made.hold("k", 10, 1200)
    assert made.next(10) is None
    assert made.try_start("q", 10, 20) is NOT_NOW


def test_a_size_is_chosen_as_of_the_submission_before_the_first_instant_is_known():
    """After a restart a service submits its jobs first."""
    made = Molding(MoldingSettings(10, Sizing.CIRNE_BERMAN))
    made.submit(ClusterJob("r", 6, 50, 1000, paired=False, state=JobState.RUNNING, expected=1050))
    made.submit(ClusterJob("k", 4, 400, 1000, paired=False, columns=Moldable()))
    assert made.job("k").kept == {"chosen": 8}
