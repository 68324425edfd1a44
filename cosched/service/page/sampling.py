"""Notes every few minutes what nodes and jobs do, for the page's history."""

from __future__ import annotations

import logging

from cosched.service.api.views import Views
from cosched.service.clock import Clock
from cosched.service.store import Sample, Store, StoreError

LEAST = 300.0  # seconds between two samples
MOST = 2016  # samples that are kept: a week of the least
_LOG = logging.getLogger(__name__)


def take_sample(store: Store, clock: Clock, views: Views, history: int) -> None:
    """Store what is now, and forget what is older than `history` seconds."""
    now, nodes, jobs = clock.now(), views.node_counts(), views.job_counts()
    waiting = jobs.queued + jobs.ready
    sample = Sample(now, nodes.idle, nodes.busy, nodes.held, waiting, jobs.holding, jobs.running)
    try:
        with store.transaction():
            store.add_sample(sample, now - history)
    except StoreError as error:
        _LOG.error("the page's history has a gap: %s", error)


def sample_interval(history: int) -> float:
    """Return the seconds between two samples."""
    return max(LEAST, history / MOST)
