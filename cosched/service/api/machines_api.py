"""MachinesService: what is known of the machines, and when they would start a job; for planners above domains."""

from __future__ import annotations

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from cosched.service.api.answering import ApiFor, Context, answered
from cosched.service.api.domain_api import Serving
from cosched.service.api.requests import checked_reader
from cosched.service.wire.errors import Refusal
from cosched.service.wire.submissions import read_prospect
from cosched.v1 import machines_pb2 as wire
from cosched.v1.machines_pb2_grpc import MachinesServiceServicer


class MachinesApi(ApiFor[Serving], MachinesServiceServicer):
    """The API for callers of one listener."""

    @answered
    async def ListMachines(self, request: wire.ListMachinesRequest, context: Context) -> wire.ListMachinesResponse:
        caller = checked_reader(self.domain, self._identify(context))
        if (machines := self._serving.machines) is None:
            said = f"{self.domain.name} lists no machines: an operator can, in its section [machines]"
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED, "NO_MACHINES", said)
        async with self._serving.reads.reading(caller.via):
            return await machines.told(lasting=request.lasting)

    @answered
    async def QuoteStart(self, request: wire.QuoteStartRequest, context: Context) -> wire.QuoteStartResponse:
        caller = checked_reader(self.domain, self._identify(context))
        async with self._serving.reads.reading(caller.via):
            found = await self._serving.quotes.start_of(read_prospect(request), caller.user or "")
        told = wire.QuoteStartResponse(now=Timestamp(seconds=found.now))
        if found.at is not None:
            told.at.seconds = found.at
        return told
