"""At which instant two mates start: what is proposed, answered and kept to (AGREED START in coscheduling.proto).

On the wire an instant is by the clock of the called domain; in this domain it is by its own wall clock, the one by
which its manager starts jobs. None is no instant: the job starts at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cosched.core.protocol import Domain
from cosched.service.clock_offset import Offset

MAX_AHEAD = 10.0  # seconds; the protocol's limit


class AgreedStart:
    """The agreed starts of one domain; times in seconds since 1970."""

    def __init__(
        self,
        lead: float | None,
        offset: Callable[[Domain], Offset | None],
        max_offset: float,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`lead`: seconds that the manager needs to start a job at an exact instant; None: it cannot. `offset`: how far
        a peer's clock is ahead of ours. `max_offset`: the most, in seconds, that this and its uncertainty may be for a
        start to be agreed on; 0: none ever is.
        """
        self._lead = lead if max_offset > 0 else None
        self._offset = offset
        self._max_offset = max_offset
        self._wall = wall

    @property
    def possible(self) -> bool:
        """Whether this domain can start a job at an exact instant, and may."""
        return self._lead is not None

    def proposal(self, peer: Domain) -> float | None:
        """The earliest instant that we can keep to if `peer` starts a job of ours' mate now, by its clock."""
        offset = self._offset(peer)
        if self._lead is None or offset is None or not self._is_small(offset):
            return None
        round_trip = 2 * offset.uncertainty  # until its answer is here
        return self._wall() + round_trip + self._lead + offset.ahead

    def _is_small(self, offset: Offset) -> bool:
        return max(abs(offset.ahead), offset.uncertainty) <= self._max_offset

    def heard(self, peer: Domain, start_at: float | None) -> float | None:
        """An instant that `peer` has answered, by our clock; it may have passed, if the answer comes late."""
        offset = self._offset(peer)
        if self._lead is None or start_at is None or offset is None:
            return None
        return self._unless_far(start_at - offset.ahead)

    def accepted(self, start_at: float | None) -> float | None:
        """When a job starts that a peer asks us to start, proposing this instant: then, or when we can, if later."""
        if self._lead is None or start_at is None:
            return None
        return self._unless_far(max(start_at, self._wall() + self._lead))

    def _unless_far(self, instant: float) -> float | None:
        return instant if instant <= self._wall() + MAX_AHEAD else None
