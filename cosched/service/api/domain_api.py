"""DomainService, the API for users and operators: checks fields, then operations and views do the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import grpc

from cosched.core.coscheduling.peers import MAX_ABSENCE
from cosched.core.job import JobState
from cosched.core.protocol import JobId
from cosched.service.api.answering import ApiFor, Context, answered, as_refusal, requested
from cosched.service.api.domain_operations import DomainOperations
from cosched.service.api.operations import Operations
from cosched.service.api.reads import BATCH, Reads, in_slices
from cosched.service.api.requests import Requests, UserRequest, checked_reader
from cosched.service.api.views import Views
from cosched.service.domain.draining import EXPECTED, MAX_SETTLE, SETTLE, check_seconds
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.domain.watching import Watcher, Watchers
from cosched.service.manager.queues import Queue
from cosched.service.planning.explaining import Explaining
from cosched.service.planning.machines import Machines
from cosched.service.planning.quoting import Quotes
from cosched.service.store import EventRecord, JobRecord, Reader, StoreError
from cosched.service.wire.errors import Refusal, abort
from cosched.service.wire.fields import MAX_OWNER, MAX_PAIR, FieldError, check_domain, check_text, number
from cosched.service.wire.submissions import read_link, read_submission
from cosched.v1 import cluster_pb2, coscheduling_pb2, job_pb2
from cosched.v1 import domain_pb2 as wire
from cosched.v1.domain_pb2_grpc import DomainServiceServicer

MOST_ON_A_PAGE = 1000
MAX_WATCHED = 1000  # jobs that one watcher may name
LOOKED_THROUGH = 1000  # active jobs to look through before other work gets its turn
ACTIVE = [state for state in JobState if not state.final and state is not JobState.PENDING]


@dataclass(frozen=True, slots=True)
class Serving:
    """The parts of a service that its APIs use; shared by all listeners."""

    domain: LiveDomain
    requests: Requests
    operations: Operations
    domain_operations: DomainOperations
    queue: Queue
    views: Views
    reads: Reads
    watchers: Watchers
    about: Callable[[], cluster_pb2.Domain]
    tell_peers: Callable[[], None]  # tells peers whether this domain drains
    explaining: Explaining
    machines: Machines | None  # None: none are listed
    quotes: Quotes

    async def record(self, job: JobId) -> JobRecord | None:
        """Return the job, ended or not, for a caller that may read."""
        ended = None if job in self.domain.jobs else await self.reads.job(int(job))
        return self.domain.jobs.get(job, ended)  # a job submitted meanwhile is there by now


class DomainApi(ApiFor[Serving], DomainServiceServicer):
    """The API for callers of one listener."""

    # Changes

    @answered
    async def SubmitJob(self, request: wire.SubmitJobRequest, context: Context) -> wire.SubmitJobResponse:
        with self._requested(request, context) as user_request:
            record = await self._serving.operations.submit(user_request, read_submission(request))
        return wire.SubmitJobResponse(job=self._serving.views.job(record))

    @answered
    async def CancelJob(self, request: wire.CancelJobRequest, context: Context) -> wire.CancelJobResponse:
        with self._requested(request, context) as user_request:
            job = self._own("job", request.job)
            if_queued, final = request.unless_started, request.final
            record = await self._serving.operations.cancel(user_request, job, unless_started=if_queued, final=final)
        return wire.CancelJobResponse(job=self._serving.views.job(record))

    @answered
    async def LinkJobs(self, request: wire.LinkJobsRequest, context: Context) -> wire.LinkJobsResponse:
        with self._requested(request, context) as user_request:
            named = read_link(request)
            record = await self._serving.operations.link(user_request, self._own("job", request.job), named)
        return wire.LinkJobsResponse(job=self._serving.views.job(record))

    @answered
    async def UnlinkJobs(self, request: wire.UnlinkJobsRequest, context: Context) -> wire.UnlinkJobsResponse:
        with self._requested(request, context) as user_request:
            peer = check_domain("mate_domain", request.mate_domain) if request.mate_domain else ""
            record = await self._serving.operations.unlink(user_request, self._own("job", request.job), peer)
        return wire.UnlinkJobsResponse(job=self._serving.views.job(record))

    @answered
    async def ReleaseHold(self, request: wire.ReleaseHoldRequest, context: Context) -> wire.ReleaseHoldResponse:
        with self._requested(request, context) as user_request:
            record = await self._serving.operations.release(user_request, self._own("job", request.job))
        return wire.ReleaseHoldResponse(job=self._serving.views.job(record))

    @answered
    async def DrainDomain(self, request: wire.DrainDomainRequest, context: Context) -> wire.DrainDomainResponse:
        with self._requested(request, context) as user_request:
            expected = check_seconds(request, "expected", MAX_ABSENCE, EXPECTED)
            settle = check_seconds(request, "settle", MAX_SETTLE, SETTLE)
            self._serving.domain_operations.drain(user_request, expected, settle)
        self._serving.tell_peers()
        return wire.DrainDomainResponse(domain=self._serving.about())

    @answered
    async def ResumeDomain(self, request: wire.ResumeDomainRequest, context: Context) -> wire.ResumeDomainResponse:
        with self._requested(request, context) as user_request:
            self._serving.domain_operations.resume(user_request)
        self._serving.tell_peers()
        return wire.ResumeDomainResponse(domain=self._serving.about())

    def _requested(self, request: Any, context: Context) -> AbstractContextManager[UserRequest]:
        return requested(self._serving.requests, self._identify(context), request)

    # Reads

    @asynccontextmanager
    async def _reading(self, context: Context, *looks: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Let a caller that may read do so in the block; `looks` come before."""
        caller = checked_reader(self.domain, self._identify(context))
        for look in looks:
            await look()
        async with self._serving.reads.reading(caller.via):
            yield

    @answered
    async def GetJob(self, request: wire.GetJobRequest, context: Context) -> wire.GetJobResponse:
        async with self._reading(context, partial(self._serving.queue.look_for, request.job.job_id)):
            job = self._own("job", request.job)
            if (record := await self._serving.record(job)) is None:
                raise self._serving.operations.jobs.no_job(job)
            await self._serving.explaining.look([record])
            return wire.GetJobResponse(job=self._serving.views.job(record))

    @answered
    async def ListJobs(self, request: wire.ListJobsRequest, context: Context) -> wire.ListJobsResponse:
        async with self._reading(context, self._serving.queue.look):
            most = _page_size(request.page_size)
            owner = check_text("owner", request.owner, MAX_OWNER, least=0) or None
            group = check_text("group", request.group, MAX_PAIR, least=0) or None
            after = _page_token(request.page_token, first=-1)  # PBS's first job is 0
            states = _job_states(request.states)
            records = await self._select(states, owner, request.paired_only, after, most + 1, group)
            page = wire.ListJobsResponse(next_page_token=str(records[most - 1].id) if len(records) > most else "")
            await self._serving.explaining.look([record for record in records[:most] if not record.state.final])
            async for record in in_slices(records[:most]):
                if states is None or record.state in states:  # it may have changed meanwhile
                    self._serving.views.write_job(page.jobs.add(), record)
            return page

    @answered
    async def ListNodes(self, request: wire.ListNodesRequest, context: Context) -> wire.ListNodesResponse:
        async with self._reading(context):
            most, first = _page_size(request.page_size), _page_token(request.page_token, first=0)
            wanted = set(request.states) - {cluster_pb2.NODE_STATE_UNSPECIFIED}
            groups = await self._serving.views.node_groups(self._serving.queue)
            groups = [group for group in groups if not wanted or group.state in wanted]
            token = str(first + most) if len(groups) > first + most else ""
            return wire.ListNodesResponse(groups=groups[first : first + most], next_page_token=token)

    @answered
    async def GetDomain(self, request: wire.GetDomainRequest, context: Context) -> wire.GetDomainResponse:  # noqa: ARG002
        async with self._reading(context):
            return wire.GetDomainResponse(domain=self._serving.about())

    async def _select(
        self, states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after: int, most: int,
        group: str | None,
    ) -> list[JobRecord]:  # fmt: skip
        """Return jobs by id. Active jobs come from memory, where all of them are, in this order."""
        active = self.domain.jobs
        if states is None or any(state.final for state in states):
            records = await self._serving.reads.jobs(states, owner, paired_only, after, most, group)
            return [active.get(str(record.id), record) for record in records]
        found: list[JobRecord] = []
        async for record in in_slices(list(active.values()), LOOKED_THROUGH):
            if record.id > after and record.state in states and owner in (None, record.owner):
                if (record.paired or not paired_only) and group in (None, record.group_name):
                    found.append(record)
                if len(found) == most:
                    break
        return found

    # Events

    async def WatchEvents(
        self, request: wire.WatchEventsRequest, context: Context
    ) -> AsyncIterator[wire.WatchEventsResponse]:
        try:
            caller = checked_reader(self.domain, self._identify(context))
            async for event in self._events(request, caller.via):
                yield wire.WatchEventsResponse(event=self._serving.views.event(event))
        except (Refusal, FieldError, StoreError) as error:
            await abort(context, as_refusal(error))

    async def _events(self, request: wire.WatchEventsRequest, caller: str) -> AsyncIterator[EventRecord]:
        wanted = self._wanted(request)
        async with self._serving.reads.reading(caller):
            after = now = await self._serving.reads.read(Reader.last_sequence)
            if request.HasField("after_sequence"):
                await self._check_kept(request.after_sequence)
                after = min(request.after_sequence, now)
        story = _Story(self.domain, self._serving.reads, caller, wanted, after)
        async for event in story.told(now):
            yield event
        if request.until_now:
            return
        with self._serving.watchers.watch() as watcher:
            async for event in story.told(None):  # what has happened meanwhile; the watcher gets later events
                yield event
            async for event in _as_it_happens(watcher, story.after):
                if wanted.has(event):
                    yield event

    def _wanted(self, request: wire.WatchEventsRequest) -> _Wanted:
        if len(request.jobs) > MAX_WATCHED:
            raise FieldError("jobs", f"has more than {MAX_WATCHED} entries")
        jobs = frozenset(int(self._own(f"jobs[{i}]", job)) for i, job in enumerate(request.jobs))
        return _Wanted(jobs, frozenset(kind for kind in request.kinds if kind != wire.EVENT_KIND_UNSPECIFIED))

    async def _check_kept(self, after: int) -> None:
        first = await self._serving.reads.read(Reader.first_sequence)
        if after < 0:
            raise FieldError("after_sequence", "is negative")
        if 0 < after < first - 1:
            raise Refusal(grpc.StatusCode.OUT_OF_RANGE, "EVENTS_GONE", f"events before {first} are not kept")

    def _own(self, field: str, ref: coscheduling_pb2.JobRef) -> JobId:
        """Return the id of a job of this domain; the reference may leave out the domain."""
        jobs = self._serving.operations.jobs
        jobs.check_here(field, ref)
        job = check_text(f"{field}.job_id", ref.job_id, 128)
        if (id := number(job)) is None:
            raise jobs.no_job(job)
        return str(id)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The events that a watcher wants; nothing named: all."""

    jobs: frozenset[int]
    kinds: frozenset[int]

    def has(self, event: EventRecord) -> bool:
        """Return whether the event is wanted."""
        return (not self.jobs or event.job in self.jobs) and (not self.kinds or event.kind in self.kinds)


class _Story:
    """Recorded events, read for one watcher; `after` is the number of the last one that was looked at."""

    def __init__(self, domain: LiveDomain, reads: Reads, caller: str, wanted: _Wanted, after: int) -> None:
        self._domain, self._reads, self._caller = domain, reads, caller
        self._jobs, self._kinds = sorted(wanted.jobs), sorted(wanted.kinds)
        self.after = after

    async def told(self, until: int | None) -> AsyncIterator[EventRecord]:
        """Yield the next events, up to the number `until`; None: all there are."""
        while until is None or self.after < until:
            async with self._reads.reading(self._caller):
                events, after = await self._reads.read(Reader.events, self.after, self._jobs, self._kinds, BATCH)
            await self._domain.turns.durable()
            if after is None:
                return
            for event in events:
                yield event
            self.after = after


async def _as_it_happens(watcher: Watcher, last: int) -> AsyncIterator[EventRecord]:
    """Yield events after `last`, without end; Refusal if they come faster than they are read."""
    while not watcher.behind:
        event = await watcher.queue.get()
        if event.sequence > last:
            yield event
    raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "WATCHER_TOO_SLOW", "events come faster than they are read")


def _job_states(states: Sequence[int]) -> Sequence[JobState] | None:
    """Return the wanted states: None for all; if none is given, the active ones."""
    if job_pb2.JOB_STATE_UNSPECIFIED in states:
        return None
    known = {int(state) for state in JobState}
    return [JobState(state) for state in states if state in known] if states else ACTIVE


def _page_size(size: int) -> int:
    if size < 0:
        raise FieldError("page_size", "is negative")
    return min(size or MOST_ON_A_PAGE, MOST_ON_A_PAGE)


def _page_token(token: str, first: int) -> int:
    if not token:
        return first
    if (after := number(token)) is None:
        raise FieldError("page_token", "is not one that was given")
    return after
