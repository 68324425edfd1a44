"""News between services in lock-step: they call each other, one by one, in the order in which news has come up.

That order is in the file that all of them map (replay.proto). Which domain has the next news is not known here: all are
asked, round after round.
"""

from __future__ import annotations

from collections.abc import Sequence

from cosched.core.protocol import Domain
from cosched_adapters.replay_time import SharedTime
from cosched_sim.federation.live_player import LivePlayer
from cosched_sim.federation.player import Phase


class LiveLink:
    """The `News` of all services of a replay."""

    def __init__(self, players: Sequence[LivePlayer], time: SharedTime) -> None:
        self._players = players
        self._time = time
        self._changed: dict[Domain, None] = {}

    @property
    def has_news(self) -> bool:
        return self._time.has_news

    def deliver(self, now: int) -> None:
        is_last = False  # in the last round all say what has changed by it
        while not is_last:
            is_last = not self._time.has_news
            for player in self._players:
                self._changed |= dict.fromkeys(player.advance(now, (Phase.NEWS,)))

    def take_changed(self) -> list[Domain]:
        changed = list(self._changed)
        self._changed.clear()
        return changed

    def take_called(self) -> list[Domain]:
        return [player.name for player in self._players]  # services call each other
