"""Regular maintenance: follow the wall clock, and remove old jobs."""

from __future__ import annotations

import logging

from cosched.service.clock import Clock
from cosched.service.metrics import Metrics
from cosched.service.store import Store, StoreError
from cosched.service.timers import Timers

LOOK_AT_CLOCK = 5.0  # seconds
RETIRE = 3600.0
PORTION = 500  # old jobs removed at a time; everything else waits meanwhile, less than a tenth of a second
SHIFT = "clock shift"  # its key in the store

_LOG = logging.getLogger(__name__)


class Upkeep:
    """The clock's shift and the old jobs of one store."""

    def __init__(self, store: Store, clock: Clock, timers: Timers, metrics: Metrics, retention: int) -> None:
        """`retention`: seconds that ended jobs are kept."""
        self._store, self._clock, self._timers = store, clock, timers
        self._metrics, self._retention = metrics, retention

    def start(self) -> None:
        """Start the periodic work."""
        self._timers.every("clock", LOOK_AT_CLOCK, self._look_at_clock)
        self._timers.every("retire", RETIRE, self._retire)

    def _look_at_clock(self) -> None:
        step = self._clock.look()
        if not step:
            return
        _LOG.warning("the wall clock was set by %+d s; holds keep their length", step)
        self._metrics.clock_steps.inc()
        self._timers.follow_clock()
        try:
            with self._store.transaction():
                self._store.set_meta(SHIFT, str(self._clock.shift))
        except StoreError as error:
            _LOG.error("the clock's shift cannot be kept: %s", error)

    def _retire(self) -> None:
        now = self._clock.now()
        before = now - self._retention
        try:
            with self._store.transaction():
                portion = self._store.portion(before, PORTION)
                gone = self._store.retire(portion)
        except StoreError as error:
            _LOG.error("old jobs cannot be removed: %s", error)
            return
        _LOG.info("%d old jobs removed", gone)
        if portion < before:
            self._timers.set("retire more", now + 1, self._retire)


def opened_clock(store: Store) -> Clock:
    """Return the clock as the last run left it, never before the last event, even if the wall clock was set back."""
    clock = Clock(int(store.meta(SHIFT) or 0))
    last = store.events(store.last_sequence() - 1, (), (), 1)
    behind = last[-1].at - clock.now() if last else 0
    if behind <= 0:
        return clock
    _LOG.warning("the wall clock is %d s behind the last event on record", behind)
    return Clock(clock.shift - behind)
