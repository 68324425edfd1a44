"""Deadlock (Tang et al., Figure 2): jobs on both sides hold the nodes that each other's mates need. And its cures."""

from operator import ge

import pytest

from tests.live import workloads
from tests.live.services import Pair, Service, wait_until
from tests.live.workloads import Work

P, Q = (Work(name, 1, 0.1) for name in "pq")


def states(pair: Pair) -> list[tuple[str, ...]]:
    return [tuple(job.state for job in workloads.jobs(service)) for service in pair.both]


def check_all_started_together(pair: Pair) -> None:
    wait_until(lambda: workloads.is_idle(pair), "all jobs have ended")
    outcome = workloads.outcome(pair)
    assert outcome.states == {"completed": 4}
    assert sorted(outcome.runs.values()) == [1, 1, 1, 1]
    assert outcome.alone() == {}
    assert sorted(outcome.times) == ["p", "q"]


@pytest.fixture
def deadlock(make_pair):
    """A deadlock without a release timer, that has lasted for some periodic iterations on both sides.

    Two single-slot domains get the two pairs in opposite orders; the first on each side holds the only slot.
    """
    pair = workloads.set_up(make_pair(), 1, release_interval=0, max_held_fraction=1)
    for service in pair.both:
        service.config["domain"] |= {"schedule_interval": 1, "http": service.listen_to_http()}
    pair.start()
    for service, first in ((pair.a, P), (pair.b, Q)):
        workloads.submit(service, [first])
        wait_until(lambda service=service: workloads.jobs(service)[0].state == "holding")
    workloads.submit(pair.a, [Q])
    workloads.submit(pair.b, [P])
    wait_until(lambda: states(pair) == [("holding", "queued")] * 2)
    enough = [iterations(service) + 3 for service in pair.both]
    wait_until(lambda: all(map(ge, map(iterations, pair.both), enough)), "some iterations")
    assert states(pair) == [("holding", "queued")] * 2
    return pair


def iterations(service: Service) -> int:
    """How many scheduling iterations there have been."""
    return int(service.metrics()["cosched_iteration_seconds_count"])


def test_without_a_release_timer_an_operator_breaks_the_deadlock(deadlock):
    first, second = (job.id for job in workloads.jobs(deadlock.a))
    assert "HO  0:00      1  (MateQueuing)" in deadlock.a.run("queue").stdout
    assert "holds without a time limit" in deadlock.a.run("show", first).stdout
    refused = deadlock.a.run("release", second)
    assert refused.returncode == 1
    assert "does not hold" in refused.stderr
    assert states(deadlock) == [("holding", "queued")] * 2
    assert deadlock.a.run("release", first).returncode == 0
    check_all_started_together(deadlock)


def test_a_restart_with_a_release_timer_breaks_the_deadlock(deadlock):
    deadlock.a.kill()
    deadlock.a.config["coscheduling"]["release_interval"] = "1s"
    deadlock.a.start()
    check_all_started_together(deadlock)
    assert "its hold is over" in deadlock.a.run("show", "1").stdout


def test_a_job_above_the_cap_yields_and_says_so(make_pair):
    """3 of 4 slots are more than half; the job still starts with its mate."""
    pair = workloads.set_up(make_pair(), 4, release_interval=0, max_held_fraction=0.5).start()
    (job,) = workloads.submit(pair.a, [Work("p", 3, 0.1)])
    with pair.a.client() as client:
        wait_until(lambda: ((now := client.job(job)).state, now.reason) == ("queued", "TooLargeToHold"), "it yields")
    assert "TooLargeToHold" in pair.a.run("queue").stdout
    assert "it would have held, but is too large to hold here" in pair.a.run("show", job.id).stdout
    workloads.submit(pair.b, [Work("p", 1, 0.1)])
    wait_until(lambda: workloads.is_idle(pair))
    assert workloads.outcome(pair).alone() == {}
