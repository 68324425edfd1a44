"""When jobs ask about those with which they start, and when again: as peers come and go, and as domains drain.

A peer that was there and gives no answer has a grace (`peers`). During the grace, jobs with mates there wait: a holding
job holds on, a ready one holds or yields, a call whose outcome is unknown is repeated. When the peer is back, jobs that
missed an answer ask again at once. When the grace is over, all ask again; a peer that still gives no answer is then
unreachable. To ask again, a holding job becomes ready on the nodes that it has. If it holds again after that, the hold
ends when the first one would have ended.

A domain that drains makes no new holds and no pairs, and drops its slots. Holding jobs ask once more, and hold until
`settled_by` at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cosched.core.coscheduling.allocations import HOLDING, QUEUED, READY, Allocations
from cosched.core.coscheduling.ledger import Ledger, PairedJob, membership
from cosched.core.coscheduling.membership import NOBODY
from cosched.core.coscheduling.peers import Peers, Presence
from cosched.core.effects import AskAgain, Call, ClearTimer, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import (
    CallFailed,
    Drained,
    GraceOver,
    PatienceOver,
    PeerAway,
    PeerDrains,
    PeerLeaves,
    Resumed,
)
from cosched.core.protocol import Domain, Failure
from cosched.core.story import What, Why

ALIVE = (Failure.BUSY, Failure.SLOW)  # failures of a call to a peer that is there


@dataclass
class Asking:
    """When jobs ask about those with which they start."""

    ledger: Ledger
    peers: Peers
    allocations: Allocations

    # To ask

    def ask(self, job: PairedJob, now: int) -> list[Effect]:
        """Ask the first question of a RunJob, which goes to all others."""
        group = job.group
        assert group is not None
        job.call, job.call_since, job.hinted = None, now, False
        group.agreement, group.told = None, {}
        if group.is_pair:
            group.unanswered = NOBODY  # each question to a mate that gets no answer is told
            [peer] = group.others
            if group.question is None:
                group.question = group.lookup(job.id, job.owner, peer)
            group.asked = {peer: group.question}
            return [Call(peer, job.id, group.question)]
        group.asked = {peer: group.lookup(job.id, job.owner, peer) for peer in group.others}
        return [Call(peer, job.id, asked) for peer, asked in group.asked.items()]

    def untold(self, job: PairedJob, now: int) -> Domain | None:
        """Return who has not heard that the job was queued again, and may hear it yet; None: all have that can."""
        group, patience = membership(job), self.ledger.settings.peer_patience
        for peer, news in job.news.items():
            silent = peer in group.unanswered and now >= news.since + patience
            if peer in group.others and not silent and self.peers.away_for(peer, now) is None:
                return peer
        return None

    def ask_again(self, job: PairedJob, now: int) -> list[Effect]:
        """Have a holding job be ready again, and ask."""
        effects = self.allocations.end_hold(job, now)
        job.state, job.disclosed, job.hold_ends = READY, False, job.held_until
        self.ledger.changed[job.id] = None
        return [*effects, AskAgain(job.id), *self.ask(job, now)]

    def ask_when_unbooked(self, job: PairedJob, now: int) -> list[Effect]:
        """Have a holding job ask again; one that waits for the outcome of a proposal asks when that is over."""
        if membership(job).promise is None:
            return self.ask_again(job, now)
        job.hinted = True
        self.ledger.changed[job.id] = None
        return []

    def patience_over(self, job: PairedJob, _: PatienceOver, now: int) -> list[Effect]:
        """The job has waited long enough for those that are not submitted, or its given instant has passed."""
        passed_from = self.ledger.passed_from(job)
        if passed_from is not None:  # the clock may have been set back
            return [Reschedule(job.id)] if now >= passed_from else self.allocations.patience(job, now)
        job.alone, group = True, job.group
        noted = self.ledger.note(job, What.PATIENCE_ENDED)
        if group is None or job.state is not HOLDING or not (job.problem or group.lacks_some):
            return [*noted, Reschedule(job.id)]
        if group.is_pair and group.promise is None:
            return noted + self.ask(job, now)  # its mate may be there by now
        return noted + self.ask_when_unbooked(job, now)

    def _all_ask(self, peer: Domain | None, now: int, these: Callable[[PairedJob], bool]) -> list[Effect]:
        """Have jobs ask again that hold or are queued: of `these`, those with a mate on that peer (None: on any)."""
        effects: list[Effect] = []
        for job in self.ledger.jobs.values():
            if not job.peers or (peer is not None and peer not in job.peers) or not these(job):
                continue
            if job.state is HOLDING:
                effects += self.ask_when_unbooked(job, now)
            elif job.state is QUEUED and membership(job).promise is None:
                effects.append(Reschedule(job.id))
        return effects

    # Peers that are there or not

    def heard_of(self, peer: Domain, now: int, *, itself: bool = False) -> list[Effect]:
        """The peer is there. Not `itself`: a job was answered, but the peer may have left since."""
        if not self.ledger.settings.peer_grace or not self.peers.there(peer, even_if_it_left=itself):
            return []
        return [ClearTimer(peer, Timer.GRACE), *self._all_ask(peer, now, lambda job: job.missed)]

    def noticed(self, job: PairedJob, event: CallFailed, now: int) -> list[Effect]:
        """A job's call got no answer: what the failure says about the peer."""
        if event.failure is Failure.REFUSED:
            return self.ledger.note(job, What.PEER_REFUSED, peer=event.peer)
        return self.heard_of(event.peer, now) if event.failure in ALIVE else self.missed(event.peer, now)

    def ask_later(self, job: PairedJob, peer: Domain, now: int) -> list[Effect]:
        """Have a holding job ask again in a while: no event tells when a busy peer has time again."""
        if job.state is not HOLDING or self.peers.expects(peer, now):
            return []
        return [SetTimer(job.id, Timer.RETRY, now + self.ledger.settings.long_pause)]

    def missed(self, peer: Domain, now: int) -> list[Effect]:
        """The peer gives no answer."""
        news = self.ledger.settings.peer_grace and self.peers.away(peer, now)
        return self._await(peer) if news else []

    def _await(self, peer: Domain) -> list[Effect]:
        end = self.peers.grace_end(peer)
        return [SetTimer(peer, Timer.GRACE, end)] if end is not None else []

    def recover_peer(self, peer: Domain, presence: Presence) -> list[Effect]:
        """Take up what was known of a peer before a restart. Its grace ends when it would have ended."""
        self.peers.known[peer] = presence
        return self._await(peer)

    def peer_away(self, event: PeerAway, now: int) -> list[Effect]:
        """The peer does not answer when asked whether it is well."""
        return self.missed(event.peer, now)

    def peer_leaves(self, event: PeerLeaves, now: int) -> list[Effect]:
        """The peer stops."""
        if not self.ledger.settings.peer_grace:
            return []
        self.peers.leaves(event.peer, now, event.back_by)
        return self._await(event.peer)

    def grace_over(self, event: GraceOver, now: int) -> list[Effect]:
        """The grace of the peer is over, unless the peer has said meanwhile that it will be back later."""
        if self.peers.expects(event.peer, now):
            return self._await(event.peer)
        return self._all_ask(event.peer, now, lambda _: self.peers.away_for(event.peer, now) is not None)

    # Domains that drain

    def peer_drains(self, event: PeerDrains, now: int) -> list[Effect]:
        """The peer drains, or makes pairs again."""
        self.peers.drains(event.peer, now, event.until)
        return self._all_ask(event.peer, now, lambda _: True)

    def drained(self, event: Drained, now: int) -> list[Effect]:
        """This domain drains, and keeps no slots."""
        self.ledger.settled_by = event.settled_by
        dropped: list[Effect] = []
        for job in self.ledger.jobs.values():
            dropped += self.allocations.slots.drop(job, Why.DRAINING)
        return dropped + self._all_ask(None, now, lambda job: job.state is HOLDING)

    def resumed(self, _: Resumed, now: int) -> list[Effect]:
        """This domain makes pairs again."""
        self.ledger.settled_by = None
        return self._all_ask(None, now, lambda job: job.state is QUEUED)
