"""The gauges of a service that are read when they are scraped (see `metrics`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from cosched.certificates.pem import expires
from cosched.core.protocol import Domain
from cosched.service.api.views import Views
from cosched.service.configuration import Configuration
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.peers import PeerClients


def measure(configuration: Configuration, domain: LiveDomain, views: Views, peers: PeerClients) -> None:
    """Tell the gauges of a service where they find their values at the moment of a scrape."""
    metrics = domain.metrics
    for state, gauge in metrics.jobs.items():
        gauge.set_function(partial(_count, views.job_counts, state))
    for state, gauge in metrics.nodes.items():
        gauge.set_function(partial(_count, views.node_counts, state))
    metrics.booked_nodes.set_function(domain.records.booked_nodes)
    metrics.drained_until.set_function(partial(_drained_until, domain))
    metrics.owners_starts.read = lambda: domain.scheduler.starts.by_owner(domain.clock.now())
    for peer in peers.views():
        metrics.peer_clock_offset(peer.name).set_function(partial(_peer_clock, peers, peer.name, "ahead"))
        metrics.peer_clock_uncertainty(peer.name).set_function(partial(_peer_clock, peers, peer.name, "uncertainty"))
    for account, budget in domain.records.charges.accounts.budgets.items():
        metrics.account_budget(account).set(budget)
        metrics.account_held(account).set_function(partial(_held_by, domain, account))
    path, tls = configuration.domain.state, configuration.tls
    metrics.database_bytes.set_function(lambda: path.stat().st_size)
    if tls is not None:
        metrics.certificate_expiry(tls.certificate.name).set_function(lambda: expires(tls.certificate))


def _held_by(domain: LiveDomain, account: str) -> float:
    """Return the node-seconds that an account's jobs have held in the last day."""
    return float(domain.records.charges.used(account, domain.clock.now()))


def _drained_until(domain: LiveDomain) -> float:
    """Return the end of the drain in seconds since 1970; NaN if the domain does not drain."""
    drain = domain.draining.present
    return math.nan if drain is None else float(domain.clock.to_wall(drain.until))


def _peer_clock(peers: PeerClients, peer: Domain, field: str) -> float:
    """Return a field of the offset of the peer's clock; NaN if it is unknown."""
    return float(getattr(peers.clock_offset(peer), field, math.nan))


def _count(counts: Callable[[], Any], state: str) -> int:
    return int(getattr(counts(), state))
