"""Users' operations on jobs: submit, cancel, link, unlink, release. They are checked, and carried out in turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import grpc

from cosched.adapters.manager import ManagerError
from cosched.core.allocation import Malleable
from cosched.core.coscheduling.mates import WAITING
from cosched.core.events import Linked, ReleaseDue, Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import (
    Domain,
    Failure,
    GetMateJobId,
    GroupName,
    JobId,
    MateJobId,
    MateName,
    MateProblem,
    Named,
)
from cosched.service.api.requests import Requests, UserRequest, not_owner
from cosched.service.domain import story
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.memory import named_group
from cosched.service.domain.sizing import as_text
from cosched.service.manager.queues import Queue
from cosched.service.manager.runner import Runner
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import (
    names,
    no_pair,
    peer_meant,
    refusal_of_group,
    refusal_of_mate,
    until_linkable,
)
from cosched.service.peers.peers import CallError
from cosched.service.store import JobRecord, StoreError
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError, number
from cosched.service.wire.message_parts import FOUND
from cosched.service.wire.submissions import Submission
from cosched.validation.group_windows import wrong_instant
from cosched.wrong_mates import wrong_member

QUICK = 2.0  # seconds that usually suffice for a cancellation, which may go on after that
UNASKED = 0  # MATE_LOOKUP_UNSPECIFIED


class Operations:
    """The operations of one domain."""

    def __init__(
        self, domain: LiveDomain, requests: Requests, runner: Runner, queue: Queue, announcer: Announcer,
        peers: Sequence[Domain], most_jobs: int, most_bytes: int,
        malleable: Callable[[int], Malleable] | None = None,
    ) -> None:  # fmt: skip
        """`peers`: the configured domains. One user may have `most_jobs` jobs that have not ended, and
        `most_bytes` bytes of their scripts. `malleable`: how a job with this least changes its size here; None: no job
        does.
        """
        self._domain = domain
        self._requests = requests
        self._runner = runner
        self._queue = queue
        self._announcer = announcer
        self._peers = peers
        self._most_jobs, self._most_bytes = most_jobs, most_bytes
        self._malleable = malleable

    # The operations; each returns the job as it is afterwards

    async def submit(self, request: UserRequest, wanted: Submission) -> JobRecord:
        """SubmitJob."""
        return await self._once(request, lambda: self._submit(request, wanted))

    async def cancel(self, request: UserRequest, job: str) -> JobRecord:
        """CancelJob."""
        return await self._once(request, lambda: self._cancel(request, job))

    async def link(self, request: UserRequest, job: str, named: Named) -> JobRecord:
        """LinkJobs."""
        if isinstance(named, GroupName):
            return await self._once(request, lambda: self._join(request, job, named))
        return await self._once(request, lambda: self._link(request, job, named))

    async def unlink(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        """UnlinkJobs; `peer` empty: any domain."""
        return await self._once(request, lambda: self._unlink(request, job, peer))

    async def release(self, request: UserRequest, job: str) -> JobRecord:
        """ReleaseHold."""
        return await self._once(request, lambda: self._release(request, job))

    async def _once(self, request: UserRequest, operate: Callable[[], Awaitable[JobRecord]]) -> JobRecord:
        return await self._requests.once(request, operate, self._done)

    def _done(self, job: int | None, refused: str) -> JobRecord:
        """Return the job of a request that was carried out before; Refusal if it was `refused` because of the mate."""
        if refused:
            raise no_pair(refused)
        return self.job(str(job))

    # Submission

    async def _submit(self, request: UserRequest, wanted: Submission) -> JobRecord:
        self._queue.check_open()
        owner = self._owner(request, wanted.owner)
        named = await self._checked(wanted.named)
        self._check_room(owner, wanted.least or wanted.nodes)
        self._check_free(owner, named)
        record = self._record(wanted, owner, named)
        self._check_size(record)
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, "")
            self._add(record, wanted)
            self._domain.admit(record, or_alone=named is not None and named.or_alone)
            if named is None and not wanted.hold:
                self._domain.enqueue(record)
        if named is not None:
            await self._find(request, record, named)
        return record

    async def _find(self, request: UserRequest, record: JobRecord, named: Named) -> None:
        """Ask for those with which a new job starts; it is recorded, not scheduled yet. Refusal: it cannot have them.

        The job is recorded first, since the other domains may keep its id.
        """
        job = str(record.id)
        if isinstance(named, GroupName):
            answers = await self._announcer.ask_for_members(record, named)
            self._domain.calls.heard_of_members(job, answers)
            refusal = refusal_of_group(named, answers)
        else:
            refusal = refusal_of_mate(named, await self._announcer.announce(job))
        if job not in self._domain.jobs:
            return  # the job was cancelled meanwhile
        with self._domain.turns.take():
            if refusal is not None and record.state is JobState.QUEUED:
                self._requests.on_refusal(request, record.id, refusal)
                self._domain.end(job, JobState.CANCELLED, f"refused: {refusal.message}")
            elif not record.user_hold and job not in self._domain.scheduler:
                self._domain.enqueue(record)
        if refusal is not None and record.state is JobState.CANCELLED:
            raise refusal

    def _record(self, wanted: Submission, owner: str, named: Named | None) -> JobRecord:
        group = named if isinstance(named, GroupName) else None
        mate = named if isinstance(named, MateName) else None
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
            group_name=group.name if group else None,
            group_with="+".join(group.others) if group else None,
            memory=named_group(self._domain.name, group) if group else None,
            malleable=self._how_malleable(wanted.least),
        )

    def _how_malleable(self, least: int | None) -> str | None:
        if least is None:
            return None
        if self._malleable is None:
            said = "least_nodes: the scheduler of this domain changes no sizes of running jobs: leave --least out"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_RESIZING", said)
        return as_text(self._malleable(least))

    def _check_size(self, record: JobRecord) -> None:
        try:
            self._domain.check(record)
        except ValueError as error:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_TOO_LARGE", str(error)) from None

    def _add(self, record: JobRecord, wanted: Submission) -> None:
        try:
            self._queue.check(record, wanted.script)
            self._domain.add(record, wanted.script)
        except ManagerError as error:
            self._domain.journal.forget()
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "MANAGER_REFUSED", str(error)) from error
        except StoreError as error:
            self._domain.journal.forget()
            raise Refusal(
                grpc.StatusCode.UNAVAILABLE, "STALLED", f"the job cannot be recorded: {error.reason}"
            ) from error

    def _owner(self, request: UserRequest, owner: str) -> str:
        if owner in ("", request.user):
            return request.user
        if not request.caller.operator:
            raise not_owner(f"only an operator may submit for {owner}")
        return owner

    def _check_room(self, owner: str, nodes: int) -> None:
        try:
            self._domain.scheduler.rounded(nodes)
        except ValueError as error:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_TOO_LARGE", str(error)) from None
        if self._domain.records.holdings.jobs(owner) >= self._most_jobs:
            said = f"{owner} has {self._most_jobs} jobs that have not ended, the most that one user may have"
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_JOBS", said)
        if self._domain.records.holdings.script_bytes(owner) >= self._most_bytes:
            size = f"{self._most_bytes} bytes, the most that those of one user may take"
            said = f"the scripts of {owner}'s jobs that have not ended take {size}"
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MUCH_STORED", said)

    # Groups

    async def _checked(self, named: Named | None) -> Named | None:
        """Return the mate, with its domain filled in, or the group, whose domains are known and can start groups."""
        if not isinstance(named, GroupName):
            return self._named(named) if named is not None else None
        for peer in named.others:
            self._named(MateName(peer))
        self._check_slots(named)
        lacking = [] if self._domain.takes_groups else [self._domain.name]
        lacking += await self._announcer.without_groups(named.others)
        if lacking:
            said = wrong_member(lacking[0], named.name, MateProblem.NO_GROUPS)
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_GROUPS", said, {"domain": lacking[0]})
        return named

    def _check_slots(self, named: GroupName) -> None:
        """Check what only groups with slots have: windows, and a given instant."""
        own = self._domain.name
        now = self._domain.clock.to_wall(self._domain.clock.now())
        if named.at is not None and (why := wrong_instant(named.at, now)) is not None:
            raise FieldError("group.at", why)
        for window in named.windows:
            if window.domain not in (own, *named.others):
                raise FieldError("group.windows", f"{window.domain!r} is no domain of the group")
        if (named.windows or named.at is not None) and not self._domain.core.settings.slots:
            said = wrong_member(own, named.name, MateProblem.NO_SLOTS)
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_SLOTS", said, {"domain": own})

    async def _join(self, request: UserRequest, job: str, named: GroupName) -> JobRecord:
        self._queue.check_groups()
        record = self._owned(request, job)
        await self._checked(named)
        self._check_joinable(record, named)
        answers = await self._announcer.ask_for_members(record, named)
        if (refusal := refusal_of_group(named, answers)) is not None:
            raise refusal
        self._check_joinable(record, named)  # it may have been chosen meanwhile
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, str(named))
            self._domain.decisions.feed(Linked(job, named))
            record.lookup = record.mate_status = UNASKED
        self._domain.calls.heard_of_members(job, answers)
        return record

    def _check_joinable(self, record: JobRecord, named: GroupName) -> None:
        if record.state is not JobState.QUEUED:
            raise _wrong_state(record, "join a group: it has nodes, or has had them")
        self._check_in_no_group(record)
        self._check_free(record.owner, named)

    @staticmethod
    def _check_in_no_group(record: JobRecord) -> None:
        if record.group_name is not None:
            said = f"job {record.id} is in group {record.group_name}: unlink it first"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "IN_GROUP", said)

    def _check_free(self, owner: str, named: Named | None) -> None:
        """Raise Refusal if another job here has this mate, or is in this group."""
        if not isinstance(named, GroupName):
            self._check_mate(owner, named)
            return
        self._check_on()
        taken = self._domain.core.members.taken(named.name, owner)
        if taken is not None:
            said = f"group {named.name}: job {taken} is its member here already; cancel it, or choose another name"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "GROUP_TAKEN", said, {"job_id": taken})

    def _check_on(self) -> None:
        if not self._domain.core.settings.enabled:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "COSCHEDULING_OFF", "coscheduling is off here")

    # Mates

    def _named(self, mate: MateName) -> MateName:
        """Return the mate with its domain filled in; Refusal if this domain does not talk to that one."""
        peer = peer_meant(mate.peer, self._peers)
        if peer not in self._peers:
            known = ", ".join(self._peers) or "none"
            said = f"no domain {mate.peer}" if mate.peer else "the mate's domain must be named"
            if peer == self._domain.name:
                said = f"{peer} is this domain: a mate is a job of another one"
            raise Refusal(grpc.StatusCode.NOT_FOUND, "DOMAIN_NOT_FOUND", f"{said} (configured: {known})")
        return mate._replace(peer=peer)

    def _check_mate(self, owner: str, mate: MateName | None, job: JobId | None = None) -> None:
        """Raise Refusal if a job here other than `job` has this mate."""
        if mate is None:
            return
        self._check_on()
        taken = self._domain.core.mates.taken(mate, owner)
        if taken not in (None, job):
            what = f"pair {mate.pair}" if mate.pair is not None else str(mate)
            said = f"{what} is that of job {taken} already"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "PAIR_TAKEN", said, {"job_id": str(taken)})

    async def _link(self, request: UserRequest, job: str, named: MateName) -> JobRecord:
        await self._queue.look_for(job)
        if self._queue.must_adopt(job):
            return await self._adopt(request, job, self._named(named))
        record, mate = self._owned(request, job), self._named(named)
        self._queue.check_name(mate)
        self._check_linkable(record, mate)
        answer = await self._agreed(record, mate)
        await self._queue.relink(job, mate)
        self._check_linkable(record, mate)  # it may have started meanwhile
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, str(mate))
            if not names(record, mate):
                self._domain.decisions.feed(Linked(job, mate._replace(mate=mate.mate or answer.job)))
                record.mate_status = UNASKED
            record.lookup = FOUND[answer.found]
        return record

    async def _adopt(self, request: UserRequest, job: str, mate: MateName) -> JobRecord:
        """Link a job of the caller that names no mate yet, and may be unknown here."""
        if (known := self._domain.jobs.get(job)) is not None:
            self._check_linkable(known, mate)
        self._check_mate(request.user, mate)
        await self._queue.adopt(job, mate, request.user)
        if job not in self._domain.jobs:
            raise not_owner(f"{request.user} has no queued job {job[:40]} here that names no mate")
        record = self._domain.jobs[job]
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, str(mate))
        return record

    async def _agreed(self, record: JobRecord, mate: MateName) -> MateJobId:
        """Return the answer of the mate's domain to the new link; Refusal if there is no such mate."""
        answer = await self._ask_for_link(record, mate)
        if (refusal := refusal_of_mate(mate, answer)) is not None:
            raise refusal
        await until_linkable(self._domain, str(record.id))
        return answer

    def _check_linkable(self, record: JobRecord, mate: MateName) -> None:
        if record.state not in WAITING:
            raise _wrong_state(record, "be linked any more")
        self._check_in_no_group(record)
        self._check_mate(record.owner, mate, str(record.id))

    async def _ask_for_link(self, record: JobRecord, mate: MateName) -> MateJobId:
        try:
            question = GetMateJobId(str(record.id), mate.pair, mate.mate, record.owner)
            return await self._announcer.ask(mate.peer, question)
        except CallError as error:
            refused = error.failure is Failure.REFUSED
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION if refused else grpc.StatusCode.UNAVAILABLE,
                "NO_PAIR" if refused else "PEER_UNREACHABLE",
                f"{mate.peer} {'refuses this domain' if refused else 'gives no answer'}: {error.problem}; "
                f"job {record.id} is unchanged",
            ) from error

    def _linked(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        """Return the job if it has a mate on that domain and has not started; Refusal."""
        record = self._owned(request, job)
        named = record.named
        others = named.others if isinstance(named, GroupName) else (named.peer,)
        if not record.paired or peer not in ("", *others):
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NOT_LINKED", f"job {job} has no such mate")
        if record.state is JobState.RUNNING:
            raise _wrong_state(record, "be unlinked")
        return record

    async def _unlink(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        await self._queue.look_for(job)
        record = self._linked(request, job, peer)
        await self._queue.part(job)
        self._linked(request, job, peer)  # it may have started meanwhile
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, str(record.named))
            record.lookup = record.mate_status = UNASKED
            self._domain.decisions.feed(Unlinked(job))
        return record

    # Cancellation and release

    async def _cancel(self, request: UserRequest, job: str) -> JobRecord:
        await self._queue.look_for(job)
        record = self.job(job)
        self._check_owner(request, record)
        if record.state is JobState.CANCELLED:
            return record
        if record.state.final:
            raise _wrong_state(record, "be cancelled")
        ordered = self._queue.leaves_end_to_manager(record)
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, "")
            if ordered:
                self._domain.records.order_cancellation(record, request.user)
            else:
                self._domain.end(job, JobState.CANCELLED, f"by {request.user}")
        if ordered and await self._runner.cancelled(job, QUICK):
            await self._queue.look(0.0)  # it has usually ended by then
        return record

    async def _release(self, request: UserRequest, job: str) -> JobRecord:
        await self._queue.look_for(job)
        self._check_releasable(job)
        record = self._owned(request, job)
        if not record.user_hold and record.state is not JobState.HOLDING:
            raise _wrong_state(record, "be released: it does not hold")
        if not record.user_hold and not request.caller.operator:
            raise not_owner(
                f"only an operator may end a hold before its time; to end the wait of job {job}, "
                "link it with another mate, unlink it (it then starts alone) or cancel it"
            )
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, "")
            if record.user_hold:
                record.user_hold = False
                self._domain.enqueue(record)
                self._domain.journal.save(record)
            else:
                self._domain.decisions.feed(ReleaseDue(job))
        return record

    def _check_releasable(self, job: str) -> None:
        held = self._domain.core.jobs.get(job)
        if held is not None and held.cannot_yield and held.state is JobState.HOLDING:
            said = f"job {job} would be lost with its nodes (srun, salloc or --no-requeue): it cannot be released"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", said)

    # Permissions and records

    def job(self, job: str) -> JobRecord:
        """Return the job, ended or not; Refusal if there is none."""
        record = self._domain.jobs.get(job)
        if record is None and (id := number(job)) is not None:
            record = self._domain.store.job(id)
        if record is None:
            raise self.no_job(job)
        return record

    def no_job(self, job: str) -> Refusal:
        """Return the refusal that there is no job with this id."""
        return Refusal(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", f"no job {job[:40]} on {self._domain.name}")

    def _owned(self, request: UserRequest, job: str) -> JobRecord:
        """Return the job if it has not ended and the caller may change it; Refusal."""
        record = self.job(job)
        self._check_owner(request, record)
        if record.state.final:
            raise _wrong_state(record, "be changed")
        return record

    def _check_owner(self, request: UserRequest, record: JobRecord) -> None:
        if request.user != record.owner and not request.caller.operator:
            raise not_owner(f"job {record.id} is {record.owner}'s, and {request.user} is no operator")


def _wrong_state(record: JobRecord, what: str) -> Refusal:
    state = record.state.name
    said = f"job {record.id} is {state}: it cannot {what}"
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", said, {"state": state})
