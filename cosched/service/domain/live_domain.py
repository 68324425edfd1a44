"""One live policy domain: its parts, and the jobs that come and go.

A turn (`turns`) tells the policy domain what happens and notes what it wants (`decisions`, `records`, `journal`); then
all of that is written, and done. Upon that stand what peers ask (`questions`), what they answer (`calls`), whether they
are there (`presence`) and whether this domain drains (`draining`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cosched.core.coscheduling.coscheduler import Coscheduler
from cosched.core.coscheduling.owners import SAME_NAMES, Owners
from cosched.core.effects import Start
from cosched.core.events import Finished, GraceOver, Requeued, RunsOn, StartedUnasked, Submitted, TellDue
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, EndedBy, JobId
from cosched.core.scheduling import nonsense
from cosched.core.scheduling.places import Places
from cosched.core.scheduling.scheduler import ClusterJob, OpenScheduler
from cosched.core.settings import CoschedulingSettings
from cosched.core.timers import TimerEvent
from cosched.schedulers.column import LEAST_NODES
from cosched.schedulers.faults import blamed
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import DEFAULT, kinds
from cosched.service.clock import Clock
from cosched.service.domain.began import Gap, Waits, waits_for
from cosched.service.domain.calls import Calls
from cosched.service.domain.changes import Journal
from cosched.service.domain.charges import NO_ACCOUNTS, Accounts, Charges
from cosched.service.domain.decisions import Decisions
from cosched.service.domain.draining import Draining
from cosched.service.domain.malleable import names_in, said_of
from cosched.service.domain.predictions import Prediction, as_told, counted
from cosched.service.domain.presence import Presence
from cosched.service.domain.questions import Questions
from cosched.service.domain.records import Records
from cosched.service.domain.story import FOR_MATE, Noted, why_cancelled
from cosched.service.domain.turns import Turns, in_turn
from cosched.service.metrics import Metrics
from cosched.service.store import JobRecord, JobScript, Store
from cosched.service.store.auditing import RefusedChanges
from cosched.service.wire.fields import number
from cosched.sockets.sparing_log import SparingLog

_LOG = logging.getLogger(__name__)
ASIDE = "aside"  # what the store calls the jobs that were put aside
SECOND = 1_000_000_000  # ns
MAX_AHEAD = 10  # seconds; the protocol's limit for an agreed instant, until which a job may wait at its gate


class LiveDomain:
    """One domain; `recovery.recover` starts it. What is done to its jobs is done in turns."""

    def __init__(
        self,
        name: Domain,
        settings: CoschedulingSettings,
        scheduler: OpenScheduler,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        *,
        owners: Owners = SAME_NAMES,
        adopting: Collection[Domain] = (),
        accounts: Accounts = NO_ACCOUNTS,
        paced: bool = False,
        of_traces: bool = False,
        kind: SchedulerKind | None = None,
        places: Places | None = None,
    ) -> None:
        """`owners`, `adopting`: see Names; `paced`: see Decisions; `places`: see PolicyDomain; `kind`: the scheduler's.
        `of_traces`: the jitter of holds is drawn as in a simulation, by the trace's ids, which are the jobs' names.
        """
        self.name, self.scheduler = name, scheduler
        self.kind = kind or kinds()[DEFAULT]
        self.store, self.clock, self.metrics = store, clock, metrics
        self.refused_changes = RefusedChanges(store)
        self.sparing_log = SparingLog(logging.getLogger(__name__))  # of what callers can cause at will
        self.journal = Journal(store, clock)
        self.asked_at = clock.now()  # when a peer last asked about jobs
        self.jobs: dict[JobId, JobRecord] = {}  # those that have not ended
        self.aside: set[JobId] = set()  # the scheduler is not told of them, since it fails with them
        charges = Charges(name, accounts, self.jobs, lambda: self.journal.changes.charges)
        self.core = core = Coscheduler(
            name, scheduler.nodes, settings, owners=owners, adopting=adopting, held_back=self._held_back,
            known_as=(lambda job: self.jobs[job].name) if of_traces else str, may_hold=charges.may_hold,
            from_wall=clock.from_wall,
        )  # fmt: skip
        self.records = records = Records(
            core, scheduler, self.journal, metrics, self.jobs, charges, self.kind.of_batch_systems, of_traces
        )
        self.on_began: Callable[[JobId], None] = lambda _: None  # called when a job has begun by its manager's word
        self.decisions = decisions = Decisions(core, records, self.kind, places, paced=paced)
        self.policy = decisions.policy
        self.sizes = decisions.sizes
        self.turns = turns = Turns(store, self.journal, decisions, metrics)
        self.questions = Questions(decisions, records, turns, store)
        self.calls = Calls(decisions, records, turns)
        self.presence = Presence(decisions, records, turns)
        self.draining = Draining(decisions, records)

    def _held_back(self, job: JobId) -> bool:
        """Return whether its user holds the job back, or it is adopted in a batch system's queue alone (`Queue`)."""
        record = self.jobs.get(job)
        return record is not None and (record.user_hold or not self.scheduler.capabilities.all_jobs)

    def record(self, job: JobId) -> JobRecord | None:
        """Return the job, ended or not; None: there is none, as far as is on record."""
        if (record := self.jobs.get(job)) is None and (id := number(job)) is not None:
            record = self.store.job(id)
        return record

    def state(self, job: JobId) -> JobState | None:
        """Return the job's state; None: it is not known here, or has ended."""
        return self.core.jobs[job].state if job in self.jobs else None

    # Jobs in

    def add(self, record: JobRecord, script: JobScript) -> None:
        """Put a submission on record, in a transaction of its own with what the present turn has noted; StoreError."""
        changes = self.journal.changes
        record.is_up_to_date()  # once this is written
        with self.store.transaction():
            size = self.store.add_job(record, script)
            changes.write_requests(self.store)
        self.journal.calls_after = self.store.commits
        changes.requests.clear()
        changes.audits.clear()
        self.records.take_up(record, size)

    def admit(self, record: JobRecord) -> None:
        """Tell the core of a new job; only in a turn."""
        job = str(record.id)
        self.decisions.feed(Submitted(job, record.job.named, record.owner, record.job.adoptable))
        record.job = self.core.jobs[job]

    def enqueue(self, record: JobRecord) -> None:
        """Note that the job may be scheduled; only in a turn."""
        self.decisions.looks = 0
        self.place(record, {})

    def place(self, record: JobRecord, kept: Mapping[str, Any]) -> None:
        """Tell the scheduler of a job, with what it has kept of it; only in a turn."""
        job = record.job
        known = self.known(record, paired=self.policy.is_paired(job.id))
        if kept:
            known = known.with_kept(kept)
        if job.state is JobState.HOLDING:
            known = replace(known, expected=job.held_until)  # which may be another if the settings are
        self.scheduler.submit(known)

    def put_back(self, job: JobId) -> None:
        """Tell the scheduler of the job again, if it was put aside; only in a turn."""
        if job in self.aside:
            self.aside.remove(job)
            self.keep_aside()

    def keep_aside(self) -> None:
        """Put on record which jobs are put aside; only in a turn."""
        self.journal.changes.values[ASIDE] = json.dumps(sorted(self.aside, key=int))

    def check(self, record: JobRecord) -> None:
        """ValueError if the job can never run here."""
        self.scheduler.check(self.known(record))

    def known(self, record: JobRecord, *, paired: bool = False) -> ClusterJob:
        """Return the job as its scheduler is told of it; `paired`: it waits for a mate."""
        nodes, said = record.nodes, said_of(record)
        columns = self.kind.read(said)
        if record.predictions is not None:  # it runs
            columns = replace(columns, table=counted(as_told(record.predictions)))
        if LEAST_NODES not in said:
            with suppress(ValueError):  # it runs, and the machine has become smaller
                nodes = self.scheduler.rounded(nodes)
        return ClusterJob(
            str(record.id), nodes, record.time_limit, record.submitted_at, paired, record.job.state,
            owner=record.owner, columns=columns, nodelist=names_in(said) if said else (),
        )  # fmt: skip

    def blame(self, error: Exception) -> str:
        """Return what the scheduler has done wrong by which this error came, and log it; else the error goes on."""
        if (fault := blamed(error, self.kind)) is None:
            raise error
        self.sparing_log.log(logging.ERROR, fault.did, "%s", fault.short)
        return fault.short

    # What running jobs tell

    def predict(self, job: JobId, predictions: Sequence[Prediction]) -> None:
        """Count with what a running job predicts of its sizes; only in a turn. ValueError: that cannot be counted."""
        self.scheduler.predict(job, counted(predictions), self.journal.now)
        self.sizes.predict(job, predictions)

    @in_turn
    def uses(self, job: JobId, nodes: int) -> None:
        """Note that nobody but this running job can have so many nodes."""
        if job in self.scheduler:
            self.scheduler.uses(job, nodes)

    # What the manager reports

    @in_turn
    def started(self, job: JobId, at: int | None = None) -> None:
        """The manager has begun to run a job, told to or not; `at`: when, in nanoseconds since 1970; None: just now."""
        now = float(self.journal.now)
        began = at / SECOND - self.clock.shift if at else now
        began = began if began <= now + MAX_AHEAD else now  # the clock was set
        if self.state(job) in WAITING:
            allocation = nonsense.allocation("start", job, self.scheduler.start(job, self.journal.now))
            self.decisions.feed(StartedUnasked(job, allocation))
        elif (record := self.jobs.get(job)) is not None and record.started_at is not None:
            began = max(began, float(record.started_at))  # some say when it got its nodes, perhaps for a hold
        self.records.began(job, began)
        self.on_began(job)

    @in_turn
    def waits_to_begin(self, job: JobId, why: Waits) -> None:
        """Note that the manager cannot begin to run this job yet, whose start was ordered."""
        if (record := self.jobs.get(job)) is not None and record.is_starting:
            self.records.set_reason(job, why)
            self.journal.note(job, Noted.WAITS_TO_BEGIN, why=why)

    @in_turn
    def apart(self, record: JobRecord, gap: Gap) -> None:
        """So far apart from others that start with it did this job begin, which may have ended."""
        self.records.apart(self.jobs.get(record.job.id, record), gap)

    @in_turn
    def end(
        self, job: JobId, how: JobState, why: str = "", exit_code: int | None = None, ran: int | None = None,
        by: EndedBy = EndedBy.OWNER,
    ) -> None:  # fmt: skip
        """The job ends, in the final state `how`. It may have run unseen. The rules may know better how it ends.

        `ran`: for how many seconds, as its manager has measured; None: until now. `by`: who has cancelled it, if that
        was not ordered here.
        """
        if (record := self.jobs.get(job)) is None:
            return
        if record.cancelled_by is not None:
            by = record.job.ended_by
            why = record.cancelled_by if how is JobState.CANCELLED and record.cancelled_by in FOR_MATE else why
        completes = how is JobState.COMPLETED and record.is_launched
        if completes and record.started_at is not None and job not in self.aside:
            self.scheduler.learn(job, self.journal.now - record.started_at if ran is None else ran)
        if self.state(job) in WAITING:
            if how is JobState.COMPLETED or (how is JobState.FAILED and record.preempted_at is not None):
                self.started(job)
            else:
                by = by if how is JobState.CANCELLED else EndedBy.ITSELF
                how = JobState.CANCELLED
        self.decisions.looks = 0
        if job in self.scheduler:
            self.scheduler.leave(job, self.journal.now, how)
        record.ended_at, record.exit_code, record.end_text = self.journal.now, exit_code, why
        record.preempted_at = record.predictions = None  # what it predicts may be long
        self.sizes.forget(job)
        self.journal.save(record)
        self.decisions.feed(Finished(job, how, by))

    @in_turn
    def run_over(self, job: JobId) -> None:
        """Nothing is left of a run that was preempted, or ended with its mate's, and the manager has forgotten it."""
        if (record := self.jobs.get(job)) is None or record.preempted_at is None:
            return
        record.preempted_at = None
        self.journal.save(record)
        self.scheduler.uses(job, 0)
        if record.cancelled_by is not None:
            self.end(job, JobState.CANCELLED, why_cancelled(record.cancelled_by))
        elif self.state(job) is JobState.RUNNING and record.job.again:
            self.queue_again(record)
        elif self.state(job) is JobState.RUNNING:
            self.journal.changes.orders.append(Start(job, None, self.core.jobs[job].allocation))

    def queue_again(self, record: JobRecord) -> None:
        """Note that a run has ended, and its job is queued again; only in a turn."""
        job = str(record.id)
        if job in self.scheduler:
            self.scheduler.leave(job, self.journal.now, JobState.CANCELLED)
        record.sizing = record.predictions = None
        self.sizes.forget(job)
        self.scheduler.submit(replace(self.known(record, paired=self.policy.is_paired(job)), state=JobState.QUEUED))
        self.decisions.feed(Requeued(job))

    @in_turn
    def runs_on(self, job: JobId, why: str) -> None:
        """Note that the manager cannot queue a running job again, as was ordered."""
        if (record := self.jobs.get(job)) is None or record.preempted_at is None:
            return
        record.preempted_at = None
        self.journal.save(record)
        _LOG.info("job %s runs on: %s", job, why)
        self.decisions.feed(RunsOn(job))

    # Time

    def due(self, *, of_slots: bool | None = None) -> bool:
        """Tell the first timer's event if it is due, and is (or is not) one of a slot. Whether it was."""
        due = self.policy.timers.take(self.clock.exact(), of_slots=of_slots)
        if due is not None:
            self.timer_due(due[1])
        return due is not None

    @in_turn
    def timer_due(self, event: TimerEvent) -> None:
        """Note that a timer is due. A job that has ended may still have something to tell others."""
        known = self.core.jobs if isinstance(event, TellDue) else self.jobs
        if isinstance(event, GraceOver) or event.job in known:
            self.decisions.feed(event)

    def go_on(self, job: JobId) -> None:
        """The iteration has waited long enough for the answers of `job`, which keeps its nodes; others come next."""
        if self.scheduler.awaited == job:
            self.reschedule()

    def look(self) -> None:
        """Run the iteration that `Outside.look_again` was asked for."""
        self.decisions.looks += 1
        self.reschedule()

    def reschedule(self) -> None:
        """Run an iteration."""
        self.turns.happen(self.scheduler.reschedule)

    def tidy(self) -> None:
        """Drop ended jobs from memory once nobody is likely to ask for them, and write down what was counted."""
        now = self.clock.now()
        self.refused_changes.tidy(now)
        self.sparing_log.tidy()
        self.records.tidy(now)


def waits_to_begin(domain: LiveDomain, record: JobRecord) -> str:
    """Return what a job waits for that is starting, in one word (`began.Waits`)."""
    return waits_for(record, domain.clock.to_wall(domain.clock.now()), batch_system=domain.kind.of_batch_systems)
