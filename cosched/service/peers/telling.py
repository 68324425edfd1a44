"""Tells peers that jobs of this domain have changed: what one turn has for a peer leaves as one call.

A peer that does not answer gets few calls at once, however many jobs have something to tell it: the rest waits for
these, and goes together.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from cosched.core.effects import Call
from cosched.core.events import CallFailed
from cosched.core.protocol import Domain
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.tasks import Tasks

CALL = "TellMembers"
MOST_OPEN = 4  # calls to one peer at once


class MemberNews:
    """The news of one domain's jobs for its peers. Belongs to one asyncio loop."""

    def __init__(self, domain: LiveDomain, peers: PeerClients, tasks: Tasks) -> None:
        self._domain = domain
        self._peers = peers
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._fresh: dict[Domain, list[Call]] = {}
        self._begun: set[Domain] = set()  # a call to these is about to take what is fresh
        self._open = Counter[Domain]()

    def tell(self, call: Call) -> None:
        """Tell it once the present turn is over, with what else that has for the peer."""
        self._fresh.setdefault(call.peer, []).append(call)
        self._begin(call.peer)

    def _begin(self, peer: Domain) -> None:
        if peer not in self._begun and self._open[peer] < MOST_OPEN:
            self._begun.add(peer)
            self._open[peer] += 1
            self._tasks.run(self._tell(peer))

    async def _tell(self, peer: Domain) -> None:
        self._begun.discard(peer)
        try:
            await self._send(peer, self._fresh.pop(peer))
        finally:
            self._open[peer] -= 1
        if peer in self._fresh:
            self._begin(peer)

    async def _send(self, peer: Domain, calls: list[Call]) -> None:
        began = self._loop.time()
        news: list[Any] = [call.request for call in calls]
        try:
            told = await self._peers.tell_members(peer, news)
        except CallError as error:
            outcome = str(error.failure)
            said = "peer %s cannot be told of jobs here (%s): %s"
            self._domain.sparing_log.warning((peer, CALL), said, peer, outcome, error.problem)
            self._domain.turns.happen(self._failed, calls, error)
        else:
            outcome = "answered"
            self._domain.turns.happen(self._answered, calls, told)
        self._domain.metrics.peer_call(peer, CALL, outcome, self._loop.time() - began)

    def _answered(self, calls: list[Call], told: Any) -> None:
        for call, reply in zip(calls, told, strict=True):
            self._domain.calls.answered(call, reply)

    def _failed(self, calls: list[Call], error: CallError) -> None:
        for call in calls:
            failed = CallFailed(call.job, call.request, error.failure, call.peer)
            self._domain.calls.failed(call, failed, error.problem)
