"""Calls between the policy domains of one process, for players that play some of them each."""

from __future__ import annotations

from typing import Protocol

from cosched.core.events import Asked
from cosched.core.protocol import Domain, Reply, has_changed


class Callee(Protocol):
    """Who answers for some domains."""

    def answer(self, domain: Domain, asked: Asked, now: int) -> Reply:
        """Answer a peer's call of that domain. Iterations that follow run when the conductor says so."""


class Link:
    """Carries calls between those that have joined it; they are answered at once."""

    def __init__(self) -> None:
        self._callees: dict[Domain, Callee] = {}
        self.changed: dict[Domain, None] = {}  # domains in which a call has changed the schedule, in order

    def join(self, domain: Domain, callee: Callee) -> None:
        """From now on it answers for that domain."""
        self._callees[domain] = callee

    def call(self, peer: Domain, asked: Asked, now: int) -> Reply:
        """The peer's answer."""
        reply = self._callees[peer].answer(peer, asked, now)
        if has_changed(asked.request, reply):
            self.changed[peer] = None
        return reply

    def take_changed(self) -> list[Domain]:
        """The domains in which a call has changed the schedule since the last time."""
        changed = list(self.changed)
        self.changed.clear()
        return changed
