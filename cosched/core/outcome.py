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
from cosched.core.protocol import Domain, JobId
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.run_times import Changed
from cosched.core.scheduling.scheduler import OpenScheduler, Order
from cosched.core.scheduling.starts import Owner, Starts

ORDERS = frozenset(get_args(Order))


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
    """All that comes of a turn. `look_at`: when the scheduler wants to go on though nothing happens; None: never.

    `awaited`: the job for whose answer an iteration waits.
    """

    keep: Keep
    then: list[Change | Order]
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
        look_at, then = None, list[Change | Order]()
        if iterate:
            look_at = self.scheduler.next_event(now)
            then += self.schedule(now)
        then += self.scheduler.take_orders()
        return Outcome(self._keep(), then, look_at, self.scheduler.awaited)

    def _keep(self) -> Keep:
        coscheduler, scheduler = self.coscheduler, self.scheduler
        jobs = [*coscheduler.ledger.take_changed(), *scheduler.take_changed()]
        news = coscheduler.peers.take_changed()
        peers = coscheduler.peers.known if news else None
        run_times = None if scheduler.run_times is None else scheduler.run_times.take_changed() or None
        use, kept, slot_use = coscheduler.ledger.slot_use, scheduler.kept_of_domain(), None
        if use.changed:
            use.changed, slot_use = False, use.until
        of_scheduler = kept if kept != self._kept else None
        self._kept = kept
        return Keep(jobs, scheduler.starts.take_changed(), news, peers, slot_use, run_times, of_scheduler)
