"""Timers on a real event loop and APScheduler; the wall clock is set for those who use it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta, tzinfo

import apscheduler.schedulers.base
import pytest

from cosched.core.protocol import FOREVER
from cosched.service import timers as timers_module
from cosched.service.clock import Clock
from cosched.service.timers import Timers
from tests.tiers import soaked
from tests.waiting import until

PATIENCE = 300.0


class Place:
    """Timers, a clock that can be moved ahead, and what has fired."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.clock = Clock(steady=lambda: time.monotonic() + self.ahead)
        self.timers = Timers(self.clock)
        self.fired: list[str] = []

    def note(self, what: str) -> Callable[[], None]:
        return lambda: self.fired.append(what)


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    here = Place()
    here.timers.start()
    yield here
    here.timers.stop()
    await asyncio.sleep(0)


async def test_timers_fire_in_their_order_and_not_before_their_instant(place: Place) -> None:
    now = place.clock.now()
    late: list[bool] = []
    for at in (now + 3600, now):
        place.timers.set(str(at), at, lambda at=at: late.append(place.clock.now() >= at))
        place.timers.set(f"{at} too", at, place.note(str(at)))
    await until(lambda: bool(place.fired))
    assert place.fired == [str(now)]
    place.ahead += 3599
    place.timers.follow_clock()
    await until(lambda: len(place.fired) == 2)
    assert place.fired == [str(now), str(now + 3600)]
    assert late == [True, True]


async def test_a_timer_set_before_the_start_that_is_long_past_still_fires_and_once() -> None:
    place = Place()
    place.timers.set("old", place.clock.now() - 86400, place.note("old"))
    place.timers.start()
    assert place.fired == []  # never from inside the call
    await until(lambda: place.fired == ["old"])
    place.timers.set("next", 0, place.note("next"))
    await until(lambda: "next" in place.fired)
    assert place.fired == ["old", "next"]
    place.timers.stop()


async def test_a_timer_fires_late_after_the_loop_was_blocked(place: Place) -> None:
    place.timers.set("blocked", place.clock.now() + 1, place.note("blocked"))
    time.sleep(1.05)
    await until(lambda: place.fired == ["blocked"])


async def test_the_last_of_a_key_replaces_those_before(place: Place) -> None:
    place.timers.set("job", 0, place.note("first"))
    place.timers.set("job", place.clock.now() + 3600, place.note("second"))
    place.timers.set("job", 0, place.note("third"))
    place.timers.set("other", 0, place.note("other"))
    await until(lambda: "other" in place.fired)
    assert place.fired == ["third", "other"]


async def test_a_timer_that_is_set_again_does_not_fire_even_if_it_was_due(place: Place) -> None:
    place.timers.set("sets", 0, lambda: place.timers.set("due too", FOREVER, place.note("never")))
    place.timers.set("due too", 0, place.note("due too"))
    place.timers.set("end", 0, place.note("end"))
    await until(lambda: "end" in place.fired)
    assert place.fired == ["end"]


async def test_a_timer_may_set_itself_again_at_once(place: Place) -> None:

    def again() -> None:
        place.fired.append("again")
        if len(place.fired) < 50:
            place.timers.set("again", 0, again)

    place.timers.set("again", 0, again)
    await until(lambda: len(place.fired) == 50)


async def test_one_that_fails_is_logged_and_stops_no_other(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.timers.set("bad", 0, lambda: 1 // 0)
    place.timers.every("bad too", 0.02, lambda: 1 // 0)
    place.timers.every("good", 0.02, place.note("good"))
    await until(lambda: len(place.fired) > 2 and caplog.text.count("the timer every bad too failed") > 2)
    assert "the timer at bad failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_periodic_work_goes_on_and_missed_times_are_made_up_for_by_one(place: Place) -> None:
    place.timers.every("tick", 0.05, place.note("tick"))
    await until(lambda: len(place.fired) >= 3)
    place.ahead += 3600
    before = len(place.fired)
    await until(lambda: len(place.fired) > before)
    assert len(place.fired) <= before + 10  # not the 72,000 that it has missed
    place.timers.every("tick", 0.05, place.note("tock"))
    await until(lambda: "tock" in place.fired)
    place.fired.clear()
    await until(lambda: len(place.fired) >= 3)
    assert set(place.fired) == {"tock"}


async def test_an_instant_beyond_all_calendars_can_be_waited_for(place: Place) -> None:
    place.timers.set("never", FOREVER, place.note("never"))
    place.timers.set("end", 0, place.note("end"))
    await until(lambda: place.fired == ["end"])


async def test_nothing_fires_after_stop(place: Place) -> None:
    place.timers.set("due", 0, place.note("due"))
    place.timers.every("tick", 0.01, place.note("tick"))
    place.timers.stop()
    place.timers.stop()
    await asyncio.sleep(0.1)
    assert place.fired == []


@pytest.fixture
def set_wall(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the wall clock, as those see it who use it, by so many seconds against the true one."""
    step = 0.0
    true_time = time.time

    class Wall(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + timedelta(seconds=step)

    def set_by(seconds: float) -> None:
        nonlocal step
        step = seconds

    monkeypatch.setattr(timers_module, "WATCH_INTERVAL", 0.1)
    monkeypatch.setattr(timers_module, "datetime", Wall)
    monkeypatch.setattr(apscheduler.schedulers.base, "datetime", Wall)
    monkeypatch.setattr(timers_module.time, "time", lambda: true_time() + step)
    return set_by


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("step", [-3600.0, 3600.0])
async def test_after_a_step_of_the_wall_clock_timers_keep_to_service_time_told_or_not(set_wall, place, step, told):
    near, far = place.clock.now() + 1, place.clock.now() + 600
    place.timers.set("near", near, lambda: place.fired.append("near" if place.clock.now() >= near else "early"))
    place.timers.set("far", far, place.note("far"))
    place.timers.every("tick", 0.2, place.note("tick"))
    set_wall(step)
    if told:
        place.timers.follow_clock()
    await until(lambda: "near" in place.fired and place.fired.count("tick") > 3)
    assert not {"early", "far"} & set(place.fired)


@pytest.mark.parametrize("timers", soaked([1000, 10_000], 1))
async def test_thousands_of_timers(place: Place, timers: int) -> None:
    now = place.clock.now()
    for number in range(timers):
        place.timers.set(f"job {number}", now + 3600 + number * 7919 % 10_007, place.note("far"))
    for number in range(0, timers, 2):
        place.timers.set(f"job {number}", FOREVER, place.note("never"))
    place.timers.set("end", 0, place.note("end"))
    await until(lambda: place.fired == ["end"])
    place.ahead += 3600 + 10_007
    place.timers.follow_clock()
    await until(lambda: place.fired.count("far") == timers // 2)
