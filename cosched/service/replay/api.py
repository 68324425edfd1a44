"""ReplayService (replay.proto): checks the caller, translates, and calls the domain in lock-step."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc

from cosched.core.job import JobState
from cosched.service.api.answering import ApiFor, Context, answered
from cosched.service.replay.pace import ALL, Lockstep
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal, abort
from cosched.service.wire.fields import FieldError
from cosched.v1 import replay_pb2 as wire
from cosched.v1.domain_pb2 import EVENT_KIND_RELEASED
from cosched.v1.replay_pb2_grpc import ReplayServiceServicer

PAGE = 1000


class ReplayApi(ApiFor[Lockstep], ReplayServiceServicer):
    """The API for callers of one listener."""

    @answered
    async def Advance(self, request: wire.AdvanceRequest, context: Context) -> wire.AdvanceResponse:
        self._check_caller(context)
        phases = list(request.phases)
        if phases:
            self._check_instant(request.instant)
        if phases not in ([wire.PHASE_NEWS], [phase for phase in ALL if phase in phases]):
            raise FieldError("phases", "are not in their order, each once, or NEWS by itself")
        if request.until and {*phases, wire.PHASE_SLOTS} != set(ALL):
            raise FieldError("until", "is given, but not all phases are")
        return await self._serving.advance(phases, request.until)

    @answered
    async def ChangeJob(self, request: wire.ChangeJobRequest, context: Context) -> wire.ChangeJobResponse:
        self._check_caller(context)
        self._check_instant(request.instant)
        return wire.ChangeJobResponse(done=await self._serving.change(request.change, request.number, request.by))

    @answered
    async def ChangeDomain(self, request: wire.ChangeDomainRequest, context: Context) -> wire.ChangeDomainResponse:
        self._check_caller(context)
        self._check_instant(request.instant)
        await self._serving.change_domain(request)
        return wire.ChangeDomainResponse()

    async def GetResults(
        self,
        request: wire.GetResultsRequest,  # noqa: ARG002
        context: Context,
    ) -> AsyncIterator[wire.GetResultsResponse]:
        try:
            self._check_caller(context)
        except Refusal as refusal:
            await abort(context, refusal)
        store, last = self.domain.store, 0
        releases = len(store.events(0, (), (EVENT_KIND_RELEASED,), -1))
        while page := store.jobs(None, None, paired_only=False, after_id=last, limit=PAGE):
            yield wire.GetResultsResponse(jobs=map(self._result, page), releases=releases)
            last = page[-1].id
        events = self._serving.manager.events
        for first in range(0, len(events), PAGE):
            yield wire.GetResultsResponse(events=events[first : first + PAGE], releases=releases)
        had = self._serving.allocations() or ()
        for first in range(0, len(had), PAGE):
            yield wire.GetResultsResponse(allocations=map(_allocation, had[first : first + PAGE]), releases=releases)
        if counts := self.domain.scheduler.counts():
            yield wire.GetResultsResponse(counts=counts, releases=releases)

    def _result(self, job: JobRecord) -> wire.JobResult:
        return wire.JobResult(
            number=job.id,
            state=int(job.state),  # type: ignore[arg-type]  # the numbers are the same
            ready=job.job.ready_at,
            start=self._serving.manager.first_starts.get(str(job.id)),
            last_start=self._serving.manager.restarts.get(str(job.id)),
            end=job.ended_at,
            holds=job.job.holds,
            yields=job.job.yields,
            held_node_seconds=job.job.held_node_seconds,
            hold_start=job.job.held_since if job.state is JobState.HOLDING else None,
        )

    def _check_instant(self, told: int) -> None:
        if told != self.domain.clock.now():
            raise FieldError("instant", "is not the instant that is told")

    def _check_caller(self, context: Context) -> None:
        caller = self._identify(context)
        if not caller.operator:
            raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER", f"{caller.via} is not an operator")


def _allocation(columns: Sequence[Any]) -> wire.PastAllocation:
    row, allocation, nodes, start, end, ended, where, resource = columns
    told = wire.PastAllocation(allocation=allocation, nodes=nodes, start=start, end=end, where=where, resource=resource)
    told.number, told.ended = row + 1, ended + 1  # an end of 0 is the unspecified one
    return told
