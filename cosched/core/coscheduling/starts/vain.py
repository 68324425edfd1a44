"""Peers whose proposals keep nodes here and come to nothing, again and again: they have to wait (Abuse, in schemes.md).

Proposals fail between honest domains, too, seldom often in a row, and most within a second. A start forgets them all.
As of slots, nothing is bounded where `slot_share` bounds nothing: in simulations, and replays of the paper's rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.coscheduling.ledger import Ledger
from cosched.core.protocol import Domain
from cosched.core.settings import NO_SLOT_BOUND

FREE = 3  # proposals in a row, of all jobs of a peer, that have no pause
MOST_DOUBLINGS = 6  # of the pause, which begins with the time for which the last one has kept nodes
AT_ONCE = 1  # seconds; what fails as soon does not count


@dataclass(slots=True)
class VainProposals:
    """How many proposals of each peer have kept nodes in vain since its last start, and until when it waits for it."""

    ledger: Ledger
    _in_vain: dict[Domain, int] = field(default_factory=dict)
    _until: dict[Domain, int] = field(default_factory=dict)

    def count(self, peer: Domain, kept: int, now: int) -> int | None:
        """Count a proposal that has kept nodes for so many seconds; return when the peer's pause ends, if any."""
        if kept <= AT_ONCE or self.ledger.settings.slot_share >= NO_SLOT_BOUND:
            return None
        times = self._in_vain[peer] = self._in_vain.get(peer, 0) + 1
        if times <= FREE:
            return None
        self._until[peer] = max(self._until.get(peer, 0), now + (kept << min(times - FREE, MOST_DOUBLINGS)))
        return self._until[peer]

    def pauses(self, peer: Domain, now: int) -> bool:
        """Return whether no job gets nodes now for a proposal of this peer."""
        return now < self._until.get(peer, 0)

    def forget(self, peer: Domain) -> None:
        """A proposal of the peer has led to a start."""
        self._in_vain.pop(peer, None)
        self._until.pop(peer, None)
