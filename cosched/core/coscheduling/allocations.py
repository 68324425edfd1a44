"""What happens to the nodes of paired jobs: a job starts on them, holds, yields or loses them, is released, or ends.

These are the rules that need no answer of a peer: scheme, cap, rule 5, yield limit, generations of holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

from cosched.core.coscheduling import holds
from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.membership import NOTHING, Membership
from cosched.core.coscheduling.peers import Peers
from cosched.core.coscheduling.slots import Slots
from cosched.core.effects import (
    ClearTimer,
    Effect,
    Hold,
    Record,
    Release,
    Reschedule,
    SetTimer,
    Start,
    Timer,
    Want,
    Yield,
)
from cosched.core.events import Finished, NodesLost, ReleaseDue, Requeued, StartedUnasked
from cosched.core.job import JobState
from cosched.core.protocol import FOREVER, NO_TERMS, EndedBy
from cosched.core.settings import Scheme
from cosched.core.story import ENDED, TOGETHER, Detail, What, Why

QUEUED, READY, HOLDING, RUNNING = JobState.QUEUED, JobState.READY, JobState.HOLDING, JobState.RUNNING
COMPLETED, CANCELLED, BY_MATE, BY_ITSELF = JobState.COMPLETED, JobState.CANCELLED, EndedBy.MATE, EndedBy.ITSELF
HOLD, YIELD = Scheme.HOLD, Scheme.YIELD  # a member that is read from its class takes 0.1 us in Python 3.11
MISSED = (Why.PEER_AWAY, Why.PEER_BUSY, Why.MATE_NOT_TOLD)  # who waits for one of these asks again at once then


@dataclass
class Allocations:
    """The nodes that the scheduler has given to paired jobs."""

    ledger: Ledger
    peers: Peers
    slots: Slots
    _patient: bool = field(default=False, compare=False)  # a timer of a job's patience has been set: see `patience`

    # Start

    def start(
        self, job: PairedJob, now: int, why: Why, at: float | None = None, **detail: Unpack[Detail]
    ) -> list[Effect]:
        """A job with nodes starts."""
        effects = self.end_hold(job, now) if job.state is HOLDING else []
        return [*self.runs(job, now, why, at, **detail), *effects, Start(job.id, at)]

    def started(self, job: PairedJob, event: StartedUnasked, now: int) -> list[Effect]:
        """The resource manager has started the job unasked."""
        effects = self.end_hold(job, now) if job.state is HOLDING else []
        job.allocation = event.allocation or job.allocation
        why = Why.STARTED_UNASKED if job.peers else Why.NO_MATE
        return [*self.runs(job, now, why), *effects]

    def runs(
        self, job: PairedJob, now: int, why: Why, at: float | None = None, **detail: Unpack[Detail]
    ) -> list[Effect]:
        """The job has been started."""
        ledger = self.ledger
        if job.ready_at is None:
            job.ready_at = now
        group = job.group
        ended = [] if group is None or group.agreement is None else self.slots.abandon(job)
        nobody_asks = group is None  # nor is anybody told
        if group is not None:
            group.asked = group.checks = NOTHING
            together = tuple(group.partners) if group.without else group.others
            group.know_of_start = together if why in TOGETHER else group.ended
            all_know = group.know_of_start is group.others or not ledger.enabled
            nobody_asks = all_know and ledger.continues and group.terms is NO_TERMS
        if not nobody_asks or job.ending is not None:
            ledger.moved[job.id] = job.state
        job.state = RUNNING
        ledger.wanted.pop(job.id, None)
        job.started_at = now
        job.start_at = at
        job.in_doubt |= job.call is not None and job.uncertain  # it matters if the job is queued again
        job.call = None
        job.runs += 1
        job.hold_ends, job.missed = 0, False
        effects = [*ended, Record(job.id, What.STARTED, why, detail)] if ledger.story else ended
        if job.slot is not None:
            effects += self.slots.end(job)
        if self._patient:
            effects.append(ClearTimer(job.id, Timer.PATIENCE))
        return effects

    # Hold or yield

    def wait(
        self, job: PairedJob, now: int, why: Why, scheme: Scheme | None = None, **detail: Unpack[Detail]
    ) -> list[Effect]:
        """Hold or yield, by scheme and within the rules."""
        if self._may_hold(job, scheme or self._scheme(job, now), now):
            return self.hold(job, now, why, **detail)
        return self.pass_over(job, now, why, **detail)

    def would_hold(self, job: PairedJob, now: int) -> bool:
        """Return whether the job would hold now; leaves the hold's end in `held_until`."""
        return self._may_hold(job, self._scheme(job, now), now)

    def may_still_hold(self, job: PairedJob, now: int) -> bool:
        """Return whether a job may still hold: others may hold by now, and either domain may drain."""
        job.held_until = min(job.held_until, self.ledger.settling_end)
        return not self._is_capped(job, now) and self._scheme(job, now) is HOLD and job.held_until > now

    def hold(self, job: PairedJob, now: int, why: Why, **detail: Unpack[Detail]) -> list[Effect]:
        """The job keeps its nodes until `held_until`, and waits for the others."""
        job.state = HOLDING
        job.call = None
        job.generation += 1
        job.holds += 1
        job.held_since = now
        job.hold_ends, job.missed = 0, why in MISSED
        nodes = job.nodes
        self.ledger.held_nodes += nodes
        if job.group is not None:
            job.group.kept_until = 0
        effects: list[Effect] = []
        if self.ledger.story:  # else the detail need not be made
            detail |= {"until": job.keeps_nodes_until(now), "generation": job.generation, "nodes": nodes}
            effects += self.ledger.note(job, What.HOLDS, self._reason(job, why, now), **detail)
        return [*effects, Hold(job.id, job.held_until), *self._timers_of_hold(job, now)]

    def _timers_of_hold(self, job: PairedJob, now: int) -> list[Effect]:
        timers: list[Effect] = []
        if job.held_until < FOREVER:
            timers.append(SetTimer(job.id, Timer.RELEASE, job.held_until))
        if pause := self.ledger.settings.hold_check:
            timers.append(SetTimer(job.id, Timer.CHECK, now + pause))
        return timers

    def pass_over(self, job: PairedJob, now: int, why: Why, **detail: Unpack[Detail]) -> list[Effect]:
        """The job yields: it gives its nodes back."""
        job.missed = why in MISSED
        if not self.ledger.story:
            return [Yield(job.id, self.yields(job, now))]
        if self._scheme(job, now) is HOLD and self._is_capped(job, now):
            detail["capped"] = True
            if job.nodes > self.ledger.cap:
                detail["too_large"] = True
            elif not self._above_cap(job):
                detail["over_budget"] = True
        boost = self.yields(job, now)
        told: Detail = {"yields": job.yields, **detail}
        return [*self.ledger.note(job, What.YIELDS, self._reason(job, why, now), **told), Yield(job.id, boost)]

    def yields(self, job: PairedJob, now: int) -> float:
        """A ready job is queued again, with a boost for its yields."""
        self._end_readiness(job)
        if job.yielded_at != now:  # counts once an instant
            job.yields += 1
            job.yielded_at = now
        return self.boost(job)

    def give_back(self, job: PairedJob) -> list[Effect]:
        """A ready job gives its nodes back. It has not yielded."""
        self._end_readiness(job)
        return [Yield(job.id, self.boost(job))]

    def boost(self, job: PairedJob) -> float:
        """Return the factor on the job's score, for its yields."""
        return holds.yield_boost(self.ledger.settings, job.yields)

    def _scheme(self, job: PairedJob, now: int) -> Scheme:
        """The scheme for this job. At the limit of its yields it holds (IV-E2); where a domain drains, it yields."""
        settings = self.ledger.settings
        drains = self.ledger.settled_by is not None and not job.hold_ends
        if settings.slots or drains or (self.peers.known and self._peer_drains(job, now)):
            return YIELD
        if job.group is not None and not job.group.is_pair and self._gives_way(job.group, now):
            return YIELD
        return HOLD if 0 < settings.max_yields <= job.yields else settings.scheme

    def _gives_way(self, group: Membership, now: int) -> bool:
        """Return whether a group that comes before this one waits for nodes here: no other holds any then."""
        others = (self.ledger.jobs[id].group for id in self.ledger.wanted)
        return any(other is not None and other.rank < group.rank and now < other.wanted_until for other in others)

    def _may_hold(self, job: PairedJob, scheme: Scheme, now: int) -> bool:
        """Return whether the job would hold now, by scheme, cap and rule 5; leaves the hold's end in `held_until`."""
        if not job.cannot_yield and (scheme is not HOLD or self._is_capped(job, now)):
            return False
        job.held_until = self._release_time(job, job.generation + 1, now)
        if job.cannot_yield:
            return True
        until = job.held_until = min(job.held_until, job.hold_ends or FOREVER, self.ledger.settling_end)
        return until > now and (job.hold_limit == FOREVER or until <= job.hold_limit)

    def _is_capped(self, job: PairedJob, now: int) -> bool:
        return self._above_cap(job) or not self.ledger.may_hold(job.id, now)

    def _above_cap(self, job: PairedJob) -> bool:
        return self.ledger.kept_beside(job.id) + job.nodes > self.ledger.cap

    def _release_time(self, job: PairedJob, generation: int, since: int) -> int:
        ledger = self.ledger
        return holds.release_time(ledger.settings, ledger.domain, ledger.known_as(job.id), generation, since)

    def _reason(self, job: PairedJob, why: Why, now: int) -> Why:
        """Return why the job holds or yields. If a domain drains, that is why, whatever was said of the mate."""
        if self.ledger.settled_by is not None:
            return Why.DRAINING
        if not self.peers.known or why is Why.PEER_AWAY:
            return why
        return Why.PEER_DRAINING if self._peer_drains(job, now) else why

    def _peer_drains(self, job: PairedJob, now: int) -> bool:
        return any(self.peers.is_draining(peer, now) for peer in job.peers)

    # The end of a hold or of a readiness that is no start

    def release(self, job: PairedJob, _: ReleaseDue, now: int) -> list[Effect]:
        """The job has held for long enough."""
        if job.cannot_yield:
            job.held_until = self._release_time(job, job.generation, now)
            noted = self.ledger.note(job, What.HOLDS_ON, until=job.held_until)
            return [*noted, SetTimer(job.id, Timer.RELEASE, job.held_until)]
        effects = self.end_hold(job, now)
        job.state = QUEUED
        return [*self.ledger.note(job, What.RELEASED, generation=job.generation), *effects, Release(job.id)]

    def lose_nodes(self, job: PairedJob, _: NodesLost, now: int) -> list[Effect]:
        """The nodes of a ready or holding job are gone."""
        effects = []
        if job.state is HOLDING:
            effects = self.end_hold(job, now)
            job.state = QUEUED
        else:
            self._end_readiness(job)
        claimed_again = self.slots.claim_from(job, now + self.ledger.settings.retry_interval)
        return [*self.ledger.note(job, What.LOST_NODES), *effects, *claimed_again]

    def end_hold(self, job: PairedJob, now: int) -> list[Effect]:
        """The job holds no longer."""
        job.call = None
        if job.group is not None:
            job.group.asked = NOTHING
        nodes = job.nodes
        self.ledger.held_nodes -= nodes
        job.held_node_seconds += nodes * (now - job.held_since)
        return [ClearTimer(job.id, Timer.RELEASE)]

    @staticmethod
    def _end_readiness(job: PairedJob) -> None:
        job.state = QUEUED
        job.call = None
        job.hold_ends = 0
        if job.group is not None:
            job.group.agreement, job.group.kept_until = None, 0
        if job.disclosed:
            job.generation += 1  # a peer took this readiness for a hold: its StartJob for that must come too late

    # The end of a job, or of a run

    def finished(self, job: PairedJob, event: Finished, now: int) -> list[Effect]:
        """The job ended, or was cancelled."""
        effects = self.end_hold(job, now) if job.state is HOLDING else []
        if job.slot is not None:
            effects += self.slots.drop(job, Why.ENDED)
        if job.wanted and job.state is QUEUED:
            effects.append(Want(job.id, False))
        if (group := job.group) is not None and self.ledger.enabled:
            all_know = group.know_of_start is group.others and not group.bonds
            if not all_know or event.how is not COMPLETED:  # else nobody is told
                self.ledger.moved[job.id] = job.state
        job.state = event.how
        job.ended_at = now
        job.ended_by = event.by if event.how is CANCELLED or event.by is BY_MATE else BY_ITSELF
        self.ledger.wanted.pop(job.id, None)
        job.call = None
        noted = self.ledger.note(job, ENDED[event.how], None if job.again else job.ending) if self.ledger.story else []
        job.ending, job.again = None, False
        if self._patient:
            effects.append(ClearTimer(job.id, Timer.PATIENCE))
        return noted + effects

    def requeued(self, job: PairedJob, event: Requeued, now: int) -> list[Effect]:
        """The running job is queued again. Mates that ask are told so from now on."""
        self.ledger.moved[job.id], job.state = job.state, QUEUED
        job.started_at = job.start_at = None
        if job.group is not None:
            job.group.know_of_start = ()
        return [*self.ledger.note(job, What.REQUEUED, event.why), *self.patience(job, now), Reschedule(job.id)]

    # Timers

    def patience(self, job: PairedJob, since: int) -> list[Effect]:
        """Return the timer of the job's patience with others that are not submitted, which began at `since`.

        Where the instant of its group is given, patience ends with that.
        """
        group, patience = job.group, self.ledger.settings.mate_patience
        if group is None or (group.at is None and patience is None):
            return []
        self._patient = True
        if (passed_from := self.ledger.passed_from(job)) is not None:
            return [SetTimer(job.id, Timer.PATIENCE, passed_from)] if since < passed_from else []
        assert patience is not None
        return [SetTimer(job.id, Timer.PATIENCE, since + patience)]

    def recover_hold(self, job: PairedJob) -> list[Effect]:
        """Take up a hold as it was recorded. One without a release timer gets one if the settings have it now."""
        self.ledger.held_nodes += job.nodes
        if job.held_until == FOREVER:
            job.held_until = self._release_time(job, job.generation, job.held_since)
        return self._timers_of_hold(job, self.ledger.now)
