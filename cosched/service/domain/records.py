"""The records of jobs that have not ended, kept in step with the core, and the story of what happens to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from prometheus_client import Counter

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.effects import Record
from cosched.core.job import JobState
from cosched.core.protocol import Found, JobId, Status
from cosched.core.scheduling.scheduler import OpenScheduler
from cosched.core.story import What, Why
from cosched.service.domain import story
from cosched.service.domain.changes import Cancel, Journal
from cosched.service.domain.charges import Charges, Cost
from cosched.service.domain.holdings import Holdings
from cosched.service.domain.malleable import least_of
from cosched.service.metrics import Metrics
from cosched.service.store import JobRecord
from cosched.service.wire.message_parts import FOUND, STATUS

KEEP_ENDED = 600  # seconds that an ended job stays in memory, for its mate's questions


class Records:
    """The records of one domain. They change only in a turn."""

    def __init__(
        self,
        core: Coscheduler,
        scheduler: OpenScheduler,
        journal: Journal,
        metrics: Metrics,
        jobs: dict[JobId, JobRecord],
        charges: Charges,
    ) -> None:
        """`jobs`: those that have not ended; none yet."""
        self.jobs = jobs
        self.core = core
        self.scheduler = scheduler
        self.journal = journal
        self.metrics = metrics
        self.holdings = Holdings()
        self.charges = charges
        self.telling: dict[JobId, JobRecord] = {}  # those that have ended, and have members of their groups to tell so
        self._ended: deque[tuple[int, JobId]] = deque()
        self._why_yielded: dict[JobId, Why | None] = {}

    def take_up(self, record: JobRecord, script_bytes: int = 0) -> None:
        """The job is here."""
        self.jobs[str(record.id)] = record
        self.telling.pop(str(record.id), None)
        self.holdings.add(record, script_bytes)
        self.charges.take_up(record)

    def order_cancellation(self, record: JobRecord, by: str) -> None:
        """Have the manager end a job, as soon as it can. Its end is reported."""
        if record.cancelled_by is None:
            record.cancelled_by = by
            self.journal.save(record)
            self.journal.note(str(record.id), story.Noted.TO_BE_CANCELLED, by=by)
        self.journal.changes.orders.append(Cancel(str(record.id)))

    # In step with the core

    def refresh(self, changed: Iterable[JobId]) -> None:
        """Bring the records of these jobs up to date."""
        for job in changed:
            if (record := self.telling.get(job)) is not None:
                self._follow_telling(record)
            elif (record := self.jobs.get(job)) is not None:
                self._refresh(record)

    def _refresh(self, record: JobRecord) -> None:
        job = record.job.id
        record.scheduled = self.scheduler.job(job).to_keep() if job in self.scheduler else {}
        if not record.is_up_to_date():
            self.journal.save(record)
            cost = self.charges.follow(record, self.journal.now)
            self.metrics.held_node_seconds.inc(cost.held)
            self.metrics.booked_node_seconds.inc(cost.booked)
        if record.state.final:
            self._retire(record)

    def _retire(self, record: JobRecord) -> None:
        """The job has ended: it is not among `jobs` any more."""
        job = str(record.id)
        del self.jobs[job]
        self._why_yielded.pop(job, None)
        self.holdings.remove(record)
        self.forget_later(job, self.journal.now)
        if record.job.untold:
            self.telling[job] = record

    def _follow_telling(self, record: JobRecord) -> None:
        """The job has ended; members of its group may have heard of its start since."""
        record.scheduled = {}
        if not record.is_up_to_date():
            self.journal.save(record)
        if not record.job.untold:
            del self.telling[record.job.id]

    def take_up_telling(self, record: JobRecord) -> None:
        """The job has ended, and still has members of its group to tell of its start."""
        self.telling[str(record.id)] = record
        self.forget_later(str(record.id), self.journal.now)

    def forget_later(self, job: JobId, now: int) -> None:
        """The job has ended; the core knows it a while longer."""
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
        """Nodes that queued jobs have booked for their slots."""
        return sum(least_of(record) for record in self.jobs.values() if record.slot is not None)

    # The story

    def tell(self, effect: Record) -> None:
        """Something happened to a job."""
        job = effect.job
        record = self.jobs.get(job)
        known = self.core.jobs.get(job)
        if story.is_told(effect, self._why_yielded.get(job), of_pair=known is not None and known.is_pair):
            ended = {"why": record.end_text} if record is not None and record.end_text else {}
            self.journal.note(job, effect.what, **{**self._group(effect), **effect.stored(), **ended})
        if effect.what in COUNTED:
            COUNTED[effect.what](self.metrics).inc()
        if effect.what is What.LOST_SLOT and effect.why is not None:
            self.metrics.slots_dropped(effect.why.name.lower()).inc()
        if effect.what is What.YIELDS:
            self._why_yielded[job] = effect.why
        if record is not None:
            self._bring_up_to_date(record, effect)

    def _group(self, effect: Record) -> dict[str, str]:
        """The name of the job's group, for its story; a link tells by itself whether the job joins one."""
        known = self.core.jobs.get(effect.job)
        group = known.group if known is not None and not known.is_pair else None
        return {"group": group.name} if group is not None and effect.what is not What.LINKED else {}

    def _bring_up_to_date(self, record: JobRecord, effect: Record) -> None:
        job, linked = effect.job, effect.what is What.LINKED
        reason = story.reason(effect)
        if linked and self.core.jobs[job].state is JobState.HOLDING:
            reason = Why.MATE_QUEUING
        if reason is not None:
            self.set_reason(job, reason)
        if effect.what is What.HAS_SLOT:
            self.metrics.slots["set" if record.slot_on_record is None else "moved"].inc()
        if linked and effect.detail.get("mate") is not None:
            record.lookup = FOUND[Found.MATE]
        if effect.what is What.STARTED:
            self._count_start(record, effect)

    def is_refused(self, job: JobId) -> bool:
        """Whether the job waits since its mate's domain refuses this one, and that was told."""
        return self._why_yielded.get(job) is Why.PEER_REFUSED

    def set_reason(self, job: JobId, reason: str) -> None:
        """Why the job waits."""
        record = self.jobs.get(job)
        if record is not None and reason != record.reason:
            record.reason = reason
            self.journal.save(record)

    def _count_start(self, record: JobRecord, effect: Record) -> None:
        paired = bool(self.core.jobs[effect.job].peers)
        together = story.starts_together(effect)
        self.metrics.starts["unpaired" if not paired else "paired" if together else "alone"].inc()
        if together and record.is_pair:
            record.mate_status, record.heard_at = STATUS[Status.RUNNING], self.journal.now
        slot = record.slot_on_record
        if together and slot is not None:
            self.metrics.slots["started" if self.journal.now >= slot else "early"].inc()
        self._count_push(effect.job)
        gap = effect.detail.get("gap_s")
        if gap is not None:
            record.gap_s = gap
            self.metrics.pair_gap.observe(gap)

    def _count_push(self, job: JobId) -> None:
        pushed = self.scheduler.pushed(job)
        if pushed is not None:
            self.metrics.starts_before_turn.inc()
            self.metrics.pushed_seconds.inc(pushed)
            if (record := self.jobs.get(job)) is not None:
                self.charges.add(record, Cost(pushed=pushed * self.core.jobs[job].nodes), self.journal.now)


COUNTED: dict[What, Callable[[Metrics], Counter]] = {
    What.HOLDS: lambda metrics: metrics.holds,
    What.YIELDS: lambda metrics: metrics.yields,
    What.RELEASED: lambda metrics: metrics.releases,
}
