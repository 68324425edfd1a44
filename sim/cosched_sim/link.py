"""Calls between the policy domains of one process, for players that play some of them each.

They are answered at once. But that a job has changed (TellMember) is heard later at the same instant: when all domains
have gone through its events, and before they iterate; or, if it happens while a domain iterates, before that goes on.
What follows for the jobs of a domain itself, which end or are queued again, waits for that, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Protocol

from cosched.core.effects import CancelJob, EndRun
from cosched.core.events import Answered, Asked
from cosched.core.protocol import Domain, Reply, has_changed

Untold = Asked | Answered | CancelJob | EndRun  # the first two of TellMember


class Callee(Protocol):
    """Who answers for some domains."""

    def answer(self, domain: Domain, asked: Asked, now: int) -> Reply:
        """Answer a peer's call of that domain. Iterations that follow run when the conductor says so."""

    def hear(self, domain: Domain, told: Untold, now: int) -> None:
        """Tell that domain what it is to hear, or do, by now."""

    def chance(self, domain: Domain, job: int) -> int:
        """Return whether a job could start now in that domain, whose scheduler is a batch one: `answers.chance`.

        The job is known by its row in the domain's workload.
        """


class Link:
    """Carries calls between those that have joined it; to the conductor it is the `News`."""

    def __init__(self) -> None:
        self._callees: dict[Domain, Callee] = {}
        self.changed: dict[Domain, None] = {}  # domains in which a call has changed the schedule, in order
        self._called: set[Domain] = set()  # those that were called, or told something, since the last time
        self.untold: deque[tuple[Domain, Untold]] = deque()  # what domains are to hear at this instant, in order

    @property
    def has_news(self) -> bool:
        return bool(self.untold)

    def join(self, domain: Domain, callee: Callee) -> None:
        self._callees[domain] = callee

    def call(self, peer: Domain, asked: Asked, now: int) -> Reply:
        self._called.add(peer)
        reply = self._callees[peer].answer(peer, asked, now)
        if has_changed(asked.request, reply):
            self.changed[peer] = None
        return reply

    def chance(self, domain: Domain, job: int) -> int:
        return self._callees[domain].chance(domain, job)

    def tell(self, domain: Domain, told: Untold) -> None:
        """Have that domain hear this at this instant."""
        self.untold.append((domain, told))

    def deliver(self, now: int, own: Collection[Domain] = ()) -> None:
        """Have all domains hear what they are to hear; who delivers knows what changes in its `own` ones."""
        while self.untold:
            domain, told = self.untold.popleft()
            self._called.add(domain)
            self._callees[domain].hear(domain, told, now)
            if domain not in own:
                self.changed[domain] = None

    def take_changed(self) -> list[Domain]:
        changed = list(self.changed)
        self.changed.clear()
        return changed

    def take_called(self) -> set[Domain]:
        called, self._called = self._called, set()
        return called
