"""The timers of a policy domain, or of all domains of a simulation: at most one of each kind for a job or a peer."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from itertools import count
from operator import attrgetter

from cosched.core import events
from cosched.core.effects import OF_SLOTS, ClearTimer, SetTimer, Timer
from cosched.core.protocol import FOREVER, Domain, JobId

TimerEvent = events.JobEvent | events.GraceOver

TIMER_EVENTS: dict[Timer, type[TimerEvent]] = {  # what a timer that is due tells
    Timer.RELEASE: events.ReleaseDue,
    Timer.PATIENCE: events.PatienceOver,
    Timer.RETRY: events.RetryDue,
    Timer.TELL: events.TellDue,
    Timer.GRACE: events.GraceOver,
    Timer.LEASE: events.LeaseOver,
    Timer.SLOT: events.SlotDue,
    Timer.LAPSE: events.SlotLapsed,
    Timer.CHECK: events.CheckDue,
    Timer.SUCCESSOR: events.SuccessorDue,
}

_Key = tuple[Domain, JobId | Domain, Timer]


class TimerQueue:
    """Timers by their moment; those of one moment in the order in which they were set, those of slots last.

    Those of several domains come domain by domain. A shell has one timer of its own, for what `next` returns; then it
    takes what is due.
    """

    def __init__(self) -> None:
        # A moment of the instant of a timer, or later. A live domain spreads what two domains would else do together.
        self.moment: Callable[[SetTimer], float] = attrgetter("at")
        self._at: dict[_Key, float] = {}
        self.order: Mapping[Domain, int] = {}  # the place of each of several domains
        self._heap: list[tuple[float, bool, int, int, _Key]] = []  # may contain timers that were cleared or replaced
        self._number = count()
        self._next: float | None = FOREVER  # None: to be looked for

    def set(self, domain: Domain, timer: SetTimer) -> None:
        """Set a timer of this domain."""
        key = domain, timer.job, timer.timer
        self._next = None
        self._at[key] = at = self.moment(timer)
        heapq.heappush(self._heap, (at, timer.timer in OF_SLOTS, self.order.get(domain, 0), next(self._number), key))

    def clear(self, domain: Domain, timer: ClearTimer) -> None:
        """Forget a timer, if there is one."""
        self._at.pop((domain, timer.job, timer.timer), None)
        self._next = None

    def next(self) -> float:
        """Return the next moment at which a timer is due, or FOREVER."""
        if (due := self._next) is None:
            heap, set_at = self._heap, self._at
            while heap and set_at.get(heap[0][-1]) != heap[0][0]:
                heapq.heappop(heap)
            due = self._next = heap[0][0] if heap else FOREVER
        return due

    def take(self, now: float, *, of_slots: bool | None = None) -> tuple[Domain, TimerEvent] | None:
        """Remove the next timer, if it is due, and is (or is not) one of a slot; return its domain and its event."""
        if self.next() > now or (of_slots is not None and self._heap[0][1] is not of_slots):
            return None
        *_, key = heapq.heappop(self._heap)
        self._next = None
        del self._at[key]
        domain, job, timer = key
        return domain, TIMER_EVENTS[timer](job)
