"""What becomes of a paired job in its own domain: it starts, holds, yields, is released, loses its nodes or ends.

Here are the rules that need no peer: scheme, cap, rule 5, yield limit, generations of holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cosched.core.coscheduling import holds
from cosched.core.coscheduling.mates import Mates, PairedJob
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
    Yield,
)
from cosched.core.events import Finished, NodesLost, ReleaseDue, Requeued, Started, Submitted, Unlinked
from cosched.core.job import JobState, may_become
from cosched.core.protocol import FOREVER, Domain, JobId
from cosched.core.settings import CoschedulingSettings, Scheme

PENDING, QUEUED, READY, HOLDING, RUNNING, COMPLETED, FAILED, CANCELLED = JobState
AWAY, BUSY = "PeerAway", "PeerBusy"
MISSED = (AWAY, BUSY)  # why jobs wait that ask again as soon as they can


class IllegalEvent(Exception):  # noqa: N818
    """An event that the job's state does not allow; nothing was changed."""


class LocalJobs:
    """The paired jobs of one policy domain of `nodes` nodes. `story`: whether Record effects are wanted."""

    def __init__(
        self,
        domain: Domain,
        nodes: int,
        settings: CoschedulingSettings,
        *,
        owners: Mapping[tuple[Domain, str], str] | None = None,
        story: bool = True,
    ) -> None:
        self.domain = domain
        self.nodes = nodes
        self.mates = Mates(owners or {})
        self.held_nodes = 0
        self.settled_by: int | None = None  # this domain drains, and holds last until then at most; None: it does not
        self.story = story
        self.known_as: Callable[[JobId], str] = str  # the name of a job by which the jitter of its holds is drawn
        self.configure(settings)

    def configure(self, settings: CoschedulingSettings) -> None:
        """Follow other settings from now on; holds in force keep their release times."""
        self.settings = settings
        self._cap = holds.held_node_cap(settings, self.nodes)

    # Submission and end

    def _submitted(self, event: Submitted, now: int) -> list[Effect]:
        job = PairedJob(event.job, event.peer, event.pair, event.mate, event.owner, or_alone=event.or_alone)
        self.mates.add(job)
        effects = self._note(job, "submitted", pair=event.pair, mate=event.mate, peer=event.peer or None)
        return effects + self._patience(job, now)

    def _patience(self, job: PairedJob, since: int) -> list[Effect]:
        if self.settings.mate_patience is None or not job.peer:
            return []
        return [SetTimer(job.id, Timer.PATIENCE, since + self.settings.mate_patience)]

    def _unlinked(self, job: PairedJob, _: Unlinked, now: int) -> list[Effect]:
        if not job.peer:
            raise IllegalEvent(f"Unlinked, but job {job.id} has no mate")
        noted = self._note(job, "is unlinked", mate=job.mate, peer=job.peer)
        self.mates.unlink(job)
        job.alone, job.problem = False, ""
        if job.state is not QUEUED:  # it has nodes, and nobody to wait for
            return noted + self._start(job, now, "unlinked from its mate")
        return [*noted, ClearTimer(job.id, Timer.PATIENCE), Reschedule(job.id)]

    def _finished(self, job: PairedJob, event: Finished, now: int) -> list[Effect]:
        if not event.how.final or not may_become(job.state, event.how):
            raise IllegalEvent(f"{event.how.name} while job {job.id} is {job.state.name}")
        effects = self._end_hold(job, now) if job.state is HOLDING else []
        job.state = event.how
        job.call = None
        return [*self._note(job, event.how.name.lower()), *effects, ClearTimer(job.id, Timer.PATIENCE)]

    # Start, hold, yield

    def _start(self, job: PairedJob, now: int, why: str, at: float | None = None, **detail: object) -> list[Effect]:
        effects = self._end_hold(job, now) if job.state is HOLDING else []
        return [*self._runs(job, now, why, at, **detail), *effects, Start(job.id, at)]

    def _started(self, job: PairedJob, _: Started, now: int) -> list[Effect]:
        effects = self._end_hold(job, now) if job.state is HOLDING else []
        why = "its resource manager did not wait" if job.peer else "it has no mate"
        return [*self._runs(job, now, why), *effects]

    def _requeued(self, job: PairedJob, _: Requeued, now: int) -> list[Effect]:
        job.state = QUEUED
        job.started_at = job.start_at = None
        return [*self._note(job, "is queued again"), *self._patience(job, now), Reschedule(job.id)]

    def _runs(self, job: PairedJob, now: int, why: str, at: float | None = None, **detail: object) -> list[Effect]:
        if job.ready_at is None:
            job.ready_at = now
        job.state = RUNNING
        job.started_at = now
        job.start_at = at
        job.call = None
        job.hold_ends, job.missed = 0, False
        effects = self._note(job, "started", why=why, **detail)
        if self.settings.mate_patience is not None:
            effects.append(ClearTimer(job.id, Timer.PATIENCE))
        return effects

    def _wait(self, job: PairedJob, now: int, why: str, scheme: Scheme | None = None, **detail: object) -> list[Effect]:
        """Hold or yield, by scheme and within the rules."""
        if self._may_hold(job, scheme or self._scheme(job, now), now):
            return self._hold(job, now, why, **detail)
        return self._yield(job, now, why, **detail)

    def _scheme(self, job: PairedJob, now: int) -> Scheme:  # noqa: ARG002
        """This domain's scheme; a job that has yielded up to the limit holds (IV-E2)."""
        limit = self.settings.max_yields
        return Scheme.HOLD if 0 < limit <= job.yields else self.settings.scheme

    def _may_hold(self, job: PairedJob, scheme: Scheme, now: int) -> bool:
        """Whether the job would hold now, by scheme, cap and rule 5; leaves the hold's end in `held_until`."""
        if not job.cannot_yield and (scheme is not Scheme.HOLD or self._above_cap(job)):
            return False
        job.held_until = self._release_time(job, job.generation + 1, now)
        if job.cannot_yield:
            return True
        until = job.held_until = min(job.held_until, job.hold_ends or FOREVER, self._settling_end)
        return until > now and (job.hold_limit == FOREVER or until <= job.hold_limit)

    @property
    def _settling_end(self) -> int:
        return FOREVER if self.settled_by is None else self.settled_by

    def _reason(self, job: PairedJob, why: str, now: int) -> str:  # noqa: ARG002
        """Why the job holds or yields, in one word."""
        return why

    def _release_time(self, job: PairedJob, generation: int, since: int) -> int:
        return holds.release_time(self.settings, self.domain, self.known_as(job.id), generation, since)

    def _above_cap(self, job: PairedJob) -> bool:
        return self.held_nodes + job.nodes > self._cap

    def _hold(self, job: PairedJob, now: int, why: str, **detail: object) -> list[Effect]:
        job.state = HOLDING
        job.call = None
        job.generation += 1
        job.holds += 1
        job.held_since = now
        job.hold_ends, job.missed = 0, why in MISSED
        self.held_nodes += job.nodes
        why = self._reason(job, why, now)
        detail |= {"until": job.held_until, "generation": job.generation, "nodes": job.nodes}
        effects = self._note(job, "holds", why=why, **detail)
        effects.append(Hold(job.id, job.held_until))
        if job.held_until < FOREVER:
            effects.append(SetTimer(job.id, Timer.RELEASE, job.held_until))
        return effects

    def _yield(self, job: PairedJob, now: int, why: str, **detail: object) -> list[Effect]:
        if self._scheme(job, now) is Scheme.HOLD and self._above_cap(job):
            detail["capped"] = True
        self._end_readiness(job)
        job.missed = why in MISSED
        if job.yielded_at != now:  # counts once an instant
            job.yields += 1
            job.yielded_at = now
        boost = holds.yield_boost(self.settings, job.yields)
        why = self._reason(job, why, now)
        return [*self._note(job, "yields", why=why, yields=job.yields, **detail), Yield(job.id, boost)]

    # The end of a hold or of a readiness that is no start

    def _release(self, job: PairedJob, _: ReleaseDue, now: int) -> list[Effect]:
        if job.cannot_yield:
            return self._hold_on(job, now)
        effects = self._end_hold(job, now)
        job.state = QUEUED
        return [*self._note(job, "is released", generation=job.generation), *effects, Release(job.id)]

    def _hold_on(self, job: PairedJob, now: int) -> list[Effect]:
        job.held_until = self._release_time(job, job.generation, now)
        noted = self._note(job, "holds on", until=job.held_until)
        return [*noted, SetTimer(job.id, Timer.RELEASE, job.held_until)]

    def _lose_nodes(self, job: PairedJob, _: NodesLost, now: int) -> list[Effect]:
        effects = []
        if job.state is HOLDING:
            effects = self._end_hold(job, now)
            job.state = QUEUED
        else:
            self._end_readiness(job)
        return [*self._note(job, "lost its nodes"), *effects]

    def _end_hold(self, job: PairedJob, now: int) -> list[Effect]:
        job.call = None
        self.held_nodes -= job.nodes
        job.held_node_seconds += job.nodes * (now - job.held_since)
        return [ClearTimer(job.id, Timer.RELEASE)]

    @staticmethod
    def _end_readiness(job: PairedJob) -> None:
        job.state = QUEUED
        job.call = None
        job.hold_ends = 0
        if job.disclosed:
            job.generation += 1  # what a peer was told of is no hold: StartJob for it comes too late

    def _note(self, job: PairedJob, what: str, **detail: object) -> list[Effect]:
        return [Record(job.id, what, detail)] if self.story else []


def named_mate(job: PairedJob) -> str:
    """How a job names its mate, for people."""
    return f"{job.pair}@{job.peer}" if job.pair is not None else f"{job.peer}:{job.mate}"
