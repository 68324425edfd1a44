"""The gauges of a service that are read when they are scraped (see `metrics`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from cosched.certificates.pem import expires
from cosched.core.protocol import Domain
from cosched.service.api.views import Views
from cosched.service.configuration import Configuration
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.peers import PeerClients


@dataclass(frozen=True, slots=True)
class Gauges:
    """What a service measures of itself at the moment of a scrape."""

    _configuration: Configuration
    _domain: LiveDomain
    _views: Views
    _peers: PeerClients

    def measure(self) -> None:
        """Tell the gauges where they find their values."""
        metrics = self._domain.metrics
        for state, gauge in metrics.jobs.items():
            gauge.set_function(partial(_count, self._views.job_counts, state))
        for state, gauge in metrics.nodes.items():
            gauge.set_function(partial(_count, self._views.node_counts, state))
        metrics.booked_nodes.set_function(self._domain.records.booked_nodes)
        metrics.drained_until.set_function(self._drained_until)
        metrics.owners_starts.read = lambda: self._domain.scheduler.starts.by_owner(self._domain.clock.now())
        for peer in self._peers.views():
            metrics.peer_clock_offset(peer.name).set_function(partial(self._peer_clock, peer.name, "ahead"))
            uncertainty = partial(self._peer_clock, peer.name, "uncertainty")
            metrics.peer_clock_uncertainty(peer.name).set_function(uncertainty)
        for account, budget in self._domain.records.charges.accounts.budgets.items():
            metrics.account_budget(account).set(budget)
            metrics.account_held(account).set_function(partial(self._held_by, account))
        path, tls = self._configuration.domain.state, self._configuration.tls
        metrics.database_bytes.set_function(lambda: path.stat().st_size)
        if tls is not None:
            metrics.certificate_expiry(tls.certificate.name).set_function(lambda: expires(tls.certificate))

    def _held_by(self, account: str) -> float:
        """Return the node-seconds that an account's jobs have held in the last day."""
        return float(self._domain.records.charges.used(account, self._domain.clock.now()))

    def _drained_until(self) -> float:
        """Return the end of the drain in seconds since 1970; NaN if the domain does not drain."""
        drain = self._domain.draining.present
        return math.nan if drain is None else float(self._domain.clock.to_wall(drain.until))

    def _peer_clock(self, peer: Domain, field: str) -> float:
        """Return a field of the offset of the peer's clock; NaN if it is unknown."""
        return float(getattr(self._peers.clock_offset(peer), field, math.nan))


def _count(counts: Callable[[], Any], state: str) -> int:
    return int(getattr(counts(), state))
