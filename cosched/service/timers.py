"""Timers on the event loop: single ones at an instant of service time, and periodic work.

APScheduler uses the wall clock, so a step of it would shift all timers. A watch on the loop's own clock notices a step
within a second and sets all timers again. A single timer never fires before its instant.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from cosched.service.clock import Clock, boottime

WATCH_INTERVAL = 1.0  # seconds
STEP = 0.5  # seconds; smaller steps of the wall clock are ignored
MAX_WAIT = 30 * 86400.0  # seconds; a timer further ahead is set again after this time

Fire = Callable[[], object]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Timer:
    at: float  # service time
    fire: Fire
    interval: float | None = None  # seconds, for periodic work


class Timers:
    """All timers of one service. The loop calls `fire`, a plain function; its exceptions are logged.

    `speed`: seconds of the clock in one real second. If it is above one, periodic work is done at most once a second.
    """

    def __init__(self, clock: Clock, speed: float = 1.0) -> None:
        self._clock, self._speed = clock, speed
        self._timers: dict[str, _Timer] = {}
        self._watch: asyncio.TimerHandle | None = None
        self._wall_ahead = 0.0
        # Without a grace time a late job is run, not dropped. Runs of one job never overlap, since each is one plain
        # call. But APScheduler counts a run until after the loop's next turn, and would drop one that follows at once.
        defaults = {"misfire_grace_time": None, "coalesce": True, "max_instances": 1000}
        self._scheduler = AsyncIOScheduler(timezone=UTC, job_defaults=defaults)

    def start(self) -> None:
        """Start firing, in the running event loop. Timers may be set before."""
        self._wall_ahead = time.time() - boottime()
        self._scheduler.start()
        self._watch = asyncio.get_running_loop().call_later(WATCH_INTERVAL, self._look)

    def stop(self) -> None:
        """Stop firing."""
        self._timers.clear()
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
            self._scheduler.shutdown(wait=False)

    def set(self, key: str, at: float, fire: Fire) -> None:
        """Call `fire` once, at service time `at`, or soon if that is past. Replaces an earlier timer `key`."""
        self._schedule(f"at {key}", _Timer(at, fire))

    def every(self, key: str, seconds: float, fire: Fire) -> None:
        """Call `fire` every `seconds`, first after this time. Replaces earlier periodic work `key`.

        Calls that were missed because the loop was busy or the host asleep are made up for by one call.
        """
        interval = max(seconds, self._speed) if self._speed > 1 else seconds
        self._schedule(f"every {key}", _Timer(self._clock.exact() + interval, fire, interval))

    def follow_clock(self) -> None:
        """Set all timers again by the present wall clock."""
        for name, timer in self._timers.items():
            self._schedule(name, timer)

    def _schedule(self, name: str, timer: _Timer) -> None:
        self._timers[name] = timer
        wait = min(max(0.0, timer.at - self._clock.exact()) / self._speed, MAX_WAIT)
        due = datetime.now(UTC) + timedelta(seconds=wait)
        self._scheduler.add_job(self._due, "date", args=(name, timer), run_date=due, id=name, replace_existing=True)

    async def _due(self, name: str, timer: _Timer) -> None:
        if self._timers.get(name) is not timer:  # it was replaced after it was handed to the loop
            return
        now = self._clock.exact()
        if now < timer.at:  # the wall clock was set forwards, or MAX_WAIT is over
            self._schedule(name, timer)
            return
        if timer.interval is None:
            del self._timers[name]
        else:
            self._schedule(name, replace(timer, at=max(timer.at, now - timer.interval) + timer.interval))
        try:
            timer.fire()
        except Exception:
            _log.exception("the timer %s failed", name)

    def _look(self) -> None:
        wall_ahead = time.time() - boottime()
        if abs(wall_ahead - self._wall_ahead) >= STEP:
            self._wall_ahead = wall_ahead
            self.follow_clock()
        self._watch = asyncio.get_running_loop().call_later(WATCH_INTERVAL, self._look)
