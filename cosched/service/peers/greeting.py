"""Tells peers whether this domain serves, drains or stops, and notes which of them can be reached."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration

from cosched.core.protocol import Domain
from cosched.service.configuration_sections import Coscheduling
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.presence import stopped
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.peer_view import PeerView
from cosched.service.peers.peers import PeerClients
from cosched.v1 import cluster_pb2
from cosched.v1 import coscheduling_pb2 as wire

GOODBYE = 1.0  # second at most, for all peers together
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Greeting:
    """Greets the peers of a domain."""

    _domain: LiveDomain
    _peers: PeerClients
    _announcer: Announcer
    _section: Coscheduling
    _begin: Callable[[Coroutine[Any, Any, None]], None]  # starts what need not be waited for
    _serving: Callable[[], bool]  # whether the domain serves
    _conductor: bool  # which sets the time: then nobody is told anything

    def tell(self, peers: Collection[Domain] | None = None) -> None:
        """Tell these peers (None: all) that this domain is up, and whether it drains."""
        names = [view.name for view in self._peers.views()] if peers is None else peers
        if not self._conductor:
            timeout = float(self._section.peer_timeout)
            self._begin(self._peers.tell(self._presence(wire.PRESENCE_SERVING), names, timeout))

    async def say_goodbye(self) -> None:
        """Tell reachable peers that this domain stops, and when it will be back if that is known."""
        there = [view.name for view in self._peers.views() if view.state == cluster_pb2.PEER_STATE_REACHABLE]
        if not self._conductor:
            await self._peers.tell(self._presence(wire.PRESENCE_LEAVING), there, GOODBYE)

    def _presence(self, presence: wire.Presence) -> wire.TellPresenceRequest:
        drain, name = self._domain.draining.present, self._domain.name
        if drain is None:
            return wire.TellPresenceRequest(domain=name, presence=presence)
        if presence == wire.PRESENCE_SERVING:
            presence = wire.PRESENCE_DRAINING
        expected = Duration(seconds=max(0, drain.until - self._domain.clock.now()))
        return wire.TellPresenceRequest(domain=name, presence=presence, expected=expected)

    def beat(self) -> None:
        """Ask all peers whether they are there."""
        self._begin(self._peers.beat())

    def look_for_absent(self) -> None:
        """Ask the peers that are away and expected back."""
        if expected := self._domain.presence.expected():
            self._begin(self._peers.beat(expected))

    def changed(self, view: PeerView) -> None:
        """Note that a peer can be reached, or cannot be reached, from now on."""
        up, metrics = view.state == cluster_pb2.PEER_STATE_REACHABLE, self._domain.metrics
        metrics.peer_up(view.name).set(up)
        metrics.peer_refused(view.name).set(view.state == cluster_pb2.PEER_STATE_REFUSED)
        state = cluster_pb2.PeerState.Name(view.state).removeprefix("PEER_STATE_").lower()
        if up:
            self._announcer.hurry(view.name)
        at, by = self._domain.presence.stopped(view.name)
        why = view.problem if at is None or up else f"it {stopped(at, by)}"
        level = logging.INFO if up or at is not None else logging.WARNING
        _LOG.log(level, "peer %s is %s%s", view.name, state, f": {why}" if why else "")
        if up and self._serving():
            self.tell([view.name])
        if up and self._section.heartbeat_interval and not self._conductor:
            self.beat()  # its clock's offset is not known yet

    def clock_ahead(self, peer: Domain) -> timedelta:
        """Return how far a peer's clock is ahead of ours, as far as that is known."""
        offset = self._peers.clock_offset(peer)
        return timedelta(seconds=offset.ahead if offset is not None else 0)
