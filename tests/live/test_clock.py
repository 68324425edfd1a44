"""Wall clocks are set by an hour while jobs wait: nothing comes early or late, and what is shown follows the clocks."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from cosched.client import Job
from tests.live.services import Pair, Service, noted, script_that_notes, wait_until, whys
from tests.live.wall_clock import READING, Clock

HOUR = 3600
RELEASE_INTERVAL = timedelta(seconds=4)
MATE_PATIENCE = timedelta(seconds=30)  # a start of a service, however slow, does not outlast both


@pytest.fixture
def make_clocks(make_pair) -> Callable[[timedelta], tuple[Clock, Clock]]:
    """Those of a pair of services that run, with so much patience with mates."""

    def make(mate_patience: timedelta) -> tuple[Clock, Clock]:
        pair: Pair = make_pair(
            scheme="hold", on_peer_unreachable="hold", release_jitter=0,
            release_interval=RELEASE_INTERVAL.total_seconds(), mate_patience=mate_patience.total_seconds(),
        )  # fmt: skip
        made = Clock(pair.a), Clock(pair.b)
        pair.start()
        return made

    return make


def submit(service: Service, *pairs: str) -> list[Job]:
    """Jobs of two of the four slots each, whose mates may have ended."""
    script = script_that_notes(service.folder.parent)
    with service.client() as client:
        return [client.submit(script, pair=name, nodes=2, or_alone=True) for name in pairs]


def assert_waited_as_long_as_they_should(service: Service, jobs: Sequence[Job], longest: timedelta) -> None:
    """Both jobs started alone at the end of their patience, holds were released in time, by the service's own time."""
    assert whys(service, *jobs) == ["patience ended"] * 2
    with service.client() as client:
        stories = [[*client.events(after=0, jobs=[job], until_now=True)] for job in jobs]
    first, second = ({event.kind: event for event in reversed(story)} for story in stories)  # the first of each kind
    for story in (first, second):
        assert MATE_PATIENCE <= story["started"].at - story["submitted"].at <= longest
    held = first["held"]
    assert RELEASE_INTERVAL <= first["released"].at - held.at <= longest
    assert int(held.detail["until"]) == (held.at + RELEASE_INTERVAL).timestamp()


@pytest.mark.soak
def test_clocks_that_are_set_while_jobs_wait(make_clocks):
    clocks = make_clocks(MATE_PATIENCE)
    began = time.time()
    waiting = {clock: submit(clock.service, f"1{clock.service.name}", f"2{clock.service.name}") for clock in clocks}
    for clock, (first, second) in waiting.items():
        clock.wait_for(first, lambda job: job.state == "holding")
        clock.wait_for(second, lambda job: job.reason == "HeldCap")
    for clock, ahead in zip(clocks, (HOUR, -HOUR), strict=True):
        clock.set(ahead)
    for clock, (first, _) in waiting.items():
        wait_until(clock.is_shown, "the time that is shown follows")
        before = clock.job(first).submitted_at
        clock.service.restart()
        assert clock.is_shown()
        assert clock.job(first).submitted_at == before
    for clock, jobs in waiting.items():
        for job in jobs:
            clock.wait_for(job, lambda job: job.state == "completed")
    longest = timedelta(seconds=time.time() - began) + READING
    for clock, jobs in waiting.items():
        assert_waited_as_long_as_they_should(clock.service, jobs, longest)
    starts = noted(clocks[0].service.folder.parent)
    assert len(starts) == 4
    assert min(at for *_, at in starts) >= began + MATE_PATIENCE.total_seconds() - 1  # instants are whole seconds


def test_domains_whose_clocks_are_two_hours_apart_start_pairs_together(make_clocks):
    a, b = clocks = make_clocks(timedelta(hours=1))
    a.set(HOUR)
    b.set(-HOUR)
    for clock in clocks:
        wait_until(clock.is_shown, "the time that is shown follows")
    (first,) = submit(a.service, "pair")
    a.wait_for(first, lambda job: job.state == "holding")
    (second,) = submit(b.service, "pair")
    for clock, job in ((a, first), (b, second)):
        clock.wait_for(job, lambda job: job.state == "completed")
        clock.wait_for(job, lambda job: job.mates[0].gap is not None)
        assert abs(clock.job(job).mates[0].gap) < timedelta(seconds=HOUR / 2)


@pytest.mark.soak  # how offsets are told apart is in tests/service/test_clock_offset.py
def test_a_job_that_starts_late_is_never_shown_as_early(make_clocks):
    a, b = make_clocks(timedelta(seconds=1))
    a.set(HOUR)
    wait_until(a.is_shown, "the time that is shown follows")
    (first,) = submit(a.service, "pair")
    a.wait_for(first, lambda job: job.state == "completed")  # alone, when its patience ends
    (second,) = submit(b.service, "pair")
    b.wait_for(second, lambda job: job.state == "completed")
    # By the clocks of both it began an hour early; the offset corrects that, if it has been measured again by then.
    assert timedelta(0) <= b.job(second).mates[0].gap < timedelta(seconds=HOUR / 2)
