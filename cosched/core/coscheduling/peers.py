"""Which peers of a domain are there, which are away and since when, and which drain.

A peer that was there and gives no answer is away. It has a grace before it counts as unreachable: `peer_grace` from its
first unanswered call on, or until the instant by which it said it would be back, whichever is later. A peer that was
never there has no grace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.core.coscheduling.ledger import Ledger
from cosched.core.kept import Kept
from cosched.core.protocol import Domain

MAX_ABSENCE = 7 * 86400  # seconds; no job waits longer for a peer, whatever the peer said


@dataclass(slots=True)
class Presence:
    """What is known of a peer that was there; all instants."""

    away_since: Kept[int | None] = None  # None: it is there
    back_by: Kept[int] = 0  # when it said that it would be back; 0: it said nothing
    left: Kept[bool] = False  # it said goodbye: a late answer does not mean that it is back
    drains_until: Kept[int] = 0  # it makes no pairs until then


@dataclass(slots=True)
class Peers:
    """The peers that were there at least once. `changed`: those with news since the last `take_changed`."""

    ledger: Ledger
    known: dict[Domain, Presence] = field(default_factory=dict)
    changed: set[Domain] = field(default_factory=set)

    # What is told of them

    def there(self, peer: Domain, *, even_if_it_left: bool) -> bool:
        """The peer was heard of. Return whether it had been away."""
        known = self.known.get(peer)
        if known is None:
            self.known[peer] = Presence()
            self.changed.add(peer)
            return False
        if known.away_since is None or (known.left and not even_if_it_left):
            return False
        known.away_since, known.back_by, known.left = None, 0, False
        self.changed.add(peer)
        return True

    def away(self, peer: Domain, now: int) -> bool:
        """The peer gives no answer. Return whether it was there until now."""
        known = self.known.get(peer)
        if known is None or known.away_since is not None:
            return False
        known.away_since = now
        self.changed.add(peer)
        return True

    def leaves(self, peer: Domain, now: int, back_by: int) -> None:
        """The peer stops, and says when it will be back (0: soon)."""
        known = self.known.setdefault(peer, Presence())
        if known.away_since is None:
            known.away_since = now
        known.back_by, known.left = min(back_by, now + MAX_ABSENCE), True
        self.changed.add(peer)

    def drains(self, peer: Domain, now: int, until: int) -> None:
        """The peer makes no pairs until then; 0: it makes pairs again."""
        known = self.known.setdefault(peer, Presence())
        known.drains_until = min(until, now + MAX_ABSENCE)
        self.changed.add(peer)

    # What follows

    def expects(self, peer: Domain, now: int) -> bool:
        """Return whether the peer is away and its grace lasts: jobs wait for it."""
        end = self.grace_end(peer)
        return end is not None and now < end

    def is_back(self, peer: Domain) -> bool:
        """Return whether the peer is there, though a call failed: it was heard of since. False if none has a grace."""
        known = self.known.get(peer)
        return bool(self.ledger.settings.peer_grace) and known is not None and known.away_since is None

    def away_for(self, peer: Domain, now: int) -> int | None:
        """Return the seconds for which the peer has been away; None: it is not, or never was there."""
        known = self.known.get(peer)
        return now - known.away_since if known is not None and known.away_since is not None else None

    def grace_end(self, peer: Domain) -> int | None:
        """Until when a peer that is away is waited for; None: it is not away, or never was there."""
        grace, known = self.ledger.settings.peer_grace, self.known.get(peer)
        if not grace or known is None or known.away_since is None:
            return None
        return max(known.away_since + grace, known.back_by)

    def is_draining(self, peer: Domain, now: int) -> bool:
        """Return whether the peer makes no pairs now."""
        known = self.known.get(peer)
        return known is not None and now < known.drains_until

    def take_changed(self) -> list[Domain]:
        """Return the peers with news since the last call."""
        changed = sorted(self.changed)
        self.changed.clear()
        return changed
