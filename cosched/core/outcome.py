"""A policy domain whose state outlives a restart: at the end of each turn it tells all that comes of it, as one value.

The shell records what is to `keep`, and carries out what follows `then`. A simulation, which keeps nothing, needs none
of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.peers import Presence
from cosched.core.domain import Change, Illegal, PolicyDomain
from cosched.core.effects import Answer
from cosched.core.job import JobState
from cosched.core.protocol import Domain, JobId, MateTried, MutatingRequest
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.run_times import Changed
from cosched.core.scheduling.scheduler import OpenScheduler, Order
from cosched.core.scheduling.starts import Owner, Starts

ORDERS = frozenset(get_args(Order))
NO_STARTS: Mapping[tuple[Owner, int], Starts] = {}


class Keep(NamedTuple):
    """What may have changed since the last outcome, as it is now; of the last four None: nothing."""

    jobs: list[JobId]  # a job may be there twice
    starts: Mapping[tuple[Owner, int], Starts]
    news: list[Domain]  # peers about which more is known now
    peers: Mapping[Domain, Presence] | None
    slot_use: Mapping[str, int] | None
    run_times: Changed | None
    scheduler: Mapping[str, Any] | None  # what it keeps beside its jobs


class Outcome(NamedTuple):
    """All that comes of a turn. `wake_at`: when the first timer is due, or FOREVER.

    `look_at`: when the scheduler wants to go on though nothing happens; None: never.
    `awaited`: the job for whose answer an iteration waits.
    """

    keep: Keep
    then: list[Change | Order]
    wake_at: float
    look_at: int | None
    awaited: JobId | None


class LastingDomain(PolicyDomain):
    """A policy domain whose state outlives a restart."""

    scheduler: OpenScheduler

    def __init__(
        self, coscheduler: Coscheduler, scheduler: OpenScheduler, illegal: Illegal, places: Places | None = None
    ) -> None:
        """See PolicyDomain."""
        super().__init__(coscheduler, scheduler, illegal, places)
        self._kept = scheduler.kept_of_domain()

    def settle(self, now: int, *, iterate: bool) -> Outcome:
        """End a turn: run the iterations that follow, if they may run now; return what comes of all of it."""
        look_at = self.scheduler.next_event(now) if iterate else None
        then = [*(self.schedule(now) if iterate else ()), *self.scheduler.take_orders()]
        ledger, peers, scheduler = self.coscheduler.ledger, self.coscheduler.peers, self.scheduler
        jobs = [*ledger.changed, *scheduler.take_changed()]
        ledger.changed.clear()
        starts = scheduler.starts.take_changed() if scheduler.starts.changed else NO_STARTS
        news = peers.take_changed() if peers.changed else []
        slot_use = ledger.slot_use.until if ledger.slot_use.changed else None
        ledger.slot_use.changed = False
        run_times = None if scheduler.run_times is None else scheduler.run_times.take_changed() or None
        before, self._kept = self._kept, scheduler.kept_of_domain()
        of_scheduler = self._kept if self._kept != before else None
        keep = Keep(jobs, starts, news, peers.known if news else None, slot_use, run_times, of_scheduler)
        return Outcome(keep, then, self.timers.next(), look_at, scheduler.awaited)

    def look_again_at(self, answer: Answer, now: int) -> int | None:
        """Return when to iterate again though nothing happens, since a queued job could not be started for its mate.

        None: not for this answer. The nodes of the job that an iteration waits for may be what is missing. If it gives
        them back, the iteration goes on behind it, perhaps past the other job: two domains that ask each other for
        different pairs would leave it at that.
        """
        request, reply = answer.request, answer.answer
        if not isinstance(request, MutatingRequest) or not isinstance(reply, MateTried) or reply.started:
            return None
        if not self.coscheduler.names.is_mate(answer.peer, request.caller, request.job):
            return None
        queued = self.coscheduler.jobs[request.job].state is JobState.QUEUED
        return now + 1 if queued and self.scheduler.awaited is not None else None
