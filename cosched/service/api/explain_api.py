"""ExplainService: when jobs are expected to start, and why they wait; for users, and for the domains of their mates."""

from __future__ import annotations

from cosched.core.protocol import Domain, JobId
from cosched.service.api.answering import ApiForPeers, Context, answered
from cosched.service.api.domain_api import Serving
from cosched.service.api.requests import checked_reader
from cosched.service.planning.explaining import ASKED_AT_ONCE
from cosched.service.planning.near_names import Sought
from cosched.service.wire.fields import MAX_OWNER, MAX_PAIR, FieldError, check_job, check_job_of, check_text, number
from cosched.v1 import explain_pb2 as wire
from cosched.v1.coscheduling_pb2 import JobRef
from cosched.v1.explain_pb2_grpc import ExplainServiceServicer

MOST_JOBS = 500


class ExplainApi(ApiForPeers[Serving], ExplainServiceServicer):
    """The API for callers of one listener."""

    @answered
    async def ExplainJobs(self, request: wire.ExplainJobsRequest, context: Context) -> wire.ExplainJobsResponse:
        caller = checked_reader(self.domain, self._identify(context))
        if not 1 <= len(request.jobs) <= MOST_JOBS:
            raise FieldError("jobs", f"must have 1 to {MOST_JOBS} entries")
        jobs = [self._own(f"jobs[{i}]", job) for i, job in enumerate(request.jobs)]
        if len(jobs) == 1:
            await self._serving.queue.look_for(jobs[0])
        async with self._serving.reads.reading(caller.via):
            found = [record for job in jobs if (record := await self._serving.record(job)) is not None]
            if len(jobs) == 1 and not found:
                raise self._serving.operations.jobs.no_job(jobs[0])
            names = caller.operator or all(record.owner == caller.user for record in found)
            return wire.ExplainJobsResponse(explanations=await self._serving.explaining.explain(found, names=names))

    def _own(self, field: str, ref: JobRef) -> JobId:
        """Return the id of a job of this domain; the reference may leave out the domain."""
        self._serving.operations.jobs.check_here(field, ref)
        if number(ref.job_id) is None:
            raise FieldError(f"{field}.job_id", "is not a number")
        return ref.job_id

    @answered
    async def ExplainMates(self, request: wire.ExplainMatesRequest, context: Context) -> wire.ExplainMatesResponse:
        if not 1 <= len(request.pairs) <= ASKED_AT_ONCE:
            raise FieldError("pairs", f"must have 1 to {ASKED_AT_ONCE} entries")
        asked = [self._asked(f"pairs[{i}]", pair) for i, pair in enumerate(request.pairs)]
        caller = self._identify(context)
        for peer in {peer for peer, _, _ in asked}:
            self._check_peer(caller, peer)
        async with self._serving.reads.reading(caller.via):
            told = await self._serving.explaining.outlooks(asked)
        return wire.ExplainMatesResponse(outlooks=told)

    def _asked(self, field: str, pair: wire.MatePair) -> tuple[Domain, JobId, JobId | Sought]:
        """Return the peer, its job, and the job here that is asked for, or the name."""
        peer, caller = check_job(f"{field}.caller", pair.caller)
        if pair.HasField("sought") and pair.job == JobRef(domain=self.domain.name):
            owner = check_text(f"{field}.sought.owner", pair.sought.owner, MAX_OWNER)
            name = check_text(f"{field}.sought.name", pair.sought.name, MAX_PAIR)
            return peer, caller, Sought(owner, name, pair.sought.of_group)
        return peer, caller, check_job_of(f"{field}.job", pair.job, self.domain.name)
