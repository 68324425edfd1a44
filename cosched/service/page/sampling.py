"""Notes every few minutes what nodes and jobs do, for the page's history."""

from __future__ import annotations

import logging

from cosched.service.api.views import Views
from cosched.service.clock import Clock
from cosched.service.store import Sample, Store, StoreError
from cosched.service.timers import Timers

LEAST = 300.0  # seconds between two samples
MOST = 2016  # samples that are kept: a week of the least
_LOG = logging.getLogger(__name__)


class Sampling:
    """The samples of one domain, kept for `history` seconds."""

    def __init__(self, store: Store, clock: Clock, views: Views, history: int) -> None:
        self._store = store
        self._clock = clock
        self._views = views
        self._history = history

    def start(self, timers: Timers) -> None:
        """Take one now, and more from time to time."""
        self.take()
        timers.every("sample", sample_interval(self._history), self.take)

    def take(self) -> None:
        """Store what is now."""
        now, nodes, jobs = self._clock.now(), self._views.node_counts(), self._views.job_counts()
        waiting = jobs.queued + jobs.ready
        sample = Sample(now, nodes.idle, nodes.busy, nodes.held, waiting, jobs.holding, jobs.running)
        try:
            with self._store.transaction():
                self._store.add_sample(sample, now - self._history)
        except StoreError as error:
            _LOG.error("the page's history has a gap: %s", error)


def sample_interval(history: int) -> float:
    """Return the seconds between two samples."""
    return max(LEAST, history / MOST)
