"""meet.md, rules 1 and 2: the iteration of a domain with slots or a budget for mates. Comments quote that page.

As in iteration.py, what becomes of a job is decided elsewhere. `attempt` is told of a job that could start, and of the
profile at its turn; `early` of one that has a slot and could not start now. Both may give the job another slot.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .iteration import MayHold, Taken
from .model import RefDomain
from .state import Entry

Plan = Any  # of flat.py or blocks.py
PlannedAttempt = Callable[[Entry, object, MayHold, Plan], Taken | None]
Early = Callable[[Entry, Plan], None]


def no_earlier(_entry: Entry, _plan: Plan) -> None:
    """In dry runs slots stay where they are."""


class PlannedIteration:
    def __init__(self, plan: Plan, order: list[Entry], now: int, attempt: PlannedAttempt, early: Early = no_earlier):
        self.plan = plan
        self.order = order
        self.now = now
        self.attempt = attempt
        self.early = early
        self.asked: set[Entry] = set()  # "each has RunJob at most once an instant"
        self.reserved: object = None  # the place of EASY's reserved job

    def run(self, config: RefDomain, *, dry_run: bool = False) -> None:
        budget = Fraction(config.mate_budget)
        if budget > 0 and self.order:
            self.wanted_pass(budget, dry_run)
        self.walk(config.backfill)

    # Rule 2, step 1

    def wanted_pass(self, budget: Fraction, dry_run: bool) -> None:
        """Start wanted jobs out of their turn, as far as the budget of the first job of the queue allows it."""
        h, *others = self.order
        limit = self.limit(h, others, budget, dry_run)
        if limit is None:  # "Otherwise h has its turn first, and then comes the same pass without a limit."
            self.turn(h)
        for entry in others:  # "each wanted job without a slot, in policy order"
            if entry.wanted and entry.slot is None:
                self.out_of_turn(entry, h, math.inf if limit is None else limit)

    def limit(self, h: Entry, others: list[Entry], budget: Fraction, dry_run: bool) -> float | None:
        # "If h does not fit now, has no slot and has not been ready, and some other job is wanted:
        # s = earliest(h, now); the first time guard(h) = s + floor(beta (s - submit(h))). Limit:
        # min(max(guard(h), s), s + floor(beta (s - submit(h))))."
        if h.slot is not None or h.ready is not None or self.fit(h) is not None:
            return None
        found = self.plan.earliest(h.nodes, h.job.requested)
        if found is None or not any(entry.wanted for entry in others):
            return None
        s = found[0]
        latest = s + math.floor(budget * (s - h.job.submit))
        guard = latest if h.guard is None else h.guard
        if not dry_run:  # "dry runs of TryStartMate compute it, and do not store it"
            h.guard = guard
        return min(max(guard, s), latest)

    def out_of_turn(self, entry: Entry, h: Entry, limit: float) -> None:
        waits = h not in self.asked and h.slot is None
        reserved = self.plan.earliest(h.nodes, h.job.requested) if waits else None
        place = self.fit(entry, beside=reserved and reserved[1])
        if place is None or (waits and self.earliest_behind(entry, place, h) > limit):
            return
        if reserved is None:
            self.offer(entry, place)
            return
        # "with the profile of j's own turn (in the wanted pass also less h at its earliest)"
        time, reserved_place = reserved
        self.plan.occupy(reserved_place, time, time + h.job.requested)
        taken = self.ask(entry, place)
        self.plan.vacate(reserved_place, time, time + h.job.requested)
        self.note(entry, place, taken)

    def earliest_behind(self, entry: Entry, place: object, h: Entry) -> float:
        """Say when h could start if the other job had the place from now on."""
        end = self.now + entry.job.requested
        self.plan.occupy(place, self.now, end)
        found = self.plan.earliest(h.nodes, h.job.requested)
        self.plan.vacate(place, self.now, end)
        return math.inf if found is None else found[0]

    # Rule 2, step 2, and rule 1

    def walk(self, backfill: str) -> None:
        # "start from the front; the first that does not fit is reserved at its earliest and taken out of the profile;
        # the rest start if they fit now. Conservative: every job that does not fit is so reserved."
        reservations = 0
        for entry in self.order:
            if entry in self.asked or self.turn(entry):
                continue
            if reservations == 0 or backfill == "conservative":
                self.reserve(entry, backfill)
                reservations += 1
            if backfill == "none":
                return

    def reserve(self, entry: Entry, backfill: str) -> None:
        found = self.plan.earliest(entry.nodes, entry.job.requested)
        if found is None:  # behind a hold without end
            return
        time, place = found
        self.plan.occupy(place, time, time + entry.job.requested)
        if backfill == "easy":
            self.reserved = place

    def turn(self, entry: Entry) -> bool:
        """Answer whether the job could start or keeps a slot; otherwise it is to be reserved."""
        if entry.keeps_slot():
            return True
        if entry.slot is not None:  # "a job with a slot, at its own turn, gives back its own slot"
            self.plan.vacate(*self.booking(entry))
        place = self.fit(entry, beside=self.reserved)
        if place is not None:
            self.offer(entry, place)
            return True
        if entry.slot is None:
            return False
        self.early(entry, self.plan)
        self.plan.occupy(*self.booking(entry))
        return True

    def fit(self, entry: Entry, beside: object = None) -> object | None:
        return self.plan.fit(entry.nodes, entry.job.requested, beside)

    def offer(self, entry: Entry, place: object) -> None:
        self.note(entry, place, self.ask(entry, place))

    def ask(self, entry: Entry, place: object) -> Taken | None:
        self.asked.add(entry)

        def may_hold(release: float) -> bool:  # rule 5, as in `holds_beside_plan`
            return self.plan.is_free(place, self.now, release + entry.job.requested)

        return self.attempt(entry, place, may_hold, self.plan)

    def note(self, entry: Entry, place: object, taken: Taken | None) -> None:
        if taken is not None:
            # Behind EASY's reservation a hold counts with the run that may follow it, as in `Reservation.charge`.
            self.plan.occupy(place, self.now, taken.until if self.reserved is None else taken.claim)
        elif entry.slot is not None:
            self.plan.occupy(*self.booking(entry))

    @staticmethod
    def booking(entry: Entry) -> tuple[object, int, int]:
        return entry.slot.place, entry.slot.at, entry.slot.at + entry.job.requested
