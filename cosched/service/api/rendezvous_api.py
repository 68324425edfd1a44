"""RendezvousService: jobs say where they can be reached, and their mates may ask."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import grpc

from cosched.core.events import Asked
from cosched.core.job import JobState
from cosched.core.protocol import Domain, GetMateStatus, JobId, MateStatus, Status
from cosched.service.api.answering import ApiForPeers, Context, answered
from cosched.service.api.operations import Operations
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError, check_job, check_job_of, check_text
from cosched.service.wire.message_parts import STATUS
from cosched.v1 import coscheduling_pb2
from cosched.v1 import rendezvous_pb2 as wire
from cosched.v1.rendezvous_pb2_grpc import RendezvousServiceServicer

MAX_NODELIST = 32768
MAX_HOST = 256
MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """The parts of a service that this API uses; `ports` are those at which jobs may listen."""

    domain: LiveDomain
    operations: Operations
    peers: PeerClients
    ports: tuple[int, int] | None


class RendezvousApi(ApiForPeers[Rendezvous], RendezvousServiceServicer):
    """The API for callers of one listener."""

    @answered
    async def FindMates(self, request: wire.FindMatesRequest, context: Context) -> wire.FindMatesResponse:
        caller = self._identify(context)
        record = self._serving.operations.jobs.of_caller(caller, request.job, "ask for the mates of")
        if request.HasField("place"):
            self._keep(record, _checked(request.place))
        mates = await asyncio.gather(*(self._find(record, peer, job) for peer, job in record.mates.items()))
        return wire.FindMatesResponse(ports=self._ports(), mates=mates)

    def _keep(self, record: JobRecord, place: wire.Place) -> None:
        if record.state is not JobState.RUNNING:
            said = f"job {record.id} is {record.state.name}: only a job that runs can be reached"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "JOB_STATE", said, {"state": record.state.name})
        told = json.dumps([place.nodelist, place.host, place.port])
        if told != record.place:
            with self.domain.turns.take():
                record.place = told
                self.domain.journal.save(record)

    async def _find(self, record: JobRecord, peer: Domain, job: JobId | None) -> wire.FoundMate:
        found = wire.FoundMate(job=coscheduling_pb2.JobRef(domain=peer, job_id=job or ""))
        if job is None:
            found.problem = f"it is not known which job of {peer} that is"
            return found
        caller = coscheduling_pb2.JobRef(domain=self.domain.name, job_id=str(record.id))
        try:
            told = await self._serving.peers.place(peer, wire.GetPlaceRequest(job=found.job, caller=caller))
        except CallError as error:
            found.problem = self.domain.presence.silent(peer, error.problem)
            return found
        found.status = told.status
        if told.HasField("place"):
            found.place.CopyFrom(told.place)
        if told.HasField("ports"):
            found.ports.CopyFrom(told.ports)
        return found

    @answered
    async def GetPlace(self, request: wire.GetPlaceRequest, context: Context) -> wire.GetPlaceResponse:
        peer, caller = check_job("caller", request.caller)
        job = check_job_of("job", request.job, self.domain.name)
        self._check_peer(self._identify(context), peer)
        told = self.domain.questions.ask(Asked(peer, GetMateStatus(job, caller)))
        assert isinstance(told, MateStatus)
        status, known = STATUS[told.status], told.status is not Status.UNKNOWN
        place, ports = (_place(self.domain.jobs.get(job)), self._ports()) if known else (None, None)
        return wire.GetPlaceResponse(status=status, place=place, ports=ports)

    def _ports(self) -> wire.PortRange | None:
        ports = self._serving.ports
        return None if ports is None else wire.PortRange(low=ports[0], high=ports[1])


def _checked(place: wire.Place) -> wire.Place:
    check_text("place.nodelist", place.nodelist, MAX_NODELIST, least=0)
    check_text("place.host", place.host, MAX_HOST)
    if not 0 <= place.port <= MAX_PORT:
        raise FieldError("place.port", f"is not between 0 and {MAX_PORT}")
    return place


def _place(record: JobRecord | None) -> wire.Place | None:
    """Return where a job can be reached; None if it does not run or has not said."""
    if record is None or record.place is None or record.state is not JobState.RUNNING:
        return None
    nodelist, host, port = json.loads(record.place)
    return wire.Place(nodelist=nodelist, host=host, port=port)
