"""Links between jobs that are there already, and others: how they are made and undone."""

from __future__ import annotations

from dataclasses import dataclass

import grpc

from cosched.core.events import Linked, Unlinked
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import Domain, Failure, Named
from cosched.service.api.named_mates import NamedMates
from cosched.service.api.owned_jobs import OwnedJobs, wrong_state
from cosched.service.api.requests import Requests, UserRequest, not_owner
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.peers.announcing import Announcer, Told, answers_among
from cosched.service.peers.linking import names, refusal_of, until_linkable
from cosched.service.peers.peers import CallError
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.service.wire.message_parts import FOUND

UNASKED = 0  # MATE_LOOKUP_UNSPECIFIED


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one domain's jobs. Each change returns the job as it is afterwards. They raise Refusal."""

    _domain: LiveDomain
    _requests: Requests
    _queue: Queue
    _announcer: Announcer
    _jobs: OwnedJobs
    _named: NamedMates

    async def link(self, request: UserRequest, job: str, named: Named) -> JobRecord:
        """Have a job start with these, who must be there, instead of those that it had; nobody starts by that.

        A mate whose domain is not named is on that of the mate before.
        """
        await self._queue.look_for(job)
        if self._queue.must_adopt(job):
            return await self._adopt(request, job, await self._named.checked(named))
        record = self._jobs.owned(request, job)
        named = await self._named.checked(self._named.as_before(named, record.named))
        self._queue.check_name(record, named)
        self._check_linkable(record, named)
        told = await self._agreed(record, named)
        answers = answers_among(told)
        await until_linkable(self._domain, job)
        await self._queue.relink(job, named)
        await until_linkable(self._domain, job)  # it may have asked its mate meanwhile
        known = named.with_mate(named.mate or answers[named.peer].job) if named.is_pair else named
        self._check_linkable(record, known)  # it may have started meanwhile, or another job may have this mate
        with self._domain.turns.requested():
            self._requests.on_record(request, record.id, str(named))
            if not names(record, named):
                self._domain.decisions.feed(Linked(job, known))
                record.lookup = record.mate_status = UNASKED
            if named.is_pair:
                record.lookup = FOUND[answers[named.peer].found]
        self._announcer.heard(record, named, told)
        return record

    async def _adopt(self, request: UserRequest, job: str, named: Named) -> JobRecord:
        """Link a job of the caller that names nobody yet, and may be unknown here."""
        if (known := self._domain.jobs.get(job)) is not None:
            self._check_linkable(known, named)
        self._named.check_free(request.user, named)
        await self._queue.adopt(job, named, request.user)
        if job not in self._domain.jobs:
            raise not_owner(f"{request.user} has no queued job {job[:40]} here that names no mate")
        record = self._domain.jobs[job]
        with self._domain.turns.take():
            self._requests.on_record(request, record.id, str(named))
        return record

    async def _agreed(self, record: JobRecord, named: Named) -> Told:
        """Return what the other domains say to the new link; Refusal if the job cannot have it."""
        told = await self._announcer.ask(record, named)
        for peer, error in told.items():
            if named.is_pair and isinstance(error, CallError):
                raise self._unanswered(record, peer, error)
        if (refusal := refusal_of(named, answers_among(told))) is not None:
            raise refusal
        return told

    def _check_linkable(self, record: JobRecord, named: Named) -> None:
        if record.state not in WAITING:
            raise wrong_state(record, "be linked any more")
        self._named.check_free(record.owner, named, str(record.id))

    def _unanswered(self, record: JobRecord, peer: Domain, error: CallError) -> Refusal:
        if error.failure is Failure.REFUSED:
            code, reason = grpc.StatusCode.FAILED_PRECONDITION, "NO_PAIR"
            said = f"{peer} refuses this domain: {error.problem}"
        else:
            code, reason = grpc.StatusCode.UNAVAILABLE, "PEER_UNREACHABLE"
            said = self._domain.presence.silent(peer, error.problem)
        return Refusal(code, reason, f"{said}; job {record.id} is unchanged")

    def _linked(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        """Return the job if it has a mate on that domain and has not started; Refusal."""
        record = self._jobs.owned(request, job)
        if not record.paired or (peer and peer not in record.mates):
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NOT_LINKED", f"job {job} has no such mate")
        if record.state is JobState.RUNNING:
            raise wrong_state(record, "be unlinked")
        return record

    async def unlink(self, request: UserRequest, job: str, peer: Domain) -> JobRecord:
        """Take a job's mate or group away, if one of the others is on `peer` (empty: on any domain)."""
        await self._queue.look_for(job)
        record = self._linked(request, job, peer)
        await self._queue.part(job)
        self._linked(request, job, peer)  # it may have started meanwhile
        with self._domain.turns.requested():
            self._requests.on_record(request, record.id, str(record.named))
            self._domain.decisions.feed(Unlinked(job))
            record.lookup = record.mate_status = UNASKED
        return record
