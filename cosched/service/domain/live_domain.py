"""One live policy domain: what peers ask of it and answer, what its manager and its users tell it, and its restart.

How it does all that in turns is told in `turns`, how it decides in `deciding`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.mates import NOT_WAITING, WAITING
from cosched.core.domain import TIMER_EVENTS
from cosched.core.effects import Call, SetTimer, Timer
from cosched.core.events import (
    Answered,
    Asked,
    CallFailed,
    Drained,
    Finished,
    PeerAway,
    PeerDrains,
    PeerLeaves,
    PeerThere,
    Resumed,
)
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    Found,
    GetMateJobId,
    GetMateStatus,
    JobId,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    Reply,
    StartJob,
    TryStartMate,
)
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.core.settings import OnMateUnknown
from cosched.core.story import Why
from cosched.service.domain.changes import Cancel
from cosched.service.domain.deciding import DecidingDomain
from cosched.service.domain.draining import DRAIN, Drain, read_drain, write_drain
from cosched.service.domain.holdings import Holdings
from cosched.service.domain.memory import PEERS, recall, recalled_peers, recalled_place
from cosched.service.domain.story import Noted
from cosched.service.store import AuditRecord, JobRecord, JobScript
from cosched.service.store.auditing import RefusedChanges
from cosched.service.wire.fields import number
from cosched.service.wire.translation import FOUND, STATUS

LIFE = "life"  # what the store calls the number of times that the domain was started
SKIPPED = 1000  # numbers of calls; more than a job can have used that are not on disk yet
KEEP_ENDED = 600  # seconds that an ended job stays in memory, for its mate's questions
ANSWERS: dict[str, type[MateTried | MateStarted]] = {kind.__name__: kind for kind in (MateTried, MateStarted)}


class LiveDomain(DecidingDomain):
    """The state of one domain; constructed as `DecidingDomain`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.holdings = Holdings()
        self.refused_changes = RefusedChanges(self.store)
        self._ended: deque[tuple[int, JobId]] = deque()
        self.drained: Drain | None = None

    # Requests of peers

    def ask(self, asked: Asked, audit: AuditRecord | None = None) -> Reply | None:
        """A peer's request and its answer; None: it takes a while, see `late_answers`. Refusal."""
        self._recall(asked)
        if not self._problem and (answer := self._known(asked)) is not None:
            return self._explained(asked, answer)
        with self.turn():
            self._reply = None
            if audit is not None:
                self.audit(audit)
            self.feed(asked)
        return self._explained(asked, self._reply)

    def _explained(self, asked: Asked, reply: Reply | None) -> Reply | None:
        """The answer, with what is on record of a mate that is not in memory (any more)."""
        request = asked.request
        if type(request) is GetMateJobId and type(reply) is MateJobId and reply.problem is MateProblem.UNKNOWN:
            return reply._replace(problem=self._problem_on_record(asked.peer, request))
        return reply

    def _problem_on_record(self, peer: Domain, request: GetMateJobId) -> MateProblem:
        id = number(request.mate or "")
        record = self.store.job(id) if id is not None else None
        if record is None or not record.state.final:
            return MateProblem.UNKNOWN
        if record.owner != self.core.mates.owner_here(peer, request.owner):
            return MateProblem.OTHER_OWNER
        return NOT_WAITING[record.state]

    def _known(self, asked: Asked) -> Reply | None:
        """The answer to a question, if it changes nothing here: that needs no turn."""
        peer, request = asked.peer, asked.request
        if type(request) is GetMateStatus:
            job = self.core.jobs.get(request.job)
            if job is None or job.state is not JobState.READY or job.disclosed:
                return self.core.incoming.mate_status(peer, request)
        elif type(request) is GetMateJobId:
            found = self.core.mates.find(peer, request)
            if found is None or found.mate is not None:  # else the caller may become its mate
                return self.core.incoming.mate_job_id(peer, request)
        return None

    def _recall(self, asked: Asked) -> None:
        """A job that has ended is not in memory for long; its mate may still ask."""
        peer, request = asked.peer, asked.request
        jobs = self.core.jobs
        if type(request) is GetMateJobId:
            if self.core.mates.find(peer, request) is None:
                owner = self.core.mates.owner_here(peer, request.owner)
                mate = None if request.pair is not None else request.caller
                self._recall_job(self.store.ended_mate(peer, owner, request.pair, mate), peer, request.caller)
        elif request.job not in jobs and (id := number(request.job)) is not None:  # type: ignore[union-attr]
            self._recall_job(self.store.job(id), peer, request.caller)
        if type(request) in (TryStartMate, StartJob) and self.core.incoming.last_answer(peer, request.caller) is None:
            kept = self.store.answer(peer, request.caller)
            if kept is not None:
                request_id, kind, started, start_at = kept
                self.core.incoming.recover_answer(peer, request.caller, request_id, ANSWERS[kind](started, start_at))

    def _recall_job(self, record: JobRecord | None, peer: Domain, caller: JobId) -> None:
        if record is None or str(record.id) in self.core.jobs or not record.state.final:
            return
        if record.peer == peer and record.mate in (None, caller):
            self.core.recover(_paired(record), record.submitted_at, self.clock.now())
            self._ended.append((self.clock.now(), str(record.id)))

    # Peers that are there or not

    def expected(self) -> list[Domain]:
        """The peers that are away and waited for."""
        return [peer for peer in self.core.peers.known if self.core.peers.expects(peer, self.clock.now())]

    def peer_answers(self, peer: Domain, well: bool) -> None:
        """The peer was asked for its health, and is well or gives no answer."""
        known = self.core.peers.known.get(peer)
        if well if known is None else well is (known.away_since is not None):  # else nothing is new
            self._inside(lambda: self.feed(PeerThere(peer) if well else PeerAway(peer)))

    def peer_serves(self, peer: Domain) -> None:
        """The peer says that it is here, and makes pairs."""
        self.peer_answers(peer, True)
        if self.core.peers.is_draining(peer, self.clock.now()):
            self._inside(lambda: self.feed(PeerDrains(peer)))

    def peer_drains(self, peer: Domain, expected: int) -> None:
        """The peer says that it drains, for so many seconds as far as it knows."""
        self.peer_answers(peer, True)
        self._inside(lambda: self.feed(PeerDrains(peer, self.now + expected)))

    def peer_leaves(self, peer: Domain, expected: int | None) -> None:
        """The peer says that it stops just now, and for how many seconds (None: a moment)."""
        self._inside(lambda: self.feed(PeerLeaves(peer, 0 if expected is None else self.now + expected)))

    # To drain, and to resume

    def drain(self, expected: int, settle: int) -> None:
        """Make no holds and no pairs, for so many seconds as far as is known; only in a turn."""
        since = self.drained.since if self.drained is not None else self.now
        self.drained = Drain(since, self.now + expected, self.now + settle)
        self._changes.values[DRAIN] = write_drain(self.drained)
        self.note(None, Noted.DRAINS, until=self.drained.until)
        self.feed(Drained(self.drained.settled_by))

    def resume(self) -> None:
        """The end of `drain`; only in a turn."""
        if self.drained is None:
            return
        self.drained = None
        self._changes.values[DRAIN] = write_drain(None)
        self.note(None, Noted.RESUMED)
        self.feed(Resumed())

    def unsettled(self) -> list[JobId]:
        """The jobs that have nodes and wait for their mates."""
        waiting = (JobState.READY, JobState.HOLDING)
        return [job for job, record in self.jobs.items() if record.state in waiting and record.peer is not None]

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
        if (job := self._asking(call)) is None:
            return
        if not job.uncertain:  # else that was told, and is repeated each second
            self.note(call.job, Noted.NO_ANSWER, peer=call.peer, call=type(call.request).__name__, problem=problem)
        self.feed(failed)

    def _asking(self, call: Call) -> PairedJob | None:
        """The job that made this call, if it still awaits the answer."""
        job = self.core.jobs.get(call.job)
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
        if timer.timer is Timer.GRACE or timer.job in self.jobs:
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

    def order_cancellation(self, record: JobRecord, user: str) -> None:
        """Have the manager end a job, as soon as it can; only in a turn. Its end is reported."""
        if record.cancelled_by is None:
            record.cancelled_by = user
            self.save(record)
            self.note(str(record.id), Noted.TO_BE_CANCELLED, by=user)
        self._changes.orders.append(Cancel(str(record.id)))

    def _retire(self, record: JobRecord) -> None:
        super()._retire(record)
        self.holdings.remove(record)
        self._ended.append((self.now, str(record.id)))

    def tidy(self) -> None:
        """Drop ended jobs from memory once nobody is likely to ask for them, and write down what was counted."""
        self.refused_changes.tidy(self.clock.now())
        while self._ended and self._ended[0][0] + KEEP_ENDED < self.clock.now():
            _, job = self._ended.popleft()
            paired = self.core.jobs.get(job)
            if paired is not None and paired.state.final:
                self.core.forget(paired)

    def hear(self, peer: Domain, question: GetMateJobId, answer: MateJobId) -> None:
        """Keep what a mate's domain said of a mate, beside the job's own questions."""
        self._inside(lambda: self._heard(peer, question, answer))

    def _heard(self, peer: Domain, question: GetMateJobId, answer: MateJobId) -> None:
        job = self.core.jobs.get(question.caller)
        if job is None or (job.peer, job.pair) != (peer, question.pair):  # it was unlinked meanwhile
            return
        self._hear(job, answer)
        if answer.job is not None and job.mate is None:
            self.core.mates.settle(job, answer.job)
            self.touch(job.id)
        if answer.found is Found.NO_PAIR:
            job.problem = answer.problem or ""
            self.touch(job.id)
            if self._waits_for_a_mate(job):
                self.note(job.id, Noted.WRONG_MATE, peer=peer, mate=job.mate, pair=job.pair, problem=job.problem)
                self._set_reason(job.id, Why.MATE_UNKNOWN)

    def _waits_for_a_mate(self, job: PairedJob) -> bool:
        """Whether the job will wait, though there is no such mate."""
        settings = self.core.settings
        return settings.on_mate_unknown is OnMateUnknown.WAIT and not job.or_alone and job.state in WAITING

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
            size = self.store.add_job(record, script)
            for request in self._changes.requests:
                self.store.save_reply(request.who, request.request_id, request.method, request.job, "")
            for audit in self._changes.audits:
                self.store.add_audit(audit)
        self._calls_after = self.store.commits
        self._changes.requests.clear()
        self._changes.audits.clear()
        self._take_up(record, size)

    def _take_up(self, record: JobRecord, script_bytes: int = 0) -> None:
        self.jobs[str(record.id)] = record
        self.holdings.add(record, script_bytes)

    def recover(self) -> list[JobId]:
        """Take up all jobs that have not ended, as the last turn left them; ids of those that ran then. StoreError."""
        self._begin_life()
        active, script_bytes = self.store.active_jobs(), self.store.script_bytes()
        running = [str(record.id) for record in active if record.state is JobState.RUNNING]
        with self.turn():
            for peer, known in recalled_peers(self.store.meta(PEERS)).items():
                self.carry_out(self.core.asking.recover_peer(peer, known))
            if (drained := read_drain(self.store.meta(DRAIN))) is not None:
                self.drained = drained
                self.feed(Drained(drained.settled_by))
            for record in active:
                self._recover(record, script_bytes.get(record.id, 0))
            self.cluster.reschedule()
        return running

    def _begin_life(self) -> None:
        """A power failure may have taken turns back whose calls were made: their numbers are not used again."""
        lives = int(self.store.meta(LIFE) or 0)
        self.core.outgoing.calls_before = SKIPPED * lives
        with self.store.transaction():
            self.store.set_meta(LIFE, str(lives + 1))
        self._calls_after = self.store.commits

    def _recover(self, record: JobRecord, script_bytes: int) -> None:
        self._take_up(record, script_bytes)
        paired, kept = _paired(record), recalled_place(record.memory or {})
        self.carry_out(self.core.recover(paired, record.submitted_at, self.clock.now()))
        if paired.state is JobState.HOLDING:
            kept["expected"] = paired.held_until  # which may be another if the settings are
        if record.state is JobState.QUEUED and not self.cluster.fits(record.nodes):
            self.end(
                str(record.id), JobState.CANCELLED, f"larger than the machine, which has {self.cluster.nodes} nodes now"
            )
        elif record.state is not JobState.QUEUED or not record.user_hold:
            self.cluster.submit(self._place(record, kept))

    def _place(self, record: JobRecord, kept: Mapping[str, Any]) -> ClusterJob:
        paired = self.policy.is_paired(str(record.id))
        # A job that does not fit runs, and the machine has become smaller.
        nodes = self.cluster.rounded(record.nodes) if self.cluster.fits(record.nodes) else record.nodes
        return ClusterJob(str(record.id), nodes, record.time_limit, record.submitted_at, paired, record.state, **kept)


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
