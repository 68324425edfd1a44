"""Whose jobs a domain has started in the last week, and how many of them before their turn (meet.md, Abuse)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

Owner = str
HOUR = 3600
WEEK = 7 * 24  # hours


class Starts(NamedTuple):
    """Jobs that were started, those of them before their turn, and by how many seconds these pushed the first job."""

    started: int = 0
    before_turn: int = 0
    pushed: int = 0

    def plus(self, other: Starts) -> Starts:
        """Both together."""
        return Starts(self.started + other.started, self.before_turn + other.before_turn, self.pushed + other.pushed)

    def minus(self, other: Starts) -> Starts:
        """Return these without the others."""
        return self.plus(Starts(-other.started, -other.before_turn, -other.pushed))


@dataclass(slots=True)
class RecentStarts:
    """The starts of the last 168 hours, the present one among them; `share`: see `ClusterSettings.mate_budget_share`.

    All instants are seconds; hours are counted from 0, by these.
    """

    share: Decimal = Decimal(1)
    _hour: int = 0
    _by_hour: dict[tuple[Owner, int], Starts] = field(default_factory=dict)
    _sums: dict[Owner, Starts] = field(default_factory=dict)
    changed: set[tuple[Owner, int]] = field(default_factory=set)

    def recall(self, kept: Iterable[tuple[Owner, int, Starts]]) -> None:
        """Take up what `take_changed` told in an earlier life: owner, hour, and the starts in it."""
        for owner, hour, starts in kept:
            self._add(owner, hour, starts)

    def count(self, owner: Owner, now: int, pushed: int | None) -> None:
        """A job starts. `pushed`: the seconds that it pushes the first job by; None: it is not before its turn."""
        self._enter(now)
        self._add(owner, self._hour, Starts(1) if pushed is None else Starts(1, 1, pushed))
        self.changed.add((owner, self._hour))

    def may_start_before_turn(self, owner: Owner, now: int, under_way: int = 0) -> bool:
        """Whether the owner may have one more start before its turn: they are a share of all its starts, rounded up.

        `under_way`: such jobs that have nodes, and are expected to start.
        """
        self._enter(now)
        sums = self._sums.get(owner, Starts())
        return sums.before_turn + under_way < self.share * (sums.started + under_way + 1)

    def by_owner(self, now: int) -> dict[Owner, Starts]:
        """Return the sums of all owners who have any."""
        self._enter(now)
        return dict(self._sums)

    def take_changed(self) -> dict[tuple[Owner, int], Starts]:
        """Return what has changed of what is kept since the last time, by owner and hour."""
        changed = {key: self._by_hour[key] for key in self.changed if key in self._by_hour}
        self.changed.clear()
        return changed

    def _add(self, owner: Owner, hour: int, starts: Starts) -> None:
        self._by_hour[owner, hour] = self._by_hour.get((owner, hour), Starts()).plus(starts)
        self._sums[owner] = self._sums.get(owner, Starts()).plus(starts)

    def _enter(self, now: int) -> None:
        """Forget the hours that are over for a week."""
        if now // HOUR == self._hour:
            return
        self._hour = now // HOUR
        for owner, hour in [key for key in self._by_hour if key[1] <= self._hour - WEEK]:
            left = self._sums[owner].minus(self._by_hour.pop((owner, hour)))
            if left.started:
                self._sums[owner] = left
            else:
                del self._sums[owner]
