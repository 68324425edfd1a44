"""PageService: what this domain tells the pages of its peers about jobs that are mates of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cosched.core.protocol import Domain
from cosched.service.api.answering import ApiForPeers, Context, answered
from cosched.service.api.reads import Reads
from cosched.service.api.views import Views
from cosched.service.clock import Clock
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.page.viewers import Policy
from cosched.service.planning.explaining import Explaining
from cosched.service.store import EventRecord, JobRecord, Reader
from cosched.service.wire.fields import MAX_OWNER, FieldError, check_domain, check_text, number
from cosched.v1 import cluster_pb2, domain_pb2, page_pb2
from cosched.v1.page_pb2_grpc import PageServiceServicer

MAX_JOBS = 100
MAX_BYTES = 48 << 10  # of an answer; peers take no more than 64 KiB
OF_LANES = (
    domain_pb2.EVENT_KIND_READY, domain_pb2.EVENT_KIND_HELD, domain_pb2.EVENT_KIND_RELEASED,
    domain_pb2.EVENT_KIND_YIELDED, domain_pb2.EVENT_KIND_SLOT, domain_pb2.EVENT_KIND_WARNING,
)  # fmt: skip
MAX_EVENTS = 500


@dataclass(frozen=True, slots=True)
class Described:
    """The parts of a service that describe its jobs."""

    domain: LiveDomain
    views: Views
    clock: Clock
    reads: Reads
    about: Callable[[], cluster_pb2.Domain]
    policy: Policy
    clock_ahead: Callable[[Domain], timedelta]  # of a peer's clock; 0 if it is unknown
    explaining: Explaining
    queue: Queue

    def now(self) -> datetime:
        """Return the present."""
        return self.when(self.clock.now())

    def when(self, instant: int) -> datetime:
        """Return an instant of the service's own time by the wall clock."""
        return datetime.fromtimestamp(self.clock.to_wall(instant), UTC)


class PageApi(ApiForPeers[Described], PageServiceServicer):
    """The API for peers' pages, for callers of one listener."""

    @answered
    async def DescribeJobs(
        self, request: page_pb2.DescribeJobsRequest, context: Context
    ) -> page_pb2.DescribeJobsResponse:
        peer, caller = check_domain("domain", request.domain), self._identify(context)
        self._check_peer(caller, peer)
        async with self._serving.reads.reading(caller.via):
            return await self._describe(request, peer)

    async def _describe(self, request: page_pb2.DescribeJobsRequest, peer: Domain) -> page_pb2.DescribeJobsResponse:
        told = page_pb2.DescribeJobsResponse(domain=self._serving.about())
        told.domain.ClearField("peers")  # this is not for others, nor for which jobs its drain waits
        if told.domain.HasField("drain"):
            told.domain.drain.ClearField("waits_for")
        name = check_text("viewer", request.viewer, MAX_OWNER, least=0)
        viewer = self.domain.core.names.owner_here(peer, name) if name else ""
        records = {job: await self._seen(job, peer, viewer) for job in _checked(request.job_ids)}
        ids = [record.id for record in records.values() if record is not None]
        kinds = () if request.stories else OF_LANES
        events = await self._serving.reads.read(Reader.stories, ids, kinds, MAX_EVENTS)
        for job, record in records.items():
            message = told.jobs.add(job_id=job)
            if record is not None:
                self._serving.views.write_job(message.job, record)
        self._add_events(told, reversed(events))
        return told

    async def _seen(self, job: str, peer: Domain, viewer: str) -> JobRecord | None:
        """Return a job that the viewer may see: a mate of the peer's; None: there is none."""
        record = self.domain.jobs.get(job) or await self._serving.reads.job(int(job))
        if record is None or peer not in record.mates or not self._serving.policy.tells(viewer, record.owner):
            return None
        return record

    def _add_events(self, told: page_pb2.DescribeJobsResponse, last_first: Iterable[EventRecord]) -> None:
        """Add as many of the last events as the answer has room for."""
        room, fitting = MAX_BYTES - told.ByteSize(), []
        for event in last_first:
            made = self._serving.views.event(event)
            room -= made.ByteSize() + 8
            if room < 0:
                break
            fitting.append((str(event.job), made))
        messages = {message.job_id: message for message in told.jobs}
        for job, made in reversed(fitting):
            messages[job].events.append(made)


def _checked(job_ids: Iterable[str]) -> list[str]:
    jobs = list(dict.fromkeys(job_ids))
    if len(jobs) > MAX_JOBS:
        raise FieldError("job_ids", f"has more than {MAX_JOBS} entries")
    if any(number(job) is None for job in jobs):
        raise FieldError("job_ids", "contains an invalid job id")
    return jobs
