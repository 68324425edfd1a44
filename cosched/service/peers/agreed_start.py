"""At which instant two mates start: what is proposed, answered and kept to (AGREED START in coscheduling.proto).

On the wire an instant is by the clock of the called domain; in this domain it is by its own wall clock, the one by
which its manager starts jobs. None is no instant: the job starts at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cosched.core.protocol import FOREVER, Domain, JobId
from cosched.service.peers.clock_offset import Offset

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
        self._proposed: dict[JobId, float] = {}  # by our clock

    def proposal(self, peer: Domain, job: JobId) -> float | None:
        """The earliest instant that we can keep to if `peer` starts the mate of our `job` now, by its clock.

        It counts until the call is `over`: if the mates' domains ask each other at the same time, both keep to the
        later of their two proposals.
        """
        offset = self._offset(peer)
        if self._lead is None or offset is None or not self._is_small(offset):
            return None
        round_trip = 2 * offset.uncertainty  # until its answer is here
        proposed = self._proposed[job] = self._wall() + round_trip + self._lead
        return proposed + offset.ahead

    def over(self, job: JobId) -> None:
        """The call for which an instant was proposed is over."""
        self._proposed.pop(job, None)

    def _is_small(self, offset: Offset) -> bool:
        return max(abs(offset.ahead), offset.uncertainty) <= self._max_offset

    def here(self, peer: Domain, instant: int) -> int:
        """An instant that `peer` has told by its clock, by ours, as far as its offset is known; 0 and FOREVER stay."""
        offset = self._offset(peer)
        if offset is None or instant in (0, FOREVER):
            return instant
        return max(1, round(instant - offset.ahead))

    def heard(self, peer: Domain, start_at: float | None) -> float | None:
        """An instant that `peer` has answered, by our clock; it may have passed, if the answer comes late."""
        offset = self._offset(peer)
        if self._lead is None or start_at is None or offset is None:
            return None
        return self._unless_far(start_at - offset.ahead)

    def accepted(self, start_at: float | None, job: JobId) -> float | None:
        """When our `job` starts if a peer asks for it, proposing this instant: then, or when we can, if later."""
        if self._lead is None or start_at is None:
            return None
        return self._unless_far(max(start_at, self._wall() + self._lead, self._proposed.get(job, 0.0)))

    def _unless_far(self, instant: float) -> float | None:
        return instant if instant <= self._wall() + MAX_AHEAD else None
