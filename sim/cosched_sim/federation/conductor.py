"""Advances players through their traces in lock-step: the order of events (scheduling.md), and when a run ends.

Who plays a domain makes no difference. In all phases but the last, domains may go through a phase in any order. Jobs
that end or are submitted call nobody. What a script does comes before any timer. A timer asks a peer for a mate's id:
the answer depends on what ended before and on what is submitted later at that instant, but on no other timer. Only a
patience that ends may have a job that holds start with others, whose domains then iterate, too. A slot that has come
starts the two jobs of a pair, on nodes that were planned for them alone; so it does not matter which of several slots
comes first. That jobs have changed is heard by those with which they start, or have started, when all these events are
over (`News`). In the last phase domains iterate in configuration order, round after round, each until nothing changes.
One in which nothing has changed since it did so may be left out of a round.
"""

from __future__ import annotations

import gc
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from cosched.core.protocol import Domain
from cosched.core.scheduling.primitives.tables import NEVER
from cosched_sim.federation.player import EVENTS, Phase, Player

STALLED_ROUNDS = 1000  # a replay gives up after so many instants in a row with nothing but forced releases


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no cycles of objects meanwhile: a simulation makes none, and the search takes time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class News(Protocol):
    """What domains are to hear of others: `link.Link` within a process, `live_link.LiveLink` between services."""

    @property
    def has_news(self) -> bool:
        """Whether there is any that they have not heard."""

    def deliver(self, now: int) -> None:
        """Have all domains hear it, and what comes up by that."""

    def take_changed(self) -> Sequence[Domain]:
        """Return the domains in which that has changed the schedule since the last time."""

    def take_called(self) -> Iterable[Domain]:
        """Return the domains whose next instants may differ since the last time, though they have not advanced."""


class Agenda:
    """The next instants of players, who are asked again only if something has happened to them since."""

    def __init__(self, players: Sequence[Player]) -> None:
        self._players = players
        self._at: list[int | None] = [None] * len(players)
        self._heap: list[tuple[int, int]] = []  # may still contain instants that have changed
        self.renew(range(len(players)))

    def renew(self, moved: Iterable[int]) -> None:
        """Ask these players for their next instants."""
        for index in moved:
            at = self._players[index].next
            if at != self._at[index]:
                self._at[index] = at
                if at is not None:
                    heapq.heappush(self._heap, (at, index))

    @property
    def first(self) -> int:
        """The next instant, or NEVER."""
        heap = self._heap
        while heap and self._at[heap[0][1]] != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else NEVER

    def take(self, now: int) -> list[int]:
        """Return the players with something to do at this first instant, who are to be asked again."""
        due = set()
        while self.first == now:
            index = heapq.heappop(self._heap)[1]
            self._at[index] = None
            due.add(index)
        return sorted(due)


class Conductor:
    """One run in lock-step. Call `run` once, then read `now` and `stalled`."""

    def __init__(
        self,
        players: Sequence[Player],
        link: News,
        tell: Callable[[int], None] = lambda _: None,
        order: Sequence[Domain] | None = None,
        stride: int = NEVER,
    ) -> None:
        """`tell` is called with each new instant first, but not with those that a player goes through alone.

        `order`: all domains, in configuration order; that of the players, if it is not given. `stride`: the longest
        time, in seconds of the traces, that a player goes on alone.
        """
        self.now = 0
        self.stalled = False  # True: the run ended because only forced releases remained, and they changed nothing
        self._players = players
        self._index = {domain: index for index, player in enumerate(players) for domain in player.domains}
        self._agenda = Agenda(players)
        self._moved: set[int] = set()  # players to whom something has happened since they were asked
        self._order = order or list(self._index)
        self._place = {domain: place for place, domain in enumerate(self._order)}
        self._tell = tell
        self._stride = stride
        self._link = link
        self._idle_instants = 0

    def run(self) -> None:
        """Run until no event is left, or only forced releases that change nothing."""
        while not self.stalled and (now := self._agenda.first) < NEVER:
            self.now = now
            self._tell(now)
            self._instant()
            self._renew()

    def _renew(self) -> None:
        """Ask those to whom something has happened."""
        self._moved.update(self._index[domain] for domain in self._link.take_called())
        self._agenda.renew(self._moved)
        self._moved.clear()

    def _instant(self) -> None:
        due = self._agenda.take(self.now)
        self._moved.update(due)
        active = [self._players[index] for index in due]
        if len(active) == 1 and (active[0].has_submissions or not active[0].has_timer(self.now)):
            self._alone(active[0])
        else:
            self._phases(active)

    def _alone(self, player: Player) -> None:
        """Let the only player with something to do go on until another one has something to do."""
        advanced = player.go_on(self.now, min(self._agenda.first, self.now + self._stride))
        self.now = advanced.instant
        if advanced.timers_fired:
            self._idle_instants = 1  # the count after an instant that is not idle: the player has jobs
        if advanced.before_timers:
            if not self._stands_still():
                changed = player.advance(self.now, EVENTS[1:])
                self._iterate([*changed, *self._deliver(), *player.domains])
        elif advanced.last is None:
            self._iterate([*advanced.changed, *self._deliver(), *player.domains])
        else:
            changed = [*advanced.changed, *self._go_on_iterating(advanced.last)]
            self._iterate(changed, first=self._place[advanced.last] + 1)

    def _phases(self, active: Sequence[Player]) -> None:
        events: Sequence[Phase] = EVENTS
        changed: list[Domain] = []
        if self._has_timer(active):
            self._together(active, (Phase.COMPLETIONS,))
            if self._stands_still():
                return
            self._together(active, (Phase.SCRIPT,))
            changed += self._together(active, (Phase.TIMERS,))
            if self._has_timer(active):
                changed += self._together(active, (Phase.SLOTS,))
            events = (Phase.SUBMISSIONS,)
        self._together(active, events)
        due = [*changed, *(domain for player in active for domain in player.domains)]
        self._iterate([*due, *self._deliver()])

    def _deliver(self) -> Sequence[Domain]:
        """Have all domains hear what they are to hear; return those in which that may have changed something."""
        if not self._link.has_news:
            return []
        self._link.deliver(self.now)
        return self._link.take_changed()

    def _has_timer(self, players: Iterable[Player]) -> bool:
        return any(player.has_timer(self.now) for player in players)

    def _together(self, players: Iterable[Player], phases: Sequence[Phase]) -> list[Domain]:
        return [domain for player in players for domain in player.advance(self.now, phases)]

    def _iterate(self, due: Iterable[Domain], first: int = 0) -> None:
        """Go round the domains, starting with the `first`, until no iteration is due."""
        left = {self._place[domain] for domain in due}
        while left:
            round_ = sorted(place for place in left if place >= first)
            while round_:
                place = heapq.heappop(round_)
                left.remove(place)
                domain = self._order[place]
                self._moved.add(index := self._index[domain])
                changed = self._players[index].iterate(domain, self.now)
                for other in map(self._place.__getitem__, {*changed, *self._go_on_iterating(domain)}):
                    if other not in left:
                        left.add(other)
                        if other > place:
                            heapq.heappush(round_, other)
            first = 0

    def _go_on_iterating(self, domain: Domain) -> set[Domain]:
        """Deliver news, for which a service stops in the midst of an iteration, and have it go on.

        Return the domains that have changed.
        """
        changed = set[Domain]()
        while self._link.has_news:
            changed.update(self._deliver())
            changed.discard(domain)
            changed.update(self._players[self._index[domain]].iterate(domain, self.now))
        return changed

    def _stands_still(self) -> bool:
        """Timers are due. Whether only forced releases have happened for long: no job runs or arrives."""
        if any(player.has_jobs for player in self._players):
            self._idle_instants = 0
        self._idle_instants += 1
        self.stalled = self._idle_instants > STALLED_ROUNDS
        return self.stalled
