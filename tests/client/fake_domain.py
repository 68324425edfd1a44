"""A small DomainService over dictionaries, behind a real gRPC server: what the clients are tested against."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import contextmanager

import grpc
from google.protobuf.message import Message

from cosched.service.wire.errors import Refusal, abort
from cosched.v1 import cluster_pb2, coscheduling_pb2, domain_pb2, explain_pb2, job_pb2
from cosched.v1.domain_pb2_grpc import DomainServiceServicer, add_DomainServiceServicer_to_server
from cosched.v1.explain_pb2_grpc import ExplainServiceServicer, add_ExplainServiceServicer_to_server
from tests.waiting import PATIENCE, until

EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z, the fake's own clock
FIRST_ID = 17
UNFINISHED = {1, 2, 3, 4}
PEER = "eureka"
EUREKA_3 = coscheduling_pb2.JobRef(domain=PEER, job_id="3")


class FakeDomain(DomainServiceServicer, ExplainServiceServicer):
    """The domain intrepid. Its lists and dictionaries are there to be read and filled by tests."""

    def __init__(self) -> None:
        self.jobs: dict[str, job_pb2.Job] = {}
        self.nodes: list[cluster_pb2.NodeGroup] = []
        self.domain = cluster_pb2.Domain(name="intrepid", version="cosched 0", manager="local")
        self.domain.now.seconds = self.domain.serving_since.seconds = EPOCH
        self.events: list[domain_pb2.Event] = []
        self.explanations: dict[str, explain_pb2.Explanation] = {}  # without any: as an older domain
        self.requests: list[Message] = []
        self.answers: dict[str, Message] = {}
        self.failures: list[Refusal | grpc.StatusCode] = []  # the next calls end so, before anything is done
        self.lost_answers = 0  # so many next changes are made, and their answers lost
        self.mate_lookup = coscheduling_pb2.MATE_LOOKUP_UNSUBMITTED
        self.page_size = 1000
        self.ends_late = False  # what is cancelled stays as it is for now
        self.news = asyncio.Condition()

    def happen(self, kind: int, text: str, job: str | None = None) -> None:
        event = domain_pb2.Event(sequence=len(self.events) + 1, kind=kind, text=text)
        event.at.seconds = EPOCH + len(self.events)
        if job is not None:
            event.job.domain, event.job.job_id = "intrepid", job
        self.events.append(event)

    def add(self, **fields: object) -> job_pb2.Job:
        job = job_pb2.Job(**{"state": job_pb2.JOB_STATE_QUEUED, "nodes": 1, "owner": "alice", **fields})
        job.ref.domain, job.ref.job_id = "intrepid", str(FIRST_ID + len(self.jobs))
        job.submitted_at.seconds = EPOCH
        self.jobs[job.ref.job_id] = job
        return job

    async def SubmitJob(self, request, context):  # noqa: N802
        def submit() -> domain_pb2.SubmitJobResponse:
            job = self.add(name=request.name, nodes=request.nodes or 1)
            if request.HasField("time_limit"):
                job.time_limit.CopyFrom(request.time_limit)
            if request.hold:
                job.reason = "JobHeldUser"
            for name in request.mates:
                self._link(job, name)
            self.happen(domain_pb2.EVENT_KIND_SUBMITTED, f"job {job.ref.job_id} was submitted", job.ref.job_id)
            return domain_pb2.SubmitJobResponse(job=job)

        return await self._change(request, context, submit)

    async def CancelJob(self, request, context):  # noqa: N802
        def cancel() -> domain_pb2.CancelJobResponse:
            job = self._job(request.job)
            if job.state in (job_pb2.JOB_STATE_COMPLETED, job_pb2.JOB_STATE_FAILED):
                message = f"job {job.ref.job_id} has ended"
                raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", message, {"state": "completed"})
            if job.state != job_pb2.JOB_STATE_RUNNING and not self.ends_late:
                job.state = job_pb2.JOB_STATE_CANCELLED
            return domain_pb2.CancelJobResponse(job=job)

        return await self._change(request, context, cancel)

    async def LinkJobs(self, request, context):  # noqa: N802
        def link() -> domain_pb2.LinkJobsResponse:
            job = self._job(request.job)
            self._link(job, request.mate)
            return domain_pb2.LinkJobsResponse(job=job)

        return await self._change(request, context, link)

    async def UnlinkJobs(self, request, context):  # noqa: N802
        def unlink() -> domain_pb2.UnlinkJobsResponse:
            job = self._job(request.job)
            if not job.mates:
                raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NOT_LINKED", "there is no such mate")
            del job.mates[:]
            return domain_pb2.UnlinkJobsResponse(job=job)

        return await self._change(request, context, unlink)

    async def ReleaseHold(self, request, context):  # noqa: N802
        def release() -> domain_pb2.ReleaseHoldResponse:
            job = self._job(request.job)
            job.reason = ""
            return domain_pb2.ReleaseHoldResponse(job=job)

        return await self._change(request, context, release)

    async def GetJob(self, request, context):  # noqa: N802
        return await self._read(request, context, lambda: domain_pb2.GetJobResponse(job=self._job(request.job)))

    async def GetDomain(self, request, context):  # noqa: N802
        return await self._read(request, context, lambda: domain_pb2.GetDomainResponse(domain=self.domain))

    async def ListNodes(self, request, context):  # noqa: N802
        return await self._read(request, context, lambda: domain_pb2.ListNodesResponse(groups=self.nodes))

    async def ListJobs(self, request, context):  # noqa: N802
        def page() -> domain_pb2.ListJobsResponse:
            states = set(request.states) or UNFINISHED
            chosen = [
                job
                for job in self.jobs.values()
                if job.state in states
                and request.owner in ("", job.owner)
                and (job.mates or job.HasField("group") or not request.paired_only)
                and request.group in ("", job.group.name, *(mate.name.pair.name for mate in job.mates))
                and int(job.ref.job_id) > int(request.page_token or 0)
            ]
            jobs = chosen[: self.page_size]
            token = jobs[-1].ref.job_id if len(chosen) > len(jobs) else ""
            return domain_pb2.ListJobsResponse(jobs=jobs, next_page_token=token)

        return await self._read(request, context, page)

    async def WatchEvents(self, request, context) -> AsyncIterator[domain_pb2.WatchEventsResponse]:  # noqa: N802
        await self._begin(request, context)
        last = request.after_sequence if request.HasField("after_sequence") else len(self.events)
        while True:
            while last < len(self.events):
                event, last = self.events[last], last + 1
                if _wanted(event, request):
                    yield domain_pb2.WatchEventsResponse(event=event)
            if request.until_now:
                return
            async with self.news:
                if self.failures:
                    await self._fail(context)
                if len(self.events) == last:
                    await self.news.wait()

    async def _change(self, request, context, make: Callable[[], Message]) -> Message:
        await self._begin(request, context)
        if request.request_id not in self.answers:
            self.answers[request.request_id] = await _answer(context, make)
        if self.lost_answers:
            self.lost_answers -= 1
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection is lost")
        return self.answers[request.request_id]

    async def _read(self, request, context, make: Callable[[], Message]) -> Message:
        await self._begin(request, context)
        return await _answer(context, make)

    async def _begin(self, request, context) -> None:
        copy = type(request)()
        copy.CopyFrom(request)
        self.requests.append(copy)
        if self.failures:
            await self._fail(context)

    async def _fail(self, context) -> None:
        failure = self.failures.pop(0)
        if isinstance(failure, Refusal):
            await abort(context, failure)
        await context.abort(failure, "the network is gone")

    def _job(self, ref: coscheduling_pb2.JobRef) -> job_pb2.Job:
        if ref.domain not in ("", "intrepid"):
            what = {"field": "job.domain"}
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "WRONG_DOMAIN", "job.domain: is not intrepid", what)
        if ref.job_id not in self.jobs:
            raise Refusal(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", f"there is no job {ref.job_id}")
        return self.jobs[ref.job_id]

    async def ExplainJobs(self, request, context):  # noqa: N802
        if not self.explanations:
            await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method")
        known = [self.explanations[job.job_id] for job in request.jobs if job.job_id in self.explanations]
        if len(request.jobs) == 1 and not known:
            await abort(context, Refusal(grpc.StatusCode.NOT_FOUND, "JOB_NOT_FOUND", "there is no such job"))
        return explain_pb2.ExplainJobsResponse(explanations=known)

    def _link(self, job: job_pb2.Job, name: job_pb2.MateName) -> None:
        mate = job.mates.add(name=name, lookup=self.mate_lookup)
        if mate.name.HasField("pair"):
            mate.name.pair.domain = mate.name.pair.domain or PEER
        elif self.mate_lookup == coscheduling_pb2.MATE_LOOKUP_FOUND:
            mate.job.CopyFrom(name.job)
            mate.status = coscheduling_pb2.MATE_STATUS_QUEUING


async def _answer(context, make: Callable[[], Message]) -> Message:
    try:
        return make()
    except Refusal as refusal:
        await abort(context, refusal)


def _wanted(event: domain_pb2.Event, request: domain_pb2.WatchEventsRequest) -> bool:
    ids = {job.job_id for job in request.jobs}
    return (not ids or event.job.job_id in ids) and (not request.kinds or event.kind in request.kinds)


class Running:
    """A fake domain that serves, on a loop in a thread of its own."""

    def __init__(self, domain: FakeDomain, address: str, loop: asyncio.AbstractEventLoop) -> None:
        self.domain = domain
        self.address = address
        self._loop = loop

    def do(self, change: Callable[[], object]) -> None:
        """Change the domain, and tell those who watch it."""

        async def told() -> None:
            async with self.domain.news:
                change()
                self.domain.news.notify_all()

        asyncio.run_coroutine_threadsafe(told(), self._loop).result(PATIENCE)

    def wait_for(self, condition: Callable[[FakeDomain], object]) -> None:
        asyncio.run_coroutine_threadsafe(until(lambda: condition(self.domain)), self._loop).result()


@contextmanager
def serve(address: str, credentials: grpc.ServerCredentials | None = None):
    """A fake domain at an address, whose port may be 0."""
    started: Future[tuple[Running, Callable[[], None]]] = Future()

    async def run() -> None:
        domain, stop = FakeDomain(), asyncio.Event()
        server = grpc.aio.server()
        add_DomainServiceServicer_to_server(domain, server)
        add_ExplainServiceServicer_to_server(domain, server)
        port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        await server.start()
        loop = asyncio.get_running_loop()
        running = Running(domain, address.replace(":0", f":{port}"), loop)
        started.set_result((running, lambda: loop.call_soon_threadsafe(stop.set)))
        await stop.wait()
        await server.stop(0)

    thread = threading.Thread(target=asyncio.run, args=[run()])
    thread.start()
    running, stop = started.result(PATIENCE)
    try:
        yield running
    finally:
        stop()
        thread.join(PATIENCE)
