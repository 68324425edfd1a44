"""Peers that are there, drain or are away."""

from __future__ import annotations

from cosched.core.events import PeerAway, PeerDrains, PeerLeaves, PeerThere
from cosched.core.protocol import Domain
from cosched.core.settings import OnUnreachable
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.records import Records
from cosched.service.domain.story import utc
from cosched.service.domain.turns import Turns, in_turn

_WITHOUT = {OnUnreachable.HOLD: "holds its nodes", OnUnreachable.YIELD: "yields its turn"}


def stopped(at: int, by: int | None) -> str:
    """Say of a peer that it stopped, and when it said it would be back; in seconds since 1970."""
    return f"stopped at {utc(at)}, and said that it would be back{'' if by is None else f' by {utc(by)}'}"


class Presence:
    """What a domain hears of its peers' presence."""

    def __init__(self, decisions: Decisions, records: Records, turns: Turns) -> None:
        self.turns = turns
        self._peers = records.core.peers
        self._decisions = decisions
        self._journal = records.journal

    def expected(self) -> list[Domain]:
        """Return the peers that are away and waited for."""
        return [peer for peer in self._peers.known if self._peers.expects(peer, self._journal.clock.now())]

    def stopped(self, peer: Domain) -> tuple[int | None, int | None]:
        """Since when a peer is away that said so (None: it is not), and until when (None: soon); seconds since 1970."""
        known, clock = self._peers.known.get(peer), self._journal.clock
        if known is None or not known.left or known.away_since is None:
            return None, None
        return clock.to_wall(known.away_since), clock.to_wall(known.back_by) if known.back_by else None

    def silent(self, peer: Domain, problem: str = "", otherwise: str = "gives no answer") -> str:
        """Say that a peer gives no answer, and why: it stopped and said so, or this problem of the call."""
        at, by = self.stopped(peer)
        if at is None:
            return f"{peer} {otherwise}{': ' if problem else ''}{problem}"
        return f"{peer} {stopped(at, by)}"

    def without(self, peer: Domain, *, of_group: bool = False) -> str:
        """Say what a job with a mate or a member there does while the peer gives no answer, and when."""
        known, settings = self._peers.known.get(peer), self._peers.ledger.settings
        clock, rule = self._journal.clock, settings.on_peer_unreachable
        starts = "starts without that member" if of_group else "starts alone"
        then = f'{_WITHOUT.get(rule, starts)} (on_peer_unreachable = "{rule.value}")'
        end = self._peers.grace_end(peer)
        if known is not None and known.away_since is None:  # its first call without an answer is still to come
            end = clock.now() + settings.peer_grace
        return then if end is None or end <= clock.now() else f"waits until {utc(clock.to_wall(end))}, then {then}"

    def answers(self, peer: Domain, well: bool) -> None:
        """Note that the peer was asked for its health, and is well or gives no answer."""
        known = self._peers.known.get(peer)
        if well if known is None else well is (known.away_since is not None):  # else nothing is new
            self.turns.happen(self._decisions.feed, PeerThere(peer) if well else PeerAway(peer))

    def serves(self, peer: Domain) -> None:
        """Note that the peer says that it is here, and makes pairs."""
        self.answers(peer, True)
        if self._peers.is_draining(peer, self._journal.clock.now()):
            self.turns.happen(self._decisions.feed, PeerDrains(peer))

    def drains(self, peer: Domain, expected: int) -> None:
        """Note that the peer says that it drains, for so many seconds as far as it knows."""
        self.answers(peer, True)
        self.turns.happen(lambda: self._decisions.feed(PeerDrains(peer, self._journal.now + expected)))

    @in_turn
    def leaves(self, peer: Domain, expected: int | None) -> None:
        """Note that the peer says that it stops just now, and for how many seconds (None: a moment)."""
        self._decisions.feed(PeerLeaves(peer, 0 if expected is None else self._journal.now + expected))
