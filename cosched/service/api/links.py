"""Links between jobs that are there already, and others: how they are made and undone."""

from __future__ import annotations

import grpc

from cosched.core.events import Linked, Unlinked
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, Failure, GetMateJobId, GroupName, MateJobId, MateName
from cosched.service.api.named_mates import NamedMates
from cosched.service.api.owned_jobs import OwnedJobs, wrong_state
from cosched.service.api.requests import Requests, UserRequest, not_owner
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import names, refusal_of_group, refusal_of_mate, until_linkable
from cosched.service.peers.peers import CallError
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.service.wire.message_parts import FOUND

UNASKED = 0  # MATE_LOOKUP_UNSPECIFIED


class Links:
    """The links of one domain's jobs. Each change returns the job as it is afterwards. They raise Refusal."""

    def __init__(
        self, domain: LiveDomain, requests: Requests, queue: Queue, announcer: Announcer, jobs: OwnedJobs,
        named: NamedMates,
    ) -> None:  # fmt: skip
        self._domain = domain
        self._requests = requests
        self._queue = queue
        self._announcer = announcer
        self._jobs = jobs
        self._named = named

    # Groups

    async def join(self, request: UserRequest, job: str, named: GroupName) -> JobRecord:
        """Make a job a member of this group."""
        self._queue.check_groups()
        record = self._jobs.owned(request, job)
        await self._named.checked(named)
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
            raise wrong_state(record, "join a group: it has nodes, or has had them")
        self._check_in_no_group(record)
        self._named.check_free(record.owner, named)

    @staticmethod
    def _check_in_no_group(record: JobRecord) -> None:
        if record.mates and not record.is_pair:
            said = f"job {record.id} is in group {record.group_name}: unlink it first"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "IN_GROUP", said)

    # Pairs

    async def link(self, request: UserRequest, job: str, named: MateName) -> JobRecord:
        """Give a job this mate, which must be there, or another one than it has; if unsaid, on the same domain."""
        await self._queue.look_for(job)
        if self._queue.must_adopt(job):
            return await self._adopt(request, job, self._named.mate(named))
        record = self._jobs.owned(request, job)
        mate = self._named.mate(named if named.peer else named._replace(peer=record.mate.peer))
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
        self._named.check_free(request.user, mate)
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
            raise wrong_state(record, "be linked any more")
        self._check_in_no_group(record)
        self._named.check_free(record.owner, mate, str(record.id))

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
        record = self._jobs.owned(request, job)
        if not record.paired or (peer and peer not in record.mates):
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NOT_LINKED", f"job {job} has no such mate")
        if record.state is JobState.RUNNING:
            raise wrong_state(record, "be unlinked")
        return record

    async def unlink(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        """Take a job's mate or group away, of which a job is on `peer` (empty: on any domain)."""
        await self._queue.look_for(job)
        record = self._linked(request, job, peer)
        await self._queue.part(job)
        self._linked(request, job, peer)  # it may have started meanwhile
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, str(record.named))
            record.lookup = record.mate_status = UNASKED
            self._domain.decisions.feed(Unlinked(job))
        return record
