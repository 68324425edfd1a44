"""A live domain asks to be woken when the first of its timers is due; its shell has one timer for that."""

import random
from typing import Any

import pytest

from cosched.core.effects import Release
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER
from cosched.service.domain.watching import Watchers
from cosched.service.outside import ServiceOutside
from cosched.service.timers import Timers
from tests.service.offered_site import NOW, Site
from tests.waiting import until

INTERVAL = 1200  # seconds until a hold is released


class NotedTimers(Timers):
    """Notes the keys of single timers."""

    keys: set[str]

    def set(self, key: str, at: float, fire: Any) -> None:
        self.keys = {*getattr(self, "keys", ()), key}
        super().set(key, at, fire)


@pytest.fixture
def woken(site: Site) -> list[float]:
    """The moments at which the domain asks to be woken."""
    moments: list[float] = []
    site.outside.wake_at = moments.append
    return moments


def test_the_outcome_of_a_turn_says_when_the_first_timer_is_due(site: Site, woken: list[float]) -> None:
    site.submit(1, 2)
    site.hold(1)
    assert woken[-1] == NOW + INTERVAL
    site.clock.instant += 300
    site.hold(2)
    assert woken[-1] == NOW + INTERVAL
    assert not site.domain.due()
    site.clock.instant = NOW + INTERVAL
    assert site.domain.due()
    assert (site.state(1), site.state(2)) == (JobState.QUEUED, JobState.HOLDING)
    assert woken[-1] == NOW + 300 + INTERVAL
    site.clock.instant += 300
    assert site.domain.due()
    assert site.state(2) is JobState.QUEUED
    assert woken[-1] == FOREVER


async def test_a_service_has_one_timer_for_all_jobs(site: Site) -> None:
    timers = NotedTimers(site.clock)
    outside = ServiceOutside(site.domain, None, None, None, timers, Watchers(), None, pytest.fail)
    site.outside.wake_at = outside.wake_at
    random.seed(7)
    timers.start()
    try:
        site.submit(*range(1, 5))
        for job in range(1, 5):
            site.hold(job)
        assert len(set(site.domain.policy.timers._at.values())) == 4  # they are not released at one moment
        assert site.orders == []
        site.clock.instant += INTERVAL + 1
        timers.follow_clock()
        await until(lambda: len(site.outside.orders) == 4)
        assert {type(order) for order in site.orders} == {Release}
        assert timers.keys == {"wake"}
    finally:
        timers.stop()
