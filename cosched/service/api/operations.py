"""What users and operators do: submit, cancel, link, unlink, release. Checked, carried out in turns, audited.

An operation that has begun is finished even if its caller goes away meanwhile; one that is repeated with its request id
changes nothing more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

import grpc

from cosched.adapters.manager import ManagerError
from cosched.core.coscheduling.mates import WAITING
from cosched.core.events import Linked, ReleaseDue, Submitted, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import Domain, Failure, GetMateJobId, JobId, MateJobId
from cosched.service.domain import story
from cosched.service.domain.changes import DoneRequest
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.offering import Offering
from cosched.service.manager.running import Runner, spec_of
from cosched.service.metrics import Metrics
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import names, no_pair, refusal_of_mate, until_linkable
from cosched.service.peers.peers import CallError
from cosched.service.store import AuditRecord, JobRecord, StoreError
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import number
from cosched.service.wire.submissions import MateNamed, Submission
from cosched.service.wire.translation import FOUND

_LOG = logging.getLogger(__name__)
QUICK = 2.0  # seconds in which a cancellation is done, as a rule; it goes on after that
UNASKED = 0  # MATE_LOOKUP_UNSPECIFIED
REFUSED = "refused: "  # begins the end of a job that was refused because of its mate


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks for what, for request ids and the audit."""

    caller: Caller
    method: str
    request_id: str

    @property
    def user(self) -> str:
        """The user's name; Refusal if it is none of this domain."""
        if self.caller.user is None:
            raise Refusal(
                grpc.StatusCode.PERMISSION_DENIED,
                "USER_UNKNOWN",
                f"only known users may change something, not {self.caller.via}: use the domain's Unix socket",
            )
        return self.caller.user


class Operations:
    """The operations of one domain."""

    def __init__(
        self, domain: LiveDomain, runner: Runner | Offering, announcer: Announcer, peer_names: Mapping[Domain, object],
        most_jobs: int, most_bytes: int, metrics: Metrics,
    ) -> None:  # fmt: skip
        self._domain = domain
        self._runner = runner
        self._announcer = announcer
        self._peer_names = list(peer_names)
        self._most_jobs, self._most_bytes = most_jobs, most_bytes
        self._metrics = metrics
        self._under_way: dict[tuple[str, str], asyncio.Task[JobRecord]] = {}  # by user and request id

    # The operations; each returns the job as it is then

    async def submit(self, asking: Asking, wanted: Submission) -> JobRecord:
        """SubmitJob."""
        return await self._once(asking, lambda: self._submit(asking, wanted))

    async def cancel(self, asking: Asking, job: str) -> JobRecord:
        """CancelJob."""
        return await self._once(asking, lambda: self._cancel(asking, job))

    async def link(self, asking: Asking, job: str, mate: MateNamed) -> JobRecord:
        """LinkJobs."""
        return await self._once(asking, lambda: self._link(asking, job, mate))

    async def unlink(self, asking: Asking, job: str, peer: Domain) -> JobRecord:
        """UnlinkJobs; `peer` empty: whatever its mate's domain."""
        return await self._once(asking, lambda: self._unlink(asking, job, peer))

    async def release(self, asking: Asking, job: str) -> JobRecord:
        """ReleaseHold."""
        return await self._once(asking, lambda: self._release(asking, job))

    def drain(self, asking: Asking, expected: int, settle: int) -> None:
        """DrainDomain, for so many seconds as far as is known; holds last for `settle` seconds at most."""
        self._change_domain(asking, f"for {expected} s", lambda: self._domain.drain(expected, settle))

    def resume(self, asking: Asking) -> None:
        """ResumeDomain."""
        self._change_domain(asking, "", self._domain.resume)

    def _change_domain(self, asking: Asking, detail: str, change: Callable[[], None]) -> None:
        """What operators do with the domain as a whole; once for each request id."""
        try:
            if not asking.caller.operator:
                raise not_owner(f"only an operator may drain or resume {self._domain.name}, not {asking.user}")
            if self._domain.store.reply(asking.user, asking.request_id) is not None:
                return
            with self._domain.turn():
                self._domain.changes.requests.append(DoneRequest(asking.user, asking.request_id, asking.method, None))
                self._domain.audit(self._audit(asking, None, "OK", detail))
                change()
        except Refusal as refusal:
            self.refused(asking, refusal)
            raise

    async def look(self) -> None:
        """Somebody asks for the queue: all jobs of this domain are known."""

    async def look_for(self, job: str) -> None:
        """Somebody asks for this job: all jobs of this domain are known."""

    async def close(self) -> None:
        """Wait for what has begun."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    def abandon(self) -> None:
        """Wait for nothing: after a fault what has begun may never end. It is on record, or was not answered."""
        for task in self._under_way.values():
            task.cancel()

    async def _once(self, asking: Asking, operate: Callable[[], Awaitable[JobRecord]]) -> JobRecord:
        """Carry an operation out to its end, unless that is being done or was done before."""
        try:
            begun = self._under_way.get((asking.user, asking.request_id))
            if begun is not None:
                _check_same(asking, begun.get_name())
                return await asyncio.shield(begun)
            done = self._domain.store.reply(asking.user, asking.request_id)
            if done is not None:
                return self._done(asking, done[0], done[1])
            return await asyncio.shield(self._begin(asking, operate))
        except Refusal as refusal:
            self.refused(asking, refusal)
            raise

    def _begin(self, asking: Asking, operate: Callable[[], Awaitable[JobRecord]]) -> asyncio.Task[JobRecord]:
        key, task = (asking.user, asking.request_id), asyncio.ensure_future(operate())
        assert isinstance(task, asyncio.Task)
        task.set_name(asking.method)
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key))
        return task

    def _done(self, asking: Asking, method: str, job: int | None) -> JobRecord:
        _check_same(asking, method)
        record = self.job(str(job))
        if record.state is JobState.CANCELLED and record.end_text.startswith(REFUSED):
            raise no_pair(record.end_text.removeprefix(REFUSED))
        return record

    # Submission

    async def _submit(self, asking: Asking, wanted: Submission) -> JobRecord:
        owner = self._owner(asking, wanted.owner)
        mate = self._named(wanted.mate) if wanted.mate is not None else None
        self._check_room(owner, wanted.nodes)
        self._check_mate(owner, mate)
        record = self._record(wanted, owner, mate)
        or_alone = mate is not None and mate.or_alone
        job = str(record.id)
        with self._domain.turn():
            self._on_record(asking, record, "")
            self._add(record, wanted)
            self._domain.feed(Submitted(job, record.peer or "", record.pair, record.mate, record.owner, or_alone))
            if mate is None and not wanted.hold:
                self._domain.enqueue(record)
        if mate is not None:
            await self._find_mate(record, mate)
        return record

    async def _find_mate(self, record: JobRecord, mate: MateNamed) -> None:
        """Ask for the mate of a new job, which is on record but not scheduled yet. Refusal: there is no such mate.

        It is on record before that, since its mate's domain may keep its id.
        """
        job = str(record.id)
        answer = await self._announcer.announce(job)
        if job not in self._domain.jobs:
            return  # it was cancelled meanwhile
        refusal = refusal_of_mate(mate, answer)
        with self._domain.turn():
            if refusal is not None and record.state is JobState.QUEUED:
                self._domain.end(job, JobState.CANCELLED, f"{REFUSED}{refusal.message}")
            elif not record.user_hold and job not in self._domain.cluster:
                self._domain.enqueue(record)
        if refusal is not None and record.state is JobState.CANCELLED:
            raise refusal

    def _record(self, wanted: Submission, owner: str, mate: MateNamed | None) -> JobRecord:
        return JobRecord(
            id=self._domain.store.next_job_id(),
            name=wanted.name,
            owner=owner,
            uid=None,
            nodes=wanted.nodes,
            time_limit=wanted.time_limit,
            submitted_at=self._domain.clock.now(),
            state=JobState.QUEUED,
            reason=story.WAITS_IN_QUEUE,
            user_hold=wanted.hold,
            peer=mate.peer if mate else None,
            pair=mate.pair if mate else None,
            mate=mate.mate if mate else None,
        )

    def _add(self, record: JobRecord, wanted: Submission) -> None:
        try:
            self._runner.check(spec_of(record, wanted.script))
            self._domain.add(record, wanted.script)
        except ManagerError as error:
            self._domain.forget_changes()
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "MANAGER_REFUSED", str(error)) from error
        except StoreError as error:
            self._domain.forget_changes()
            raise Refusal(
                grpc.StatusCode.UNAVAILABLE, "STALLED", f"the job cannot be put on record: {error.reason}"
            ) from error

    def _owner(self, asking: Asking, owner: str) -> str:
        if owner in ("", asking.user):
            return asking.user
        if not asking.caller.operator:
            raise not_owner(f"only an operator may submit for {owner}")
        return owner

    def _check_room(self, owner: str, nodes: int) -> None:
        try:
            self._domain.cluster.rounded(nodes)
        except ValueError as error:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_TOO_LARGE", str(error)) from None
        if self._domain.holdings.jobs(owner) >= self._most_jobs:
            raise Refusal(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "TOO_MANY_JOBS",
                f"{owner} has {self._most_jobs} jobs that have not ended, the most that one user may have",
            )
        if self._domain.holdings.script_bytes(owner) >= self._most_bytes:
            raise Refusal(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                "TOO_MUCH_STORED",
                f"the scripts of {owner}'s jobs that have not ended take {self._most_bytes} bytes, the most that those"
                " of one user may take",
            )

    # Mates

    def _named(self, mate: MateNamed) -> MateNamed:
        """The mate, its domain filled in; Refusal if this domain does not speak to that one."""
        peer = mate.peer or (self._peer_names[0] if len(self._peer_names) == 1 else "")
        if peer not in self._peer_names:
            known = ", ".join(self._peer_names) or "none"
            said = f"no domain {mate.peer}" if mate.peer else "the mate's domain must be named"
            if peer == self._domain.name:
                said = f"{peer} is this domain: a mate is a job of another one"
            raise Refusal(grpc.StatusCode.NOT_FOUND, "DOMAIN_NOT_FOUND", f"{said} (configured: {known})")
        return replace(mate, peer=peer)

    def _check_mate(self, owner: str, mate: MateNamed | None, job: JobId | None = None) -> None:
        """Refusal if another job here than `job` has that mate."""
        if mate is None:
            return
        if not self._domain.core.settings.enabled:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "COSCHEDULING_OFF", "coscheduling is off here")
        taken = self._domain.core.mates.taken(mate.peer, owner, mate.pair, mate.mate)
        if taken not in (None, job):
            what = f"pair {mate.pair}" if mate.pair is not None else f"{mate.peer}:{mate.mate}"
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION,
                "PAIR_TAKEN",
                f"{what} is that of job {taken} already",
                {"job_id": str(taken)},
            )

    async def _link(self, asking: Asking, job: str, named: MateNamed) -> JobRecord:
        record, mate = self._owned(asking, job), self._named(named)
        self._check_linkable(record, mate)
        answer = await self._agreed(record, mate)
        await self._write_link(record, mate)
        self._check_linkable(record, mate)  # it may have started meanwhile
        with self._domain.turn():
            self._on_record(asking, record, mate.named)
            if not names(record, mate):
                known = mate.mate or answer.job
                self._domain.feed(Linked(job, mate.peer, mate.pair, known, mate.or_alone))
                record.mate_status = UNASKED
            record.lookup = FOUND[answer.found]
        return record

    async def _agreed(self, record: JobRecord, mate: MateNamed) -> MateJobId:
        """What the mate's domain says of the new link; Refusal if there is no such mate."""
        answer = await self._ask_for_link(record, mate)
        if (refusal := refusal_of_mate(mate, answer)) is not None:
            raise refusal
        await until_linkable(self._domain, str(record.id))
        return answer

    async def _write_link(self, record: JobRecord, mate: MateNamed) -> None:
        """Have the link noted elsewhere than here: only we know it."""

    def _check_linkable(self, record: JobRecord, mate: MateNamed) -> None:
        if record.state not in WAITING:
            raise _wrong_state(record, "be linked any more")
        self._check_mate(record.owner, mate, str(record.id))

    async def _ask_for_link(self, record: JobRecord, mate: MateNamed) -> MateJobId:
        try:
            question = GetMateJobId(str(record.id), mate.pair, mate.mate, record.owner)
            return await self._announcer.ask(mate.peer, question)
        except CallError as error:
            refused = error.failure is Failure.REFUSED
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION if refused else grpc.StatusCode.UNAVAILABLE,
                "NO_PAIR" if refused else "PEER_UNREACHABLE",
                f"{mate.peer} {'refuses this domain' if refused else 'gives no answer'}: {error.problem}; "
                f"job {record.id} is as it was",
            ) from error

    def _linked(self, asking: Asking, job: str, peer: Domain) -> JobRecord:
        """The job, which has a mate on that domain and has not started; Refusal."""
        record = self._owned(asking, job)
        if record.peer is None or peer not in ("", record.peer):
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NOT_LINKED", f"job {job} has no such mate")
        if record.state is JobState.RUNNING:
            raise _wrong_state(record, "be unlinked")
        return record

    async def _unlink(self, asking: Asking, job: str, peer: Domain) -> JobRecord:
        record = self._linked(asking, job, peer)
        await self._part(job)
        self._linked(asking, job, peer)  # it may have started meanwhile
        with self._domain.turn():
            self._on_record(asking, record, f"{record.peer}:{record.mate or record.pair}")
            record.lookup = record.mate_status = UNASKED
            self._domain.feed(Unlinked(job))
        return record

    async def _part(self, job: str) -> None:
        """Have the job's mate forgotten elsewhere than here: only we know it."""

    # Cancellation and release

    async def _cancel(self, asking: Asking, job: str) -> JobRecord:
        record = self.job(job)
        self._check_owner(asking, record)
        if record.state is JobState.CANCELLED:
            return record
        if record.state.final:
            raise _wrong_state(record, "be cancelled")
        with self._domain.turn():
            self._on_record(asking, record, "")
            if record.state is not JobState.RUNNING:
                self._domain.end(job, JobState.CANCELLED, f"by {asking.user}")
            else:
                self._domain.order_cancellation(record, asking.user)
        if record.state is JobState.RUNNING:
            await self._runner.cancelled(job, QUICK)
        return record

    async def _release(self, asking: Asking, job: str) -> JobRecord:
        record = self._owned(asking, job)
        if not record.user_hold and record.state is not JobState.HOLDING:
            raise _wrong_state(record, "be released: it does not hold")
        if not record.user_hold and not asking.caller.operator:
            raise not_owner(
                f"only an operator may end a hold before its time; to end the wait of job {job}, "
                "link it with another mate, unlink it (it then starts alone) or cancel it"
            )
        with self._domain.turn():
            self._on_record(asking, record, "")
            if record.user_hold:
                record.user_hold = False
                self._domain.enqueue(record)
                self._domain.save(record)
            else:
                self._domain.feed(ReleaseDue(job))
        return record

    # Who may; what is kept

    def job(self, job: str) -> JobRecord:
        """The job, ended or not; Refusal."""
        record = self._domain.jobs.get(job)
        if record is None and (id := number(job)) is not None:
            record = self._domain.store.job(id)
        if record is None:
            raise self.no_job(job)
        return record

    def no_job(self, job: str) -> Refusal:
        """There is none of that id."""
        return Refusal(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", f"no job {job[:40]} on {self._domain.name}")

    def _owned(self, asking: Asking, job: str) -> JobRecord:
        """The job, which has not ended and which the caller may change; Refusal."""
        record = self.job(job)
        self._check_owner(asking, record)
        if record.state.final:
            raise _wrong_state(record, "be changed")
        return record

    def _check_owner(self, asking: Asking, record: JobRecord) -> None:
        if asking.user != record.owner and not asking.caller.operator:
            raise not_owner(f"job {record.id} is {record.owner}'s, and {asking.user} is no operator")

    def _on_record(self, asking: Asking, record: JobRecord, detail: str) -> None:
        done = DoneRequest(asking.user, asking.request_id, asking.method, record.id)
        self._domain.changes.requests.append(done)
        self._domain.audit(self._audit(asking, str(record.id), "OK", detail))

    def _audit(self, asking: Asking, job: str | None, outcome: str, detail: str) -> AuditRecord:
        caller = asking.caller
        now = self._domain.clock.now()
        return AuditRecord(now, caller.user or caller.peer or "", caller.via, asking.method, job, outcome, detail)

    def refused(self, asking: Asking, refusal: Refusal) -> None:
        """A change that was refused is on record too, if that can be written."""
        denied = refusal.code is grpc.StatusCode.PERMISSION_DENIED
        level = logging.WARNING if denied else logging.INFO
        _LOG.log(level, "%s of %s: %s", asking.method, asking.caller.via, refusal.message)
        if denied:
            self._metrics.denied(refusal.reason).inc()
        if not self._domain.problem:
            record = self._audit(asking, None, refusal.code.name, refusal.message)
            self._domain.refused_changes.add(record, refusal.reason)


def _check_same(asking: Asking, method: str) -> None:
    """Refusal if the request id was used for another method."""
    if method != asking.method:
        raise Refusal(
            grpc.StatusCode.INVALID_ARGUMENT,
            "INVALID_FIELD",
            f"request_id: was used for {method} before",
            {"field": "request_id"},
        )


def not_owner(message: str) -> Refusal:
    """The caller may not do that."""
    return Refusal(grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER", message)


def _wrong_state(record: JobRecord, what: str) -> Refusal:
    state = record.state.name
    return Refusal(
        grpc.StatusCode.FAILED_PRECONDITION,
        "JOB_STATE",
        f"job {record.id} is {state}: it cannot {what}",
        {"state": state},
    )
