"""What is known of the states of mates and members, since when, and whether it may be out of date (life.md, 6)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

from cosched.core.protocol import Domain, JobId, MateStatus, Status

FRESH = 30.0  # seconds for which a state is shown without asking anew
OVER = (Status.ENDED, Status.CANCELLED, Status.FAILED)  # it changes no more
SPARE = 1000  # states of jobs that are not there any more, before they are dropped
Key = tuple[JobId, Domain]


class MateState(NamedTuple):
    """What its domain said last, and when that was here."""

    mate: JobId
    status: Status
    at: int


class MateStates:
    """The states of the mates of one domain's jobs, in memory: after a restart they are asked for."""

    def __init__(self) -> None:
        self._states: dict[JobId, dict[Domain, MateState]] = {}
        self._changed: dict[Key, float] = {}  # when each has changed last, as its domain says
        self._asked: dict[Key, float] = {}  # when each was asked for, or told, by the monotonic clock

    def of(self, job: JobId) -> Mapping[Domain, MateState]:
        """Return those of a job's mates, by domain."""
        return self._states.get(job, {})

    def note(self, job: JobId, peer: Domain, mate: JobId, answer: MateStatus, now: int) -> None:
        """Note what the mate's domain says."""
        self._states.setdefault(job, {})[peer] = MateState(mate, answer.status, now)
        self._asked[job, peer] = time.monotonic()

    def outdate(self, job: JobId, peer: Domain) -> None:
        """Note that the mate has changed, as its domain says: what was said before counts no more."""
        self._asked.pop((job, peer), None)
        self._changed[job, peer] = time.monotonic()
        if (state := self.of(job).get(peer)) is not None and state.status in OVER:
            del self._states[job][peer]  # another is in its place

    def changed(self, job: JobId, peer: Domain) -> float:
        """Return when the mate has changed last, as its domain says, by the monotonic clock."""
        return self._changed.get((job, peer), float("-inf"))

    def said_since(self, job: JobId, peer: Domain, since: float) -> bool:
        """Return whether a state was noted after that instant of the monotonic clock."""
        return self._asked.get((job, peer), since) > since

    def may_be_old(self, job: JobId, peer: Domain, mate: JobId, fresh: float = FRESH) -> bool:
        """Return whether the state may have changed by now, and was not asked for in the last `fresh` seconds."""
        state = self.of(job).get(peer)
        if state is not None and state.mate == mate and state.status in OVER:
            return False
        if state is not None and state.mate != mate:
            return True
        asked = self._asked.get((job, peer))
        return asked is None or time.monotonic() >= asked + fresh

    def asks(self, job: JobId, peer: Domain) -> None:
        """Note that the state is being asked for: not again for a while, whatever comes of it."""
        self._asked[job, peer] = time.monotonic()

    def drop_all_but(self, jobs: Collection[JobId]) -> None:
        """Drop what is known for jobs that are not among these, once that is much."""
        if len(self._asked) + len(self._changed) > 4 * len(jobs) + SPARE:
            self._changed = {key: at for key, at in self._changed.items() if key[0] in jobs}
            self._states = {job: states for job, states in self._states.items() if job in jobs}
            self._asked = {key: at for key, at in self._asked.items() if key[0] in jobs}
