"""What events tell of peers' presence: changes, and not so many that a peer could fill the database with them."""

from __future__ import annotations

from collections import defaultdict, deque
from functools import partial

from cosched.core.protocol import Domain
from cosched.service.domain.story import Noted

MINUTE = 60  # seconds
MOST = 6  # events about one peer a minute


class PeerNews:
    """What was told of each peer last."""

    def __init__(self) -> None:
        self._last: dict[Domain, tuple[Noted, int | None]] = {}
        self._told_at: defaultdict[Domain, deque[int]] = defaultdict(partial(deque, maxlen=MOST))

    def is_news(self, peer: Domain, what: Noted, until: int | None, now: int) -> bool:
        """Return whether an event tells this, and note that it does."""
        told_at, (before, its_end) = self._told_at[peer], self._last.get(peer, (what, until))
        # A peer that says the same again may mean an end that is later by the time that has passed.
        same = what is before and abs((until or 0) - (its_end or 0)) < MINUTE
        often = len(told_at) == MOST and now - told_at[0] < MINUTE
        if told_at and (same or often):
            return False
        self._last[peer] = what, until
        told_at.append(now)
        return True
