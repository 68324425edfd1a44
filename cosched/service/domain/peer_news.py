"""What events tell of peers' presence: changes, and not so many that a peer could fill the database with them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from cosched.core.protocol import Domain
from cosched.service.domain.story import Noted

MINUTE = 60  # seconds
MOST = 6  # events about one peer a minute


@dataclass(slots=True)
class _Told:
    what: Noted
    until: int | None
    at: deque[int] = field(default_factory=lambda: deque(maxlen=MOST))  # when it was told


class PeerNews:
    """What was told of each peer last."""

    def __init__(self) -> None:
        self._told: dict[Domain, _Told] = {}

    def is_news(self, peer: Domain, what: Noted, until: int | None, now: int) -> bool:
        """Return whether an event tells this, and note that it does."""
        told = self._told.setdefault(peer, _Told(what, until))
        # A peer that says the same again may mean an end that is later by the time that has passed.
        same = what is told.what and abs((until or 0) - (told.until or 0)) < MINUTE
        often = len(told.at) == MOST and now - told.at[0] < MINUTE
        if told.at and (same or often):
            return False
        told.what, told.until = what, until
        told.at.append(now)
        return True
