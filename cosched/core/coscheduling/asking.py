"""Peers that come and go, and what the jobs whose mates they have do meanwhile.

A peer that was there and gives no answer has a grace (`presence`). Until that is over its jobs wait: a holding job
holds on, a ready one holds or yields, a call whose outcome is unknown is repeated. When the peer is back those that
have missed an answer ask again at once. When the grace is over all ask again, and a peer that gives no answer then is
unreachable. To ask again, a holding job becomes ready on the nodes that it has; if it holds on after that, its hold
ends when it would have ended.

A job that has not started may be given another mate, which it then asks for in the same way.

A domain that drains makes no new holds and no pairs. What holds asks once more, and holds until `settled_by` at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cosched.core.coscheduling.allocations import AWAY, HOLDING, QUEUED, READY, IllegalEvent, named_mate
from cosched.core.coscheduling.incoming import AskedJobs
from cosched.core.coscheduling.mates import PairedJob
from cosched.core.coscheduling.peers import Presence, Presences
from cosched.core.effects import AskAgain, Call, ClearTimer, Effect, Reschedule, SetTimer, Timer
from cosched.core.events import Drained, GraceOver, Linked, PeerAway, PeerDrains, PeerLeaves, PeerThere, Resumed
from cosched.core.protocol import Domain, Failure, GetMateJobId, Request, StartJob, TryStartMate
from cosched.core.settings import CoschedulingSettings, Scheme

ALIVE = (Failure.BUSY, Failure.SLOW)


class PatientJobs(AskedJobs):
    """The paired jobs of one policy domain whose peers come and go."""

    def __init__(
        self,
        domain: Domain,
        nodes: int,
        settings: CoschedulingSettings,
        *,
        owners: Mapping[tuple[Domain, str], str] | None = None,
        story: bool = True,
    ) -> None:
        super().__init__(domain, nodes, settings, owners=owners, story=story)
        self.presences = Presences()

    # Peers that are there or not

    def expects(self, peer: Domain, now: int) -> bool:
        """Whether the peer is away, and waited for."""
        end = self.grace_end(peer)
        return end is not None and now < end

    def away_for(self, peer: Domain, now: int) -> int | None:
        """The seconds for which the peer has been away; None: it is not, or never was there."""
        known = self.presences.known.get(peer)
        return now - known.away_since if known is not None and known.away_since is not None else None

    def grace_end(self, peer: Domain) -> int | None:
        """Until when a peer that is away is waited for; None: it is not away, or never was there."""
        grace = self.settings.peer_grace
        return self.presences.grace_end(peer, grace) if grace else None

    def _is_heard_of(self, peer: Domain, now: int, *, itself: bool = False) -> list[Effect]:
        """The peer answers; `itself`: not a question of a job, whose answer may have been under way as it left."""
        if not self.settings.peer_grace or not self.presences.there(peer, even_if_it_left=itself):
            return []
        return [ClearTimer(peer, Timer.GRACE), *self._ask_for_all(peer, now, lambda job: job.missed)]

    def _is_missed(self, peer: Domain, now: int) -> list[Effect]:
        """The peer gives no answer."""
        if not self.settings.peer_grace or not self.presences.away(peer, now):
            return []
        return self._await(peer)

    def _await(self, peer: Domain) -> list[Effect]:
        end = self.grace_end(peer)
        return [SetTimer(peer, Timer.GRACE, end)] if end is not None else []

    def recover_peer(self, peer: Domain, presence: Presence) -> list[Effect]:
        """Take up what was known of a peer before a restart, which lengthens no grace."""
        self.presences.known[peer] = presence
        return self._await(peer)

    def _peer_there(self, event: PeerThere, now: int) -> list[Effect]:
        return self._is_heard_of(event.peer, now, itself=True)

    def _peer_away(self, event: PeerAway, now: int) -> list[Effect]:
        return self._is_missed(event.peer, now)

    def _peer_leaves(self, event: PeerLeaves, now: int) -> list[Effect]:
        if not self.settings.peer_grace:
            return []
        self.presences.leaves(event.peer, now, event.back_by)
        return self._await(event.peer)

    def _grace_over(self, event: GraceOver, now: int) -> list[Effect]:
        if self.expects(event.peer, now):
            return self._await(event.peer)
        return self._ask_for_all(event.peer, now, lambda _: self.away_for(event.peer, now) is not None)

    # Domains that drain

    def _peer_drains(self, event: PeerDrains, now: int) -> list[Effect]:
        self.presences.drains(event.peer, now, event.until)
        return self._ask_for_all(event.peer, now, lambda _: True)

    def _drained(self, event: Drained, now: int) -> list[Effect]:
        self.settled_by = event.settled_by
        return self._ask_for_all(None, now, lambda job: job.state is HOLDING)

    def _resumed(self, _: Resumed, now: int) -> list[Effect]:
        self.settled_by = None
        return self._ask_for_all(None, now, lambda job: job.state is QUEUED)

    def _scheme(self, job: PairedJob, now: int) -> Scheme:
        drains = self.settled_by is not None and not job.hold_ends
        if drains or self.presences.is_draining(job.peer, now):
            return Scheme.YIELD
        return super()._scheme(job, now)

    def _reason(self, job: PairedJob, why: str, now: int) -> str:
        if self.settled_by is not None:
            return "Draining"
        return "PeerDraining" if why != AWAY and self.presences.is_draining(job.peer, now) else why

    # Another mate

    def _linked(self, job: PairedJob, event: Linked, now: int) -> list[Effect]:
        """A job with nodes asks for its new mate with them."""
        if type(job.call) in (TryStartMate, StartJob):
            raise IllegalEvent(f"Linked, but the mate of job {job.id} may just have started")
        was = {"was": named_mate(job)} if job.peer else {}
        self.mates.link(job, event.peer, event.pair, event.mate)
        job.or_alone, job.alone, job.problem = event.or_alone, False, ""
        noted = self._note(job, "is linked", pair=event.pair, mate=event.mate, peer=event.peer, **was)
        return [*noted, *self._patience(job, now), *self._asks_for_it(job, now)]

    def _asks_for_it(self, job: PairedJob, now: int) -> list[Effect]:
        if job.state is QUEUED:
            return [Reschedule(job.id)]
        return self._ask_again(job, now) if job.state is HOLDING else self._ask_for_mate(job, now)

    # To ask again

    def _ask_for_all(self, peer: Domain | None, now: int, these: Callable[[PairedJob], bool]) -> list[Effect]:
        """Those of these jobs that hold or are queued, and have their mates on that peer (None: on any), ask again."""
        effects: list[Effect] = []
        for job in self.mates.jobs.values():
            if not job.peer or peer not in (None, job.peer) or not these(job):
                continue
            if job.state is HOLDING:
                effects += self._ask_again(job, now)
            elif job.state is QUEUED:
                effects.append(Reschedule(job.id))
        return effects

    def _ask_again(self, job: PairedJob, now: int) -> list[Effect]:
        effects = self._end_hold(job, now)
        job.state, job.disclosed, job.hold_ends = READY, False, job.held_until
        return [*effects, AskAgain(job.id), *self._ask_for_mate(job, now)]

    def _ask_for_mate(self, job: PairedJob, now: int) -> list[Effect]:
        """The first question of a RunJob."""
        return self._call(job, GetMateJobId(job.id, job.pair, job.mate, job.owner), now)

    def _call(self, job: PairedJob, request: Request, now: int) -> list[Effect]:
        job.call = request
        job.call_since = now
        job.uncertain = False
        return [Call(job.peer, job.id, request)]


PEER_EVENTS: dict[type, Callable[[PatientJobs, Any, int], list[Effect]]] = {
    PeerThere: PatientJobs._peer_there,
    PeerAway: PatientJobs._peer_away,
    PeerLeaves: PatientJobs._peer_leaves,
    PeerDrains: PatientJobs._peer_drains,
    GraceOver: PatientJobs._grace_over,
    Drained: PatientJobs._drained,
    Resumed: PatientJobs._resumed,
}
