"""Iterations that wait for an answer (coscheduling.md, RunJob), and nodes that are kept for a group, step by step."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cosched.conformance.schedulers.subject import NODES, Subject
from cosched.core.job import JobState
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler

Submit = Callable[..., None]


@pytest.fixture
def scheduler(subject: Subject) -> OpenScheduler:
    """A scheduler without jobs."""
    return subject.open()


@pytest.fixture
def submit(subject: Subject, scheduler: OpenScheduler) -> Submit:
    """What submits jobs of these sizes to it."""

    def act(*sizes: int, now: int = 0, first: int = 1) -> None:
        scheduler.enter(now)
        for number, nodes in enumerate(sizes, first):
            scheduler.submit(ClusterJob(str(number), nodes, 10, now, paired=True, columns=subject.of_size(nodes)))

    return act


def ready(scheduler: OpenScheduler, now: int) -> str | None:
    scheduler.enter(now)
    turn = scheduler.next(now)
    return turn and turn.job


def test_an_instant_lasts_as_long_as_its_iteration(scheduler: OpenScheduler, submit: Submit) -> None:
    """Jobs that yielded stay passed over, and the released one stays last, while an answer is awaited."""
    submit(NODES, NODES)
    assert ready(scheduler, 1) == "1"
    scheduler.hold("1", 1, 100)
    assert ready(scheduler, 1) is None
    scheduler.enter(100)
    scheduler.release("1", 100)
    assert ready(scheduler, 100) == "2"
    submit(NODES, now=103, first=3)  # the domain changed
    assert ready(scheduler, 103) is None, "job 2 keeps its nodes"
    scheduler.pass_over("2", 103, 1.0)
    assert ready(scheduler, 103) == "3", "job 1 was released, job 2 has yielded"


def test_the_order_after_a_release_outlives_a_restart_at_that_instant(
    scheduler: OpenScheduler, submit: Submit, subject: Subject
) -> None:
    submit(NODES, NODES)
    assert ready(scheduler, 1) == "1"
    scheduler.hold("1", 1, 100)
    scheduler.enter(100)
    scheduler.release("1", 100)
    again = subject.open()
    for job in "12":
        again.submit(scheduler.job(job))
    assert ready(again, 100) == "2"


def test_an_iteration_goes_on_in_the_next_second(scheduler: OpenScheduler, submit: Submit) -> None:
    submit(4, 4)
    assert ready(scheduler, 0) == "1"
    scheduler.enter(1)
    scheduler.start("1", 1)
    assert ready(scheduler, 1) == "2"


def test_late_yields_alone_do_not_keep_iterations_going(scheduler: OpenScheduler, submit: Submit) -> None:
    """Two jobs that each need the whole machine, and whose answers take longer than an iteration waits."""
    submit(NODES, NODES)
    for now, job in ((10, "1"), (20, "2")):
        assert ready(scheduler, now) == job
        scheduler.enter(now + 1)
        scheduler.reschedule()  # patience is over
        assert ready(scheduler, now + 1) is None
        scheduler.enter(now + 10)
        scheduler.pass_over(job, now + 10, 1.0)
    assert ready(scheduler, 30) is None
    scheduler.enter(31)
    scheduler.reschedule()  # anything else that happens
    assert ready(scheduler, 31) == "1"


def test_those_that_have_yielded_get_what_one_that_held_gives_back(scheduler: OpenScheduler, submit: Submit) -> None:
    """It asks again, since its mate has changed, and yields: no iteration has waited for that."""
    submit(4, 4)
    assert ready(scheduler, 0) == "1"
    scheduler.hold("1", 0, 100)
    assert ready(scheduler, 0) == "2"
    scheduler.pass_over("2", 0, 1.0)
    assert ready(scheduler, 0) is None
    scheduler.enter(10)
    scheduler.ask_again("1")
    scheduler.pass_over("1", 10, 1.0)
    assert ready(scheduler, 10) == "2"


def test_whose_nodes_are_kept_is_not_ready_and_others_are_beside_it(scheduler: OpenScheduler, submit: Submit) -> None:
    submit(4, 4, 8)
    for job, state in (("1", JobState.READY), ("2", JobState.READY), ("3", JobState.QUEUED)):
        scheduler.try_ready(job, 0)
        assert scheduler.job(job).state is state
    assert ready(scheduler, 0) is None
    assert (scheduler.used()[JobState.READY], scheduler.free) == (8, 0)
    scheduler.start("1", 0)
    assert scheduler.used() == {JobState.READY: 4, JobState.HOLDING: 0, JobState.RUNNING: 4}


@pytest.mark.parametrize("missed", [True, False])
def test_a_job_that_is_given_back_has_not_yielded(scheduler: OpenScheduler, submit: Submit, missed: bool) -> None:
    """ "If an iteration has run meanwhile another one follows." """
    submit(NODES)
    assert ready(scheduler, 0) == "1"
    scheduler.pass_over("1", 0, 1.0)
    assert ready(scheduler, 0) is None
    scheduler.enter(5)
    scheduler.try_ready("1", 5)
    if missed:
        scheduler.reschedule()
        assert ready(scheduler, 5) is None
    scheduler.give_back("1", 5)
    assert ready(scheduler, 5) == ("1" if missed else None)


def test_a_job_larger_than_the_machine_is_refused(scheduler: OpenScheduler) -> None:
    assert not scheduler.fits(NODES + 1)
    with pytest.raises(ValueError, match="9 nodes wanted, the machine has 8"):
        scheduler.rounded(NODES + 1)
