"""One live policy domain: the core, its scheduler and its database, in turns.

A turn takes one event (a request, an answer, a timer, a report of the manager), carries the core's effects out in
memory, runs the scheduling that follows, writes all that changed in one transaction, and only then acts outside: calls
peers, launches jobs, sets timers, answers. So memory and database are in step after every turn, and a domain that is
killed at any point goes on where its last turn ended. If the transaction fails (a full disk) the domain is stalled:
nothing leaves it, requests are refused, and the same transaction is tried again until it succeeds.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

import grpc

from cosched.core.cluster import ClusterSettings
from cosched.core.coscheduling import Coscheduler
from cosched.core.effects import (
    Answer,
    Call,
    ClearTimer,
    Hold,
    Record,
    Release,
    Reschedule,
    SetTimer,
    Start,
    Timer,
    Try,
    Yield,
)
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Event,
    Finished,
    PatienceOver,
    Ready,
    ReleaseDue,
    RetryDue,
    Tried,
)
from cosched.core.job import JobState
from cosched.core.mates import PairedJob
from cosched.core.open_cluster import ClusterJob, OpenCluster, ReadyJob
from cosched.core.protocol import (
    Domain,
    Found,
    GetMateJobId,
    GetMateStatus,
    JobId,
    MateJobId,
    MateStarted,
    MateStatus,
    MateTried,
    Reply,
    StartJob,
    TryStartMate,
)
from cosched.core.settings import CoschedulingSettings
from cosched.service import story
from cosched.service.changes import Changes
from cosched.service.clock import Clock
from cosched.service.errors import Refusal
from cosched.service.memory import recall, recalled_place, remember
from cosched.service.metrics import Metrics
from cosched.service.store import AuditRecord, EventRecord, JobRecord, JobScript, Store, StoreError
from cosched.service.translation import FOUND, STATUS

KEEP_ENDED = 600  # seconds that an ended job stays in memory, for its mate's questions
ANSWERS: dict[str, type[MateTried | MateStarted]] = {kind.__name__: kind for kind in (MateTried, MateStarted)}
TIMER_EVENTS: dict[Timer, type[ReleaseDue | PatienceOver | RetryDue]] = {
    Timer.RELEASE: ReleaseDue,
    Timer.PATIENCE: PatienceOver,
    Timer.RETRY: RetryDue,
}


class Outside(Protocol):
    """What is done for a domain outside its memory and its database, once a turn is on record."""

    def call(self, call: Call) -> None:
        """Send a request to a peer; `LiveDomain.answered` or `call_failed` follows, once."""

    def launch(self, job: JobRecord) -> None:
        """Start the job's processes; `LiveDomain.ended` follows, once."""

    def set_timer(self, timer: SetTimer) -> None:
        """Call `LiveDomain.timer_due` at that instant."""

    def clear_timer(self, timer: ClearTimer) -> None:
        """Forget a timer."""

    def awaits(self, job: JobId) -> None:
        """The scheduling iteration waits for this job's answers: lose patience after a while (`go_on`)."""

    def look_again(self, at: int, in_vain: int) -> None:
        """Call `LiveDomain.look` soon after that instant has begun, when the yields of this one are over.

        Later, and by chance, the more looks have been `in_vain`: two domains may stand in each other's way.
        """

    def happened(self, events: Sequence[EventRecord]) -> None:
        """Tell those who watch."""

    def stalled(self, problem: str) -> None:
        """Nothing can be written: call `try_again` in a while."""

    def broken(self, error: BaseException) -> None:
        """A fault in the middle of a turn: memory cannot be trusted any more; end the process."""


class LiveDomain:
    """The state of one domain. All methods are plain functions, to be called in one thread.

    `paced`: iterations run between `wake` and `rest` only, at the pace of a conductor (replay in lock-step).
    """

    def __init__(
        self,
        name: Domain,
        coscheduling: CoschedulingSettings,
        cluster: ClusterSettings,
        store: Store,
        clock: Clock,
        outside: Outside,
        metrics: Metrics,
        *,
        owners: Mapping[tuple[Domain, str], str] | None = None,
        paced: bool = False,
    ) -> None:
        self.name = name
        self.store = store
        self.clock = clock
        self.metrics = metrics
        self.core = Coscheduler(name, cluster.nodes, coscheduling, owners=owners)
        self.cluster = OpenCluster(cluster)
        self.jobs: dict[JobId, JobRecord] = {}  # those that have not ended
        self.now = clock.now()
        self._outside = outside
        self._paced = paced
        self._iterating = not paced
        self._looks = 0  # since anything has happened
        self._changes = Changes()
        self._owners: Counter[str] = Counter()
        self._ended: deque[tuple[int, JobId]] = deque()
        self._why_yielded: dict[JobId, str] = {}
        self._reply: Reply | None = None
        self._sequence = store.last_sequence()
        self._problem = ""  # why it is stalled
        self._backlog: list[Callable[[], None]] = []  # what came in meanwhile

    # Turns

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn; what is done in the block is written and acted upon after it.

        Raises Refusal: nothing was done (the block's own, or the domain is stalled), or, if its transaction fails,
        the outcome is unknown.
        """
        if self._problem:
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", f"the database cannot be written: {self._problem}")
        self.now = self.clock.now()
        self.cluster.enter(self.now)
        try:
            yield
            self._schedule()
            self._refresh_touched()
        except Refusal:
            raise
        except BaseException as error:
            self._outside.broken(error)
            raise
        if not self._write():
            raise Refusal(grpc.StatusCode.INTERNAL, "INTERNAL", "the database cannot be written")
        self._act()

    def _inside(self, happen: Callable[[], None]) -> None:
        """A turn for what comes from inside the process; while the domain is stalled it waits."""
        if self._problem:
            self._backlog.append(happen)
            return
        try:
            with self.turn():
                happen()
        except Refusal:
            pass  # stalled just now: what happened is kept, and will be written

    def feed(self, event: Event) -> None:
        """Tell the core; only in a turn."""
        for effect in self.core.handle(event, self.now):
            _CARRY_OUT[type(effect)](self, effect)
        if type(event) is not Asked:
            self.touch(event.job)  # type: ignore[union-attr]

    def touch(self, job: JobId) -> None:
        """The job may have changed in this turn."""
        self._changes.touched[job] = None

    def note(self, job: JobId | None, what: str, **detail: object) -> None:
        """Tell something in the story; only in a turn."""
        self._sequence += 1
        told = {key: value for key, value in detail.items() if value is not None}
        number = int(job) if job is not None else None
        self._changes.events.append(EventRecord(self._sequence, self.now, story.kind(what), number, what, told))

    def audit(self, record: AuditRecord) -> None:
        """Keep an audit record with this turn."""
        self._changes.audits.append(record)

    @property
    def changes(self) -> Changes:
        """What the present turn has changed so far."""
        return self._changes

    def _refresh_touched(self) -> None:
        for job in self._changes.touched:
            record, paired = self.jobs.get(job), self.core.mates.jobs.get(job)
            if record is not None and paired is not None and self._refresh(record, paired):
                self._changes.jobs[record.id] = record
                if record.state.final:
                    self._retire(job)
        self._changes.touched.clear()

    def _refresh(self, record: JobRecord, job: PairedJob) -> bool:
        """Bring the record up to date with the core; whether anything differs."""
        place = self.cluster.job(job.id) if job.id in self.cluster else None
        memory = remember(job, place)
        values = (job.state, job.peer or None, job.pair, job.mate, job.ready_at, job.started_at, memory)
        if values == (
            record.state, record.peer, record.pair, record.mate, record.ready_at, record.started_at, record.memory
        ):  # fmt: skip
            return record.id in self._changes.jobs
        held_before = (record.memory or {}).get("held_node_seconds", 0)
        self.metrics.held_node_seconds.inc(memory.get("held_node_seconds", 0) - held_before)
        record.state, record.peer, record.pair, record.mate, record.ready_at, record.started_at, record.memory = values
        return True

    def _write(self) -> bool:
        if not self._changes.to_write:
            return True
        try:
            with self.metrics.commit.time():
                self._changes.write(self.store)
        except StoreError as error:
            self._problem = str(error)
            self.metrics.store_stalled.set(1)
            self._outside.stalled(self._problem)
            return False
        return True

    def _act(self) -> None:
        changes, self._changes = self._changes, Changes()
        for timer in changes.timers:
            if isinstance(timer, SetTimer):
                self._outside.set_timer(timer)
            else:
                self._outside.clear_timer(timer)
        for job in changes.launches:
            if (record := self.jobs.get(job)) is not None:
                self._outside.launch(record)
        for call in changes.calls:
            self._outside.call(call)
        if changes.events:
            self._outside.happened(changes.events)

    def try_again(self) -> bool:
        """Write what could not be written; then what came in meanwhile happens. Whether it succeeded."""
        self._problem = ""
        if not self._write():
            return False
        self.metrics.store_stalled.set(0)
        self._act()
        backlog, self._backlog = self._backlog, []
        for happen in backlog:
            self._inside(happen)
        return True

    @property
    def problem(self) -> str:
        """Why the domain is stalled; empty if it is not."""
        return self._problem

    # Scheduling

    def _schedule(self) -> None:
        """Iterate until nothing changes, or an answer is awaited."""
        if not self._iterating:
            return
        if self.cluster.changed and self.cluster.passes_over(self.now):
            self._look_again()
        with self.metrics.iteration.time():
            while (ready := self.cluster.next_ready(self.now)) is not None:
                self._ready(ready)
        awaited = self.cluster.awaited
        if awaited is not None and not self._paced:
            self._outside.awaits(awaited)

    def _ready(self, ready: ReadyJob) -> None:
        job = self.core.mates.jobs[ready.id]
        if job.peer and job.ready_at is None:
            self.note(job.id, "is ready", nodes=ready.nodes)
        self.feed(Ready(ready.id, ready.nodes, ready.hold_limit))

    def go_on(self, job: JobId) -> None:
        """The iteration has waited long enough for the answers of `job`, which keeps its nodes; others come next."""
        if self.cluster.awaited == job:
            self._inside(self.cluster.reschedule)

    def _look_again(self) -> None:
        if not self._paced:
            self._outside.look_again(self.now + 1, self._looks)

    def look(self) -> None:
        """Run the iteration that `Outside.look_again` was asked for."""
        self._looks += 1
        self.reschedule()

    def reschedule(self) -> None:
        """Run an iteration."""
        self._inside(self.cluster.reschedule)

    def wake(self) -> None:
        """Of a paced domain: iterations run again, at the end of this turn first."""
        self._iterating = True

    def rest(self) -> None:
        """Of a paced domain: no more iterations until `wake`."""
        self._iterating = False

    # Effects

    def _start(self, effect: Start) -> None:
        self.cluster.start(effect.job, self.now)
        self._launch(effect.job)

    def _launch(self, job: JobId) -> None:
        self._looks = 0
        self._changes.launches.append(job)

    def _hold(self, effect: Hold) -> None:
        self.cluster.hold(effect.job, self.now, effect.until)
        self.metrics.holds.inc()

    def _yield(self, effect: Yield) -> None:
        self.cluster.pass_over(effect.job, self.now, effect.boost)
        self.metrics.yields.inc()

    def _release(self, effect: Release) -> None:
        self.cluster.release(effect.job, self.now)
        self.metrics.releases.inc()

    def _try(self, effect: Try) -> None:
        waits = effect.job in self.cluster  # a job that its user holds does not
        started = waits and self.cluster.try_start(effect.job, self.now, effect.wanted_until)
        if started:
            self._launch(effect.job)
        else:
            self._refused_for_now(effect)
        self.feed(Tried(effect.job, started))

    def _refused_for_now(self, effect: Try) -> None:
        if effect.wanted_until > self.now:
            self._set_reason(effect.job, story.MATE_HOLDS)
        if self.cluster.awaited is not None:
            # That job's nodes may be what is missing. If it gives them back, the iteration goes on behind it, perhaps
            # past this one: two domains that ask each other for different pairs would leave it at that.
            self._look_again()

    def _reschedule(self, effect: Reschedule) -> None:  # noqa: ARG002
        self.cluster.reschedule()

    def _call(self, effect: Call) -> None:
        self._changes.calls.append(effect)

    def _answer(self, effect: Answer) -> None:
        self._reply = effect.answer
        if type(effect.request) in (TryStartMate, StartJob):
            last = self.core.last_answer(effect.peer, effect.request.caller)
            if last is not None and last[0] == effect.request.request_id:  # type: ignore[union-attr]
                self._changes.answers[effect.peer, effect.request.caller] = cast(Any, last)

    def _timer(self, effect: SetTimer | ClearTimer) -> None:
        self._changes.timers.append(effect)

    def _record(self, effect: Record) -> None:
        job = effect.job
        self.touch(job)
        if effect.what in ("is linked", "is unlinked") and job in self.cluster:
            self.cluster.count_alone(job, self._is_alone(self.core.mates.jobs[job]))
        record = self.jobs.get(job)
        if story.is_told(effect, self._why_yielded.get(job)):
            ended = {"why": record.end_text} if record is not None and record.end_text else {}
            self.note(job, effect.what, **effect.detail, **ended)
        if effect.what == "yields":
            self._why_yielded[job] = str(effect.detail["why"])
        if record is None:
            return
        reason = story.reason(effect)
        if effect.what == "is linked" and self.core.mates.jobs[job].state is JobState.HOLDING:
            reason = story.MATE_QUEUES
        if reason is not None:
            self._set_reason(job, reason)
        if effect.what == "is linked" and effect.detail.get("mate") is not None:
            record.lookup = FOUND[Found.MATE]
        if effect.what == "started":
            self._count_start(record, effect)

    def _set_reason(self, job: JobId, reason: str) -> None:
        record = self.jobs.get(job)
        if record is not None and reason != record.reason:
            record.reason = reason
            self._changes.jobs[record.id] = record

    def _count_start(self, record: JobRecord, effect: Record) -> None:
        paired = bool(self.core.mates.jobs[effect.job].peer)
        together = story.starts_together(effect)
        self.metrics.starts["unpaired" if not paired else "paired" if together else "alone"].inc()
        gap = effect.detail.get("gap_s")
        if gap is not None:
            record.gap_s = int(str(gap))
            self.metrics.pair_gap.observe(record.gap_s)

    def _is_alone(self, job: PairedJob) -> bool:
        return not job.peer or not self.core.settings.enabled

    # Requests of peers

    def ask(self, asked: Asked, audit: AuditRecord | None = None) -> Reply:
        """A peer's request and its answer; Refusal."""
        self._recall(asked)
        request = asked.request
        if type(request) is GetMateStatus and not self._problem:
            job = self.core.mates.jobs.get(request.job)
            if job is None or job.state is not JobState.READY or job.disclosed:
                return self.core.mate_status(asked.peer, request)
        with self.turn():
            self._reply = None
            if audit is not None:
                self.audit(audit)
            self.feed(asked)
            self._touch_answered(request, self._reply)
        assert self._reply is not None
        return self._reply

    def _touch_answered(self, request: object, reply: Reply | None) -> None:
        if type(reply) is MateJobId and reply.job is not None:
            self.touch(reply.job)
        elif not isinstance(request, GetMateJobId):
            self.touch(request.job)  # type: ignore[attr-defined]

    def _recall(self, asked: Asked) -> None:
        """A job that has ended is not in memory for long; its mate may still ask."""
        peer, request = asked.peer, asked.request
        jobs = self.core.mates.jobs
        if type(request) is GetMateJobId:
            if self.core.mates.find(peer, request) is None:
                mate = None if request.pair is not None else request.caller
                self._recall_job(self.store.ended_mate(peer, request.pair, mate), peer, request.caller)
        elif request.job not in jobs and request.job.isdecimal():  # type: ignore[union-attr]
            self._recall_job(self.store.job(int(request.job)), peer, request.caller)  # type: ignore[union-attr]
        if type(request) in (TryStartMate, StartJob) and self.core.last_answer(peer, request.caller) is None:
            kept = self.store.answer(peer, request.caller)
            if kept is not None:
                request_id, kind, started = kept
                self.core.recover_answer(peer, request.caller, request_id, ANSWERS[kind](started))

    def _recall_job(self, record: JobRecord | None, peer: Domain, caller: JobId) -> None:
        if record is None or str(record.id) in self.core.mates.jobs or not record.state.final:
            return
        if record.peer == peer and record.mate in (None, caller):
            self.core.recover(_paired(record), record.submitted_at, self.clock.now())
            self._ended.append((self.clock.now(), str(record.id)))

    # Answers of peers, timers, the manager's reports

    def answered(self, call: Call, reply: Reply) -> None:
        """A peer's answer to a call."""
        self._inside(lambda: self._answered(call, reply))

    def call_failed(self, call: Call, failed: CallFailed, problem: str) -> None:
        """A call got no answer."""
        self._inside(lambda: self._call_failed(call, failed, problem))

    def _answered(self, call: Call, reply: Reply) -> None:
        job = self._asking(call)
        if job is None:
            return
        self._hear(job, reply)
        self.feed(Answered(call.job, call.request, reply))

    def _call_failed(self, call: Call, failed: CallFailed, problem: str) -> None:
        if self._asking(call) is None:
            return
        self.note(call.job, "gets no answer", peer=call.peer, call=type(call.request).__name__, problem=problem)
        self.feed(failed)

    def _asking(self, call: Call) -> PairedJob | None:
        """The job that made this call, if it still awaits the answer."""
        job = self.core.mates.jobs.get(call.job)
        return job if job is not None and job.call is call.request else None

    def _hear(self, job: PairedJob, reply: Reply) -> None:
        """Keep what the mate's domain says of it, for those who ask."""
        if (record := self.jobs.get(job.id)) is None:
            return
        before = record.lookup, record.mate_status
        if type(reply) is MateJobId:
            record.lookup = FOUND[reply.found]
        elif type(reply) is MateStatus:
            record.mate_status = STATUS[reply.status]
        record.heard_at = self.now
        if before != (record.lookup, record.mate_status):
            self._changes.jobs[record.id] = record

    def timer_due(self, timer: SetTimer) -> None:
        """A timer's instant has come."""
        if timer.job in self.jobs:
            self._inside(lambda: self.feed(TIMER_EVENTS[timer.timer](timer.job)))

    def ended(self, job: JobId, how: JobState, why: str = "", exit_code: int | None = None) -> None:
        """The manager reports that a job has ended; `how` is a final state."""
        self._inside(lambda: self.end(job, how, why, exit_code))

    def end(self, job: JobId, how: JobState, why: str = "", exit_code: int | None = None) -> None:
        """A job ends; only in a turn."""
        if (record := self.jobs.get(job)) is None:
            return
        self._looks = 0
        if job in self.cluster:
            self.cluster.leave(job, self.now, how)
        record.ended_at, record.exit_code, record.end_text = self.now, exit_code, why
        self._changes.jobs[record.id] = record
        self.feed(Finished(job, how))

    def _retire(self, job: JobId) -> None:
        record = self.jobs.pop(job)
        self._owners[record.owner] -= 1
        if not self._owners[record.owner]:
            del self._owners[record.owner]
        self._why_yielded.pop(job, None)
        self._ended.append((self.now, job))

    def tidy(self) -> None:
        """Drop ended jobs from memory once nobody is likely to ask for them."""
        while self._ended and self._ended[0][0] + KEEP_ENDED < self.clock.now():
            _, job = self._ended.popleft()
            paired = self.core.mates.jobs.get(job)
            if paired is not None and paired.state.final:
                self.core.forget(paired)

    def hear(self, peer: Domain, question: GetMateJobId, answer: MateJobId) -> None:
        """Keep what a mate's domain said of a mate, beside the job's own questions."""
        self._inside(lambda: self._heard(peer, question, answer))

    def _heard(self, peer: Domain, question: GetMateJobId, answer: MateJobId) -> None:
        job = self.core.mates.jobs.get(question.caller)
        if job is None or (job.peer, job.pair) != (peer, question.pair):  # it was unlinked meanwhile
            return
        self._hear(job, answer)
        if answer.job is not None and job.mate is None:
            self.core.mates.settle(job, answer.job)
            self.touch(job.id)

    def save(self, record: JobRecord) -> None:
        """Write the record at the end of this turn."""
        self._changes.jobs[record.id] = record

    def forget_changes(self) -> None:
        """What this turn has noted so far is not to be written: it ends in a Refusal, and nothing was done."""
        self._changes = Changes()

    def jobs_of(self, owner: str) -> int:
        """How many jobs of this owner have not ended."""
        return self._owners[owner]

    def script(self, job: JobRecord) -> JobScript | None:
        """What the job runs; StoreError."""
        return self.store.script(job.id)

    # Jobs in, and again after a restart

    def enqueue(self, record: JobRecord) -> None:
        """The job may be scheduled; only in a turn."""
        self._looks = 0
        self.cluster.submit(self._place(record, {}))
        self.touch(str(record.id))

    def add(self, record: JobRecord, script: JobScript) -> None:
        """Put a submission on record, in a transaction of its own with what the present turn has noted; StoreError."""
        with self.store.transaction():
            self.store.add_job(record, script)
            for request in self._changes.requests:
                self.store.save_reply(request.who, request.request_id, request.method, request.job, "")
            for audit in self._changes.audits:
                self.store.add_audit(audit)
        self._changes.requests.clear()
        self._changes.audits.clear()
        self._take_up(record)

    def _take_up(self, record: JobRecord) -> None:
        self.jobs[str(record.id)] = record
        self._owners[record.owner] += 1

    def recover(self) -> list[JobId]:
        """Take up all jobs that have not ended, as the last turn left them; ids of those that run. StoreError."""
        active = self.store.active_jobs()
        with self.turn():
            for record in active:
                self._recover(record)
            self.cluster.reschedule()
        return [job for job, record in self.jobs.items() if record.state is JobState.RUNNING]

    def _recover(self, record: JobRecord) -> None:
        self._take_up(record)
        paired, kept = _paired(record), recalled_place(record.memory or {})
        for effect in self.core.recover(paired, record.submitted_at, self.clock.now()):
            _CARRY_OUT[type(effect)](self, effect)
        if paired.state is JobState.HOLDING:
            kept["expected"] = paired.held_until  # which may be another if the settings are
            self.touch(paired.id)
        if record.state is JobState.QUEUED and record.nodes > self.cluster.nodes:
            self.end(
                str(record.id), JobState.CANCELLED, f"larger than the machine, which has {self.cluster.nodes} nodes now"
            )
        elif record.state is not JobState.QUEUED or not record.user_hold:
            self.cluster.submit(self._place(record, kept))

    def _place(self, record: JobRecord, kept: Mapping[str, Any]) -> ClusterJob:
        alone = self._is_alone(self.core.mates.jobs[str(record.id)])
        fits = record.nodes <= self.cluster.nodes  # else it runs, and the machine has become smaller
        nodes = self.cluster.rounded(record.nodes) if fits else record.nodes
        return ClusterJob(str(record.id), nodes, record.time_limit, record.submitted_at, alone, record.state, **kept)


def _paired(record: JobRecord) -> PairedJob:
    job = PairedJob(
        str(record.id),
        record.peer or "",
        record.pair,
        record.mate,
        record.owner,
        state=record.state,
        ready_at=record.ready_at,
        started_at=record.started_at,
    )
    return recall(job, record.memory or {})


_CARRY_OUT: dict[type, Callable[[LiveDomain, Any], None]] = {
    Start: LiveDomain._start,
    Hold: LiveDomain._hold,
    Yield: LiveDomain._yield,
    Release: LiveDomain._release,
    Try: LiveDomain._try,
    Reschedule: LiveDomain._reschedule,
    Record: LiveDomain._record,
    Call: LiveDomain._call,
    Answer: LiveDomain._answer,
    SetTimer: LiveDomain._timer,
    ClearTimer: LiveDomain._timer,
}
