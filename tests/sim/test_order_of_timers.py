"""Timers of slots fire after all others of their instant, in a simulation and in a service that keeps step with one."""

from operator import attrgetter

from cosched.core.effects import ClearTimer, SetTimer, Timer
from cosched.core.protocol import FOREVER
from cosched.core.timers import TimerQueue

TIMERS = [("a", "1", Timer.SLOT), ("b", "2", Timer.RELEASE), ("b", "3", Timer.LAPSE), ("a", "4", Timer.PATIENCE)]
OTHERS, OF_SLOTS = ["2", "4"], ["1", "3"]


def queue(moment=attrgetter("at")) -> TimerQueue:
    timers = TimerQueue()
    timers.moment = moment
    for domain, job, kind in TIMERS:
        timers.set(domain, SetTimer(job, kind, 7))
    timers.set("a", SetTimer("5", Timer.RELEASE, 8))
    return timers


def taken(timers: TimerQueue, now: float, of_slots: bool | None = None) -> list[str]:
    jobs = []
    while (due := timers.take(now, of_slots=of_slots)) is not None:
        jobs.append(due[1].job)
    return jobs


def test_phase_by_phase():
    timers = queue()
    assert timers.next() == 7
    assert taken(timers, 6) == []
    assert taken(timers, 7, of_slots=True) == []
    assert taken(timers, 7, of_slots=False) == OTHERS
    assert taken(timers, 7, of_slots=True) == OF_SLOTS
    assert timers.next() == 8


def test_all_that_is_due():
    assert taken(queue(), 7) == [*OTHERS, *OF_SLOTS]


def test_at_moments_that_a_live_domain_spreads():
    timers = queue(lambda timer: timer.at + (timer.timer is Timer.RELEASE) * 0.4)
    assert taken(timers, 7.3) == ["4", *OF_SLOTS]
    assert timers.next() == 7.4
    assert taken(timers, 7.4) == ["2"]


def test_a_timer_replaces_the_one_of_its_kind_and_none_is_left_that_was_cleared():
    timers = queue()
    timers.set("a", SetTimer("4", Timer.PATIENCE, 9))
    timers.set("a", SetTimer("2", Timer.RELEASE, 9))  # of another domain
    timers.clear("b", ClearTimer("2", Timer.RELEASE))
    timers.clear("b", ClearTimer("2", Timer.RELEASE))
    assert taken(timers, 8) == [*OF_SLOTS, "5"]
    assert taken(timers, 9) == ["4", "2"]
    assert timers.next() == FOREVER
