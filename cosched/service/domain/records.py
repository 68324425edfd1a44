"""The records of jobs that have not ended, kept in step with the core, and the story of what happens to them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.membership import NOTHING
from cosched.core.effects import Record
from cosched.core.job import JobState
from cosched.core.protocol import NO_HOLD, EndedBy, Found, JobId, MateStatus, Status
from cosched.core.scheduling.nonsense import NonsenseError, nonsense
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.core.story import TOGETHER, What, Why
from cosched.service.domain import story
from cosched.service.domain.began import CLOSE, Gap, Waits
from cosched.service.domain.changes import Cancel, Journal
from cosched.service.domain.charges import Charges, Cost
from cosched.service.domain.holdings import Holdings
from cosched.service.domain.malleable import least_of
from cosched.service.domain.mate_states import MateStates
from cosched.service.metrics import Metrics
from cosched.service.store import JobRecord
from cosched.service.wire.message_parts import FOUND, STATUS

STARTS_TOO = MateStatus(Status.RUNNING, NO_HOLD, None)  # how one stands with which a job starts
REPEATED = (What.HEARS_OF_MATE, What.HOLDS)
KEEP_ENDED = 600  # seconds that an ended job stays in memory, for its mate's questions


@dataclass(eq=False)
class Records:
    """The records of one domain. They change only in a turn."""

    core: Coscheduler
    scheduler: OpenScheduler
    journal: Journal
    metrics: Metrics
    jobs: dict[JobId, JobRecord]  # those that have not ended; none yet
    charges: Charges
    _batch_system: bool  # the manager begins jobs when it can
    _begin_at_once: bool  # no manager says when jobs have begun

    def __post_init__(self) -> None:
        metrics = self.metrics
        self._counted = {What.HOLDS: metrics.holds, What.YIELDS: metrics.yields, What.RELEASED: metrics.releases}
        self.holdings = Holdings()
        self.states = MateStates()
        self.telling: dict[JobId, JobRecord] = {}  # those that have ended, and still have something to tell others
        self._ended: deque[tuple[int, JobId]] = deque()
        self._why_yielded: dict[JobId, Why | None] = {}
        self._told_last: dict[JobId, dict[What, object]] = {}  # of REPEATED, since it has told anything else

    def take_up(self, record: JobRecord, script_bytes: int = 0) -> None:
        """Note that the job is here."""
        self.jobs[str(record.id)] = record
        self.telling.pop(str(record.id), None)
        self.holdings.add(record, script_bytes)
        self.charges.take_up(record)

    def order_cancellation(self, record: JobRecord, by: str, ended_by: EndedBy = EndedBy.OWNER) -> None:
        """Have the manager end a job, as soon as it can; the first order counts. `by`: see `story.why_cancelled`."""
        if record.cancelled_by is None:
            record.cancelled_by, record.job.ended_by = by, ended_by
            self.core.ledger.changed[record.job.id] = None
            self.journal.save(record)
            if by not in story.FOR_MATE:  # the rules tell these
                self.journal.note(str(record.id), story.Noted.TO_BE_CANCELLED, by=by)
        self.journal.changes.orders.append(Cancel(str(record.id)))

    # In step with the core

    def refresh(self, changed: Iterable[JobId]) -> None:
        """Bring the records of these jobs up to date. One that has ended may still have something to tell."""
        for job in changed:
            if (record := self.telling.get(job) or self.jobs.get(job)) is None:
                continue
            record.scheduled = self._to_keep(job) if job in self.scheduler else {}
            if not record.is_up_to_date():
                self.journal.save(record)
                if job in self.jobs:
                    cost = self.charges.follow(record, self.journal.now)
                    self.metrics.held_node_seconds.inc(cost.held)
                    self.metrics.booked_node_seconds.inc(cost.booked)
            if record.job.state.final:
                self._retire(record)

    def _to_keep(self, job: JobId) -> dict[str, Any]:
        """Return what the scheduler keeps of a job; NonsenseError: no plain values, which cannot be written."""
        known = self.scheduler.job(job)
        if type(known) is not ClusterJob:
            raise nonsense("job", job, known)
        if kept := known.to_keep():
            try:
                json.dumps(kept)
            except (TypeError, ValueError) as error:
                raise NonsenseError(f"has told no plain values by job: {error}", job) from error
        return kept

    def _retire(self, record: JobRecord) -> None:
        """Note that the job has ended: it is not among `jobs` any more."""
        job = record.job.id
        if self.jobs.pop(job, None) is not None:
            self._why_yielded.pop(job, None)
            self._told_last.pop(job, None)
            self.holdings.remove(record)
            self.forget_later(job, self.journal.now)
        if record.job.untold or record.job.news:
            self.telling[job] = record
        else:
            self.telling.pop(job, None)

    def tell_once(self, record: JobRecord) -> None:
        """Note that a job was refused, and nothing of it stays: others are told so now, and not again."""
        record.job.news = record.job.untold = NOTHING
        self.core.ledger.telling.pop(record.job.id, None)

    def take_up_telling(self, record: JobRecord) -> None:
        """Note that the job has ended, and still has something to tell others."""
        self.telling[str(record.id)] = record
        self.forget_later(str(record.id), self.journal.now)

    def forget_refused(self, record: JobRecord) -> None:
        """The job was refused, and is off the record: its mates, if they know it, hear that there is no such job."""
        self.telling.pop(record.job.id, None)
        self.core.forget(record.job)

    def forget_later(self, job: JobId, now: int) -> None:
        """Note that the job has ended; the core knows it a while longer."""
        self._ended.append((now, job))

    def tidy(self, now: int) -> None:
        """Have the core forget ended jobs once nobody is likely to ask for them."""
        while self._ended and self._ended[0][0] + KEEP_ENDED < now:
            _, job = self._ended.popleft()
            paired = self.core.jobs.get(job)
            if job in self.telling:
                self.forget_later(job, now)
            elif paired is not None and paired.state.final:
                self.core.forget(paired)

    def booked_nodes(self) -> int:
        """Return the nodes that queued jobs have booked for their slots."""
        return sum(least_of(record) for record in self.jobs.values() if record.slot is not None)

    # The story

    def tell(self, effect: Record) -> None:
        """Note that something happened to a job."""
        if effect.what in story.NOT_TOLD:
            return
        job, record = effect.job, self.jobs.get(effect.job)
        known = self.core.jobs.get(job)
        group = known.group if known is not None else None
        of_pair = group is not None and group.is_pair
        repeats = effect.what in REPEATED and self._repeats(effect)
        if not repeats and story.is_told(effect, self._why_yielded.get(job), of_pair=of_pair):
            detail = effect.stored()
            if group is not None and not group.is_pair and effect.what is not What.LINKED:  # which tells it by itself
                detail = {"group": group.name, **detail}
            if record is not None and record.end_text:
                detail["why"] = record.end_text
            if self._batch_system and self._is_awaited(effect):
                at = known.start_at if known is not None else None
                detail |= {"waits": True, "starts_at": None if at is None else round(at) - self.journal.clock.shift}
            self.journal.note(job, effect.what, **detail)
        if effect.what in self._counted:
            self._counted[effect.what].inc()
        if effect.what is What.LOST_SLOT and effect.why is not None:
            self.metrics.slots_dropped(effect.why.name.lower()).inc()
        if effect.what is What.YIELDS:
            self._why_yielded[job] = effect.why
        if record is not None:
            self._bring_up_to_date(record, effect)

    def _repeats(self, effect: Record) -> bool:
        """Return whether the job has told just that: a peer may have it ask again, and hold on, without end."""
        told, said = self._told_last.setdefault(effect.job, {}), (effect.why, effect.detail | {"generation": 0})
        if told.get(effect.what) == said:
            return True
        told[effect.what] = said
        return False

    def _bring_up_to_date(self, record: JobRecord, effect: Record) -> None:
        if effect.what not in REPEATED:
            self._told_last.pop(effect.job, None)
        linked = effect.what is What.LINKED
        reason = Why.MATE_QUEUING if linked and record.job.state is JobState.HOLDING else story.reason(effect)
        if reason is not None:
            self.set_reason(effect.job, reason)
        if effect.what is What.HAS_SLOT:
            self.metrics.slots["set" if _slot_on_record(record) is None else "moved"].inc()
        if linked and effect.detail.get("mate") is not None:
            record.lookup = FOUND[Found.MATE]
        if effect.what is What.STARTED:
            self._count_start(record, effect)
        if self._batch_system and self._is_awaited(effect):
            self.set_reason(effect.job, Waits.BATCH_SYSTEM)

    @staticmethod
    def _is_awaited(effect: Record) -> bool:
        """Return whether the batch system was told to start the job, and has yet to begin it."""
        return effect.what is What.STARTED and effect.why is not Why.STARTED_UNASKED

    def began(self, job: JobId, at: float) -> None:
        """Note that the job's manager began to run it at this instant."""
        if (record := self.jobs.get(job)) is None or record.job.started_at is None or record.preempted_at is not None:
            return
        if record.began_at is not None and abs(record.began_at - at) < CLOSE:
            return
        waited = record.is_starting and bool(record.reason)
        record.began_at = round(at, 3)
        self.journal.save(record)
        if waited:
            self.set_reason(job, "")
            self.journal.note(job, story.Noted.BEGAN, after_s=round(max(0.0, at - record.job.started_at)))

    def apart(self, record: JobRecord, gap: Gap) -> None:
        """So far apart from others that start with it did the job begin."""
        record.apart_s = round(gap.late, 3)
        self.journal.save(record)
        self.metrics.pair_gap.observe(abs(gap.late))
        if abs(gap.late) > CLOSE:
            detail = {"peer": gap.peer, "mate": record.mates.get(gap.peer), "why": gap.why}
            self.journal.note(record.job.id, story.Noted.APART, apart_s=record.apart_s, **detail)

    def is_refused(self, job: JobId) -> bool:
        """Return whether the job waits since its mate's domain refuses this one, and that was told."""
        return self._why_yielded.get(job) is Why.PEER_REFUSED

    def set_reason(self, job: JobId, reason: str) -> None:
        """Note why the job waits."""
        record = self.jobs.get(job)
        if record is not None and reason != record.reason:
            record.reason = reason
            self.journal.save(record)

    def _count_start(self, record: JobRecord, effect: Record) -> None:
        now, group, together = self.journal.now, record.job.group, effect.why in TOGETHER
        record.began_at, record.apart_s = float(now) if self._begin_at_once else None, None
        self.metrics.starts["unpaired" if group is None else "paired" if together else "alone"].inc()
        if together and group is not None:
            for peer, mate in group.jobs.items():
                if peer in group.know_of_start:
                    self.states.note(effect.job, peer, mate, STARTS_TOO, now)
            if group.is_pair:
                record.mate_status, record.heard_at = STATUS[Status.RUNNING], now
        if together and (slot := _slot_on_record(record)) is not None:
            self.metrics.slots["started" if now >= slot else "early"].inc()
        if (pushed := self.scheduler.pushed(effect.job)) is not None:
            self.metrics.starts_before_turn.inc()
            self.metrics.pushed_seconds.inc(pushed)
            self.charges.add(record, Cost(pushed=pushed * record.job.nodes), now)
        gap = effect.detail.get("gap_s")
        if gap is not None:
            record.gap_s = gap
            if self._begin_at_once:
                self.metrics.pair_gap.observe(gap)


def _slot_on_record(record: JobRecord) -> int | None:
    """Return the slot that the job had when it was up to date last."""
    slot: int | None = record.kept["memory"].get("slot") if record.kept else None
    return slot
