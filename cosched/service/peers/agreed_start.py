"""Instants between two domains: the agreed start of two mates (AGREED START in coscheduling.proto), holds and slots.

On the wire an instant is by the clock of the called domain. Inside this domain it is by our wall clock, which the
manager uses to start jobs. None means that the job starts at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection

from cosched.core.protocol import FOREVER, Domain, JobId
from cosched.service.peers.clock_offset import Offset

MAX_AHEAD = 10.0  # seconds; the protocol's limit
AHEAD = 1.0  # seconds; a start that is so near is at once where the manager needs no notice


class AgreedStart:
    """The agreed starts of one domain. Times are in seconds since 1970."""

    def __init__(
        self,
        lead: Callable[[], float] | None,
        offset: Callable[[Domain], Offset | None],
        max_offset: float,
        wall: Callable[[], float] = time.time,
        *,
        waits: bool = False,
        peer_waits: Callable[[Domain], bool] = lambda _: False,
    ) -> None:
        """`lead`: the seconds of notice that the manager needs for a start at an exact instant; None: it cannot.
        `offset`: how far a peer's clock is ahead of ours. `max_offset`: the largest offset and uncertainty, in seconds,
        with which we agree on a start; 0: we never do. `waits`: without a `lead`, starts wait for an instant that lies
        `AHEAD`. `peer_waits`: whether a peer says that of itself.
        """
        self._lead = lead if max_offset > 0 else None
        self.waits = max_offset > 0 and (waits or lead is not None)
        self._peer_waits = peer_waits
        self.notice: Callable[[JobId], float] = lambda _: 0.0  # seconds that a job's nodes may still be others'
        self._offset = offset
        self._max_offset = max_offset
        self._wall = wall
        self._proposed: dict[JobId, float] = {}  # by our clock

    def proposal(self, peer: Domain, job: JobId) -> float | None:
        """Return the earliest start, by the clock of `peer`, that we can keep to if `peer` starts our job's mate now.

        It is valid until the call is `over`. If the mates' domains ask each other at the same time, both keep to the
        later of their two proposals.
        """
        offset, notice = self._offset(peer), self.notice(job)
        if offset is None or not self._is_small(offset) or (self._lead is None and not (notice and self.waits)):
            return None
        round_trip = 2 * offset.uncertainty  # until the answer arrives
        proposed = self._proposed[job] = self._wall() + round_trip + notice + (self._lead() if self._lead else 0.0)
        return proposed + offset.ahead

    def can_be_ahead(self, peer: Domain, seconds: float) -> bool:
        """Return whether `peer` would agree on a start that lies so far ahead."""
        offset = self._offset(peer)
        near = offset is not None and self._is_small(offset) and seconds + 2 * offset.uncertainty + AHEAD <= MAX_AHEAD
        return self.waits and near and self._peer_waits(peer)

    def over(self, job: JobId) -> None:
        """Forget the proposal: its call has ended."""
        self._proposed.pop(job, None)

    def _is_small(self, offset: Offset) -> bool:
        return max(abs(offset.ahead), offset.uncertainty) <= self._max_offset

    def here(self, peer: Domain, instant: int) -> int:
        """Convert an instant from the clock of `peer` to ours if the offset is known; 0 and FOREVER stay."""
        offset = self._offset(peer)
        if offset is None or instant in (0, FOREVER):
            return instant
        return max(1, round(instant - offset.ahead))

    def there(self, peer: Domain, instant: int) -> int:
        """Convert an instant from our clock to that of `peer` if the offset is known; 0 and FOREVER stay."""
        offset = self._offset(peer)
        if offset is None or instant in (0, FOREVER):
            return instant
        return max(1, math.floor(instant + offset.ahead + 0.5))

    def wait(self, peer: Domain, instant: int) -> float:
        """Return how long after an instant, in seconds, it has surely come by the clock of `peer` too."""
        offset = self._offset(peer)
        if offset is None:
            return 0.0
        return max(0.0, self.there(peer, instant) - offset.ahead - instant) + offset.uncertainty

    def heard(self, peer: Domain, start_at: float | None) -> float | None:
        """Convert a start in an answer of `peer` to our clock. It may have passed if the answer comes late."""
        offset = self._offset(peer)
        if not self.waits or start_at is None or offset is None:
            return None
        return self._unless_far(start_at - offset.ahead)

    def accepted(self, start_at: float | None, job: JobId) -> float | None:
        """Return when our `job` starts if a peer proposes this instant: then, or later if we need more time."""
        notice, now = self.notice(job) if self.waits else 0.0, self._wall()
        if not notice and (start_at is None or not self.waits):
            return None
        earliest = now + notice + (self._lead() if self._lead else 0.0)
        at = max(start_at or 0.0, earliest, self._proposed.get(job, 0.0))
        return self._unless_far(at) if self._lead or at >= now + AHEAD else None

    def group_proposal(self, peer: Domain, others: Collection[Domain]) -> float | None:
        """Return the earliest start, by the clock of `peer`, that we can keep to with all `others` of a group.

        All of them have answered by then, and know the outcome.
        """
        return self.settled_there(peer, self._earliest(others, 2))

    def group_heard(self, peer: Domain, start_at: float | None, others: Collection[Domain]) -> float | None:
        """Convert a start in an answer of `peer` to our clock; later if the others would learn of it too late."""
        heard, earliest = self.heard(peer, start_at), self._earliest(others, 1)
        return None if heard is None or earliest is None else max(heard, earliest)

    def settled_there(self, peer: Domain, start_at: float | None) -> float | None:
        """Convert the start of a group to the clock of `peer`."""
        offset = self._offset(peer)
        return None if start_at is None or offset is None else start_at + offset.ahead

    def settled(self, start_at: float | None) -> float | None:
        """Return when our job starts if its group starts then."""
        return None if not self.waits or start_at is None else self._unless_far(start_at)

    def _earliest(self, peers: Collection[Domain], round_trips: int) -> float | None:
        """Return the earliest start by our clock, so many round trips to these peers from now."""
        offsets = [offset for offset in map(self._offset, peers) if offset is not None and self._is_small(offset)]
        if self._lead is None or len(offsets) < len(peers):
            return None
        return self._wall() + self._lead() + round_trips * max(2 * offset.uncertainty for offset in offsets)

    def _unless_far(self, instant: float) -> float | None:
        return instant if instant <= self._wall() + MAX_AHEAD else None
