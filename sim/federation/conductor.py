"""Advances players through their traces in lock-step, with events in the order of `sim.engine` (scheduling.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cosched.core.scheduling.primitives.tables import NEVER
from cosched.sim.engine import STALLED_ROUNDS
from cosched.sim.federation.player import ALL, EVENTS, Advanced, Phase, Player


class Conductor:
    """One run in lock-step. Call `run` once, then read `now` and `stalled`. `players` are in configuration order."""

    def __init__(self, players: Sequence[Player], tell: Callable[[int], None] = lambda _: None) -> None:
        """`tell` is called with each new instant first, but not with those that a player goes through alone."""
        self.now = 0
        self.stalled = False  # True: the run ended because only forced releases remained, and they changed nothing
        self._players = players
        self._index = {player.name: i for i, player in enumerate(players)}
        self._tell = tell
        self._idle_instants = 0

    def run(self) -> None:
        """Run until no event is left, or only forced releases that change nothing."""
        while not self.stalled and (now := self._next()) is not None:
            self.now = now
            self._tell(now)
            self._instant()

    def _next(self) -> int | None:
        return min((player.next for player in self._players if player.next is not None), default=None)

    def _instant(self) -> None:
        active = [i for i, player in enumerate(self._players) if player.next == self.now]
        if len(active) == 1 and self._players[active[0]].has_submissions:
            self._alone(active[0])
        else:
            self._phases(active)

    def _alone(self, i: int) -> None:
        """Advance the only domain with something to do until another one has something to do."""
        others = [player.next for player in self._players if player is not self._players[i]]
        until = min((instant for instant in others if instant is not None), default=NEVER)
        advanced = self._players[i].advance(self.now, ALL, until)
        self.now = advanced.instant
        if advanced.timers_fired:
            self._idle_instants = 1  # the count after an instant that is not idle: the domain has jobs to submit
        self._iterate(self._numbers(advanced), (), first=i + 1)

    def _phases(self, active: Sequence[int]) -> None:
        events: Sequence[Phase] = EVENTS
        if any(self._players[i].has_timer(self.now) for i in active):
            self._together(active, (Phase.COMPLETIONS,))
            if self._goes_round_in_circles():
                self.stalled = True
                return
            self._together(active, (Phase.TIMERS,), but_first=len(active) == 1)
            events = EVENTS[1:] if len(active) == 1 else EVENTS[2:]
        # Apart from timers, domains do not affect each other until one of them iterates.
        self._together(active, events, but_first=True)
        self._iterate(active, events)

    def _together(self, active: Sequence[int], phases: Sequence[Phase], *, but_first: bool = False) -> None:
        """Take all active domains through these phases; `but_first` leaves the first domain for later."""
        for i in active[but_first:]:
            self._advance(i, phases)

    def _iterate(self, active: Iterable[int], before: Sequence[Phase], first: int = 0) -> None:
        """Go round the domains, starting with `first`, until no iteration is due.

        The first domain to iterate goes through the phases `before` it does so.
        """
        due = set(active)
        while due:
            for i in range(first, len(self._players)):
                if i in due:
                    due.remove(i)
                    due |= self._advance(i, (*before, Phase.ITERATIONS))
                    before = ()
            first = 0

    def _advance(self, player: int, phases: Sequence[Phase]) -> set[int]:
        """Advance a domain; return the indices of the domains in which that started a job."""
        return self._numbers(self._players[player].advance(self.now, phases))

    def _numbers(self, advanced: Advanced) -> set[int]:
        """Return the indices of the domains that a step has changed."""
        return {self._index[name] for name in advanced.changed}

    def _goes_round_in_circles(self) -> bool:
        """Whether only forced releases have happened for long: no job runs or arrives."""
        if any(player.has_jobs for player in self._players):
            self._idle_instants = 0
        self._idle_instants += 1
        return self._idle_instants > STALLED_ROUNDS
