"""Users' operations on jobs: submit, cancel, link, unlink, release. They are checked, and carried out in turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import grpc

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.events import ReleaseDue
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import NO_TERMS, Domain, EndedBy, Named
from cosched.core.scheduling.scheduler import ClusterJob
from cosched.schedulers.loading import check_columns
from cosched.service.api.links import Links
from cosched.service.api.named_mates import NamedMates
from cosched.service.api.owned_jobs import OwnedJobs, wrong_state
from cosched.service.api.requests import Requests, UserRequest, not_owner
from cosched.service.domain import story
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.malleable import NODELIST, OF_NODES
from cosched.service.manager.queues import Queue
from cosched.service.manager.runner import Runner
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import Coupled, no_pair, refusal_of, until_settled
from cosched.service.planning.choosing import Choosing
from cosched.service.store import JobRecord, StoreError
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import Submission
from cosched.words.errors import InputError
from cosched_adapters.manager import ManagerError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
Operation = Callable[Concatenate["Operations", UserRequest, P], Coroutine[Any, Any, JobRecord]]
QUICK = 2.0  # seconds that usually suffice for a cancellation, which may go on after that


def once(operate: Operation[P]) -> Operation[P]:
    """Return an operation that is carried out once for each request id, to its end; see `Requests`."""

    @wraps(operate)
    def method(
        self: Operations, request: UserRequest, /, *named: P.args, **options: P.kwargs
    ) -> Coroutine[Any, Any, JobRecord]:
        return self.requests.once(request, partial(operate, self, request, *named, **options), self.done)

    return method


class Operations:
    """The operations of one domain."""

    def __init__(
        self, domain: LiveDomain, requests: Requests, runner: Runner, queue: Queue, announcer: Announcer,
        coupled: Coupled, most_jobs: int, most_bytes: int,
        submitted: Callable[[Mapping[str, str]], Mapping[str, str]] = dict, choosing: Choosing | None = None,
    ) -> None:  # fmt: skip
        """One user may have `most_jobs` jobs that have not ended, with `most_bytes` bytes of scripts.

        `submitted`: see SchedulerKind.
        """
        self._domain, self.requests, self._runner = domain, requests, runner
        self._queue, self._announcer = queue, announcer
        self.jobs = OwnedJobs(domain)
        self._named = NamedMates(domain, announcer, coupled)
        self._links = Links(domain, requests, queue, announcer, self.jobs, self._named)
        self._most_jobs, self._most_bytes = most_jobs, most_bytes
        self._submitted, self._choosing = submitted, choosing

    # The operations; each returns the job as it is afterwards

    @once
    async def link(self, request: UserRequest, job: str, named: Named) -> JobRecord:
        """LinkJobs."""
        return await self._links.link(request, job, named)

    @once
    async def unlink(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        """UnlinkJobs; `peer` empty: any domain."""
        return await self._links.unlink(request, job, peer)

    @once
    async def submit(self, request: UserRequest, wanted: Submission) -> JobRecord:
        """SubmitJob."""
        self._queue.check_open()
        owner = self._owner(request, wanted.owner)
        before = await self._replaced(request, wanted.in_place_of) if wanted.in_place_of else None
        named = wanted.named
        if before is not None:  # its own terms win
            named = before.named if wanted.terms == NO_TERMS else before.named._replace(terms=wanted.terms)
        named = None if named is None else await self._named.checked(named)
        record = self._record(wanted, owner, named)
        self._check_room(owner, record.nodes)
        if before is None:
            self._named.check_free(owner, named)
        self._refusing("JOB_TOO_LARGE", self._domain.check, record)
        with self._domain.turns.take():
            self.requests.on_record(request, record.id, "")
            if before is not None:
                self._check_replaceable(before)
                self._domain.end(before.job.id, JobState.CANCELLED, f"job {record.id} is in its place")
            self._add(record, wanted)
            self._domain.admit(record)
            if named is None and not wanted.hold:
                self._domain.enqueue(record)
        if named is not None:
            await self._find(request, record, named)
        return record

    async def _replaced(self, request: UserRequest, job: str) -> JobRecord:
        """Return the job in whose place the new one is to be, once no start of it is under way."""
        before = self.jobs.owned(request, job)
        self._check_replaceable(before)
        await until_settled(self._domain, before.job.id)
        self._check_replaceable(before)
        return before

    @staticmethod
    def _check_replaceable(before: JobRecord) -> None:
        if before.state not in WAITING:
            raise wrong_state(before, "be replaced any more")
        if before.job.group is None:
            said = f"job {before.id} has no mate: cancel it, and submit the other one"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NOT_LINKED", said)

    async def _find(self, request: UserRequest, record: JobRecord, named: Named) -> None:
        """Ask for those with which a new job starts; it is recorded, not scheduled yet. Refusal: it cannot have them.

        The job is recorded first, since the other domains may keep its id.
        """
        job = str(record.id)
        refusal = refusal_of(named, await self._announcer.announce(record))
        if job not in self._domain.jobs:
            return  # the job was cancelled meanwhile
        with self._domain.turns.take():
            if refusal is not None and record.state is JobState.QUEUED:
                self.requests.on_refusal(request, record.id, refusal)
                self._domain.end(job, JobState.CANCELLED, f"refused: {refusal.message}", by=EndedBy.ITSELF)
                self._domain.records.tell_once(record)
            elif not record.user_hold and job not in self._domain.scheduler:
                self._domain.enqueue(record)
        if refusal is not None and record.state is JobState.CANCELLED:
            self._domain.records.forget_refused(record)
            raise refusal

    def _record(self, wanted: Submission, owner: str, named: Named | None) -> JobRecord:
        id = self._domain.store.next_job_id()
        return JobRecord(
            id=id,
            name=wanted.name,
            owner=owner,
            uid=None,
            nodes=wanted.nodes,
            time_limit=wanted.time_limit,
            submitted_at=self._domain.clock.now(),
            job=PairedJob(str(id), owner, Membership.named(self._domain.name, named), adoptable=wanted.adoptable),
            reason=story.WAITS_IN_QUEUE,
            user_hold=wanted.hold,
            columns=self._columns(wanted.columns, wanted.nodes),
        )

    def _columns(self, said: Mapping[str, str], nodes: int) -> str | None:
        """Return what is put on record of a job's columns, and of the nodes that it must have or is given; Refusal."""
        kind = self._domain.kind
        if not said and not kind.columns():
            return None
        of_nodes = {name: text for name, text in said.items() if name in OF_NODES}
        columns = {name: text for name, text in said.items() if name not in OF_NODES}
        if NODELIST in said and not self._domain.scheduler.capabilities.nodelists:
            why = f"nodelist: {kind.title} takes no names of nodes: leave it out, and say how many it needs"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_NAMED_NODES", why, {"field": NODELIST})
        if of_nodes.keys() - {NODELIST} and self._choosing is None:
            why = f"application: {self._domain.name} chooses no nodes for it: an operator can list all by [machines]"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_MAPS", why)

        def read(columns: Mapping[str, str]) -> Mapping[str, str]:
            if self._choosing is not None:
                self._choosing.check(of_nodes, nodes)
            check_columns(kind, columns)
            said = {**kind.own_texts(self._submitted(columns)), **of_nodes}
            kind.read(said)
            return said

        said = self._refusing("NO_SUCH_COLUMN", read, columns)
        return json.dumps(said) if said else None

    def _refusing(self, reason: str, check: Callable[[S], T], what: S) -> T:
        """Return what comes of the check; Refusal for this `reason`, or since our scheduler fails in it."""
        try:
            return check(what)
        except (ValueError, InputError) as error:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, reason, str(error)) from None
        except Exception as error:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "SCHEDULER_FAULT", self._domain.blame(error)) from error

    def _add(self, record: JobRecord, wanted: Submission) -> None:
        try:
            self._queue.check(record, wanted.script)
            self._domain.add(record, wanted.script)
        except ManagerError as error:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "MANAGER_REFUSED", str(error)) from error
        except StoreError as error:
            said = f"the job cannot be recorded: {error.reason}"
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", said) from error

    def _owner(self, request: UserRequest, owner: str) -> str:
        if owner in ("", user := request.user):
            return user
        if not request.caller.operator:
            raise not_owner(f"only an operator may submit for {owner}")
        return owner

    def _check_room(self, owner: str, nodes: int) -> None:
        self._refusing("JOB_TOO_LARGE", self._domain.scheduler.rounded, nodes)
        jobs, script_bytes = self._domain.records.holdings.of(owner)
        if jobs >= self._most_jobs:
            said = f"{owner} has {self._most_jobs} jobs that have not ended, the most that one user may have"
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_JOBS", said)
        if script_bytes >= self._most_bytes:
            size = f"{self._most_bytes} bytes, the most that those of one user may take"
            said = f"the scripts of {owner}'s jobs that have not ended take {size}"
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MUCH_STORED", said)

    def prospect(self, wanted: Submission, owner: str) -> ClusterJob:
        """Return what the scheduler would be told of a job, if it were submitted now without a mate. Refusal."""
        record = self._record(wanted, owner, None)
        self._refusing("JOB_TOO_LARGE", self._domain.scheduler.rounded, record.nodes)
        self._refusing("JOB_TOO_LARGE", self._domain.check, record)
        return self._domain.known(record)

    def done(self, job: int | None, refused: str) -> JobRecord:
        """Return the job of a request that was carried out before; Refusal if it was `refused` because of the mate."""
        if refused:
            raise no_pair(refused)
        return self.jobs.job(str(job))

    # Cancellation and release

    @once
    async def cancel(
        self, request: UserRequest, job: str, *, unless_started: bool = False, final: bool = False
    ) -> JobRecord:
        """CancelJob."""
        await self._queue.look_for(job)
        record = self.jobs.job(job)
        self.jobs.check_owner(request, record)
        if record.state is JobState.CANCELLED:
            return record
        if record.state.final:
            raise wrong_state(record, "be cancelled")
        if unless_started and record.state is JobState.RUNNING:
            raise wrong_state(record, "be cancelled before its start")
        ordered = self._queue.leaves_end_to_manager(record)
        by = EndedBy.OWNER_FOR_GOOD if final else EndedBy.OWNER
        with self._domain.turns.take():
            self.requests.on_record(request, record.id, "")
            if ordered:
                self._domain.records.order_cancellation(record, request.user, by)
            else:
                self._domain.end(job, JobState.CANCELLED, f"by {request.user}", by=by)
        if ordered and await self._runner.cancelled(job, QUICK):
            await self._queue.look(0.0)  # it has usually ended by then
        return record

    @once
    async def release(self, request: UserRequest, job: str) -> JobRecord:
        """ReleaseHold."""
        await self._queue.look_for(job)
        held = self._domain.core.jobs.get(job)
        if held is not None and held.cannot_yield and held.state is JobState.HOLDING:
            said = f"job {job} would be lost with its nodes (srun, salloc or --no-requeue): it cannot be released"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", said)
        record = self.jobs.owned(request, job)
        if not record.user_hold and record.state is not JobState.HOLDING:
            raise wrong_state(record, "be released: it does not hold")
        if job in self._domain.aside and not request.caller.operator:
            said = f"an operator has put job {job} aside, as the scheduler failed with it: only one releases it"
            raise not_owner(said)
        if not record.user_hold and not request.caller.operator:
            said = f"only an operator may end a hold before its time; to end the wait of job {job}, "
            raise not_owner(said + "link it with another mate, unlink it (it then starts alone) or cancel it")
        with self._domain.turns.requested():
            self.requests.on_record(request, record.id, "")
            if record.user_hold:
                record.user_hold = False
                self._domain.put_back(job)
                self._domain.enqueue(record)
                self._domain.journal.save(record)
            else:
                self._domain.decisions.feed(ReleaseDue(job))
        return record
