"""Translates the core's messages between domains to protobuf messages and back. Pure; checks what it reads.

proto/cosched/v1/coscheduling.proto explains the fields.
"""

from __future__ import annotations

import math

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.events import Asked
from cosched.core.protocol import (
    FOREVER,
    Domain,
    Found,
    GetMateJobId,
    GetMateStatus,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    Reply,
    Request,
    StartJob,
    Status,
    TryStartMate,
)
from cosched.service.wire.fields import (
    MAX_OWNER,
    MAX_PAIR,
    MAX_REQUEST_ID,
    FieldError,
    check_generation,
    check_instant,
    check_job,
    check_job_of,
    check_text,
    check_time,
)
from cosched.v1 import coscheduling_pb2 as wire

WireRequest = wire.GetMateJobIdRequest | wire.GetMateStatusRequest | wire.TryStartMateRequest | wire.StartJobRequest
WireReply = wire.GetMateJobIdResponse | wire.GetMateStatusResponse | wire.TryStartMateResponse | wire.StartJobResponse

FOUND = {
    Found.MATE: wire.MATE_LOOKUP_FOUND,
    Found.UNSUBMITTED: wire.MATE_LOOKUP_UNSUBMITTED,
    Found.NO_PAIR: wire.MATE_LOOKUP_NO_PAIR,
}
STATUS = {
    Status.HOLDING: wire.MATE_STATUS_HOLDING,
    Status.QUEUING: wire.MATE_STATUS_QUEUING,
    Status.UNSUBMITTED: wire.MATE_STATUS_UNSUBMITTED,
    Status.RUNNING: wire.MATE_STATUS_RUNNING,
    Status.ENDED: wire.MATE_STATUS_ENDED,
    Status.CANCELLED: wire.MATE_STATUS_CANCELLED,
    Status.FAILED: wire.MATE_STATUS_FAILED,
    Status.UNKNOWN: wire.MATE_STATUS_UNKNOWN,
}
PROBLEM = {problem: wire.MateProblem.Value(f"MATE_PROBLEM_{problem.name}") for problem in MateProblem}
_FOUND_OF = {value: found for found, value in FOUND.items()}
_STATUS_OF = {value: status for status, value in STATUS.items()}
_PROBLEM_OF = {value: problem for problem, value in PROBLEM.items()}


def write_request(request: Request, here: Domain, peer: Domain) -> WireRequest:
    """Return the message for a request to a peer."""
    caller = wire.JobRef(domain=here, job_id=request.caller)
    if isinstance(request, GetMateJobId):
        mate = wire.JobRef(domain=peer, job_id=request.mate) if request.mate is not None else None
        return wire.GetMateJobIdRequest(job=caller, pair=request.pair, mate=mate, owner=request.owner)
    job = wire.JobRef(domain=peer, job_id=request.job)
    if isinstance(request, GetMateStatus):
        return wire.GetMateStatusRequest(job=job, caller=caller)
    if isinstance(request, StartJob):
        return wire.StartJobRequest(
            request_id=request.request_id,
            job=job,
            caller=caller,
            hold_generation=request.generation,
            start_at=write_instant(request.start_at),
        )
    assert isinstance(request, TryStartMate)
    start_at = write_instant(request.start_at)
    message = wire.TryStartMateRequest(request_id=request.request_id, job=job, caller=caller, start_at=start_at)
    if request.hold_until >= FOREVER:
        message.hold_forever = True
    elif request.hold_until:
        message.hold_until.seconds = request.hold_until
    return message


def read_request(message: WireRequest, here: Domain) -> Asked:
    """Return a peer's request to this domain; FieldError.

    The peer is the one that the message names; the service has to check whether the caller is that peer. It is
    this domain itself if somebody asks GetMateJobId about a job of ours.
    """
    if isinstance(message, wire.GetMateJobIdRequest):
        return _read_get_mate_job_id(message, here)
    job = check_job_of("job", message.job, here)
    peer, caller = check_job("caller", message.caller)
    if isinstance(message, wire.GetMateStatusRequest):
        return Asked(peer, GetMateStatus(job, caller))
    request_id = check_text("request_id", message.request_id, MAX_REQUEST_ID)
    if isinstance(message, wire.StartJobRequest):
        generation = check_generation("hold_generation", message.hold_generation)
        return Asked(peer, StartJob(request_id, job, caller, generation, _read_start_at(message)))
    return Asked(peer, TryStartMate(request_id, job, caller, _read_hold(message), _read_start_at(message)))


def _read_get_mate_job_id(message: wire.GetMateJobIdRequest, here: Domain) -> Asked:
    peer, caller = check_job("job", message.job)
    pair = check_text("pair", message.pair, MAX_PAIR, least=0)
    mate = check_job_of("mate", message.mate, here) if message.HasField("mate") else None
    owner = check_text("owner", message.owner, MAX_OWNER, least=0)
    return Asked(peer, GetMateJobId(caller, pair or None, mate, owner))


def _read_hold(message: wire.TryStartMateRequest) -> int:
    """Return until when the caller will hold; 0: it will yield."""
    hold = message.WhichOneof("hold")
    if hold is None:
        return 0
    if hold == "hold_until":
        return check_time("hold_until", message.hold_until, earliest=1)
    if not message.hold_forever:
        raise FieldError("hold_forever", "must be true, or absent")
    return FOREVER


def _read_start_at(
    message: wire.TryStartMateRequest | wire.StartJobRequest | wire.TryStartMateResponse | wire.StartJobResponse,
) -> float | None:
    return check_instant("start_at", message.start_at) if message.HasField("start_at") else None


def write_clock(received: float, sent: float) -> wire.CompareClocksResponse:
    """Return the message with our clock's readings when the question came and now, in seconds since 1970."""
    return wire.CompareClocksResponse(received_at=write_instant(received), sent_at=write_instant(sent))


def read_clock(message: wire.CompareClocksResponse) -> tuple[float, float]:
    """Return the two readings of a peer's clock, as for `write_clock`; FieldError."""
    if not message.HasField("received_at") or not message.HasField("sent_at"):
        raise FieldError("received_at, sent_at", "must both be given")
    return check_instant("received_at", message.received_at), check_instant("sent_at", message.sent_at)


def write_instant(instant: float | None) -> Timestamp | None:
    """Return the timestamp of seconds since 1970, cut off to nanoseconds."""
    if instant is None:
        return None
    seconds = math.floor(instant)
    return Timestamp(seconds=seconds, nanos=int((instant - seconds) * 1e9))


def write_reply(reply: Reply, domain: Domain) -> WireReply:
    """Return the message for a reply; a mate that it names is a job of `domain`."""
    if isinstance(reply, MateJobId):
        mate = wire.JobRef(domain=domain, job_id=reply.job) if reply.job is not None else None
        problem = PROBLEM[reply.problem] if reply.problem is not None else None
        return wire.GetMateJobIdResponse(lookup=FOUND[reply.found], mate=mate, problem=problem)
    if isinstance(reply, MateStatus):
        started_at = Timestamp(seconds=reply.started_at) if reply.started_at is not None else None
        return wire.GetMateStatusResponse(
            status=STATUS[reply.status], hold_generation=reply.generation, started_at=started_at
        )
    if isinstance(reply, MateTried):
        return wire.TryStartMateResponse(started=reply.started, start_at=write_instant(reply.start_at))
    assert isinstance(reply, MateStarted)
    return wire.StartJobResponse(started=reply.started, start_at=write_instant(reply.start_at))


def read_reply(message: WireReply, peer: Domain) -> Reply:
    """Return a peer's reply; FieldError: the answer breaks the protocol, and the call counts as refused."""
    if isinstance(message, wire.GetMateJobIdResponse):
        return _read_mate_job_id(message, peer)
    if isinstance(message, wire.GetMateStatusResponse):
        return _read_mate_status(message)
    if isinstance(message, wire.TryStartMateResponse):
        return MateTried(message.started, _read_start_at(message))
    return MateStarted(message.started, _read_start_at(message))


def _read_mate_job_id(message: wire.GetMateJobIdResponse, peer: Domain) -> MateJobId:
    found = _FOUND_OF.get(message.lookup)
    if found is None:
        raise FieldError("lookup", "is not known here")
    if message.HasField("mate") != (found is Found.MATE):
        raise FieldError("mate", "must be given if, and only if, lookup is FOUND")
    job = check_job_of("mate", message.mate, peer) if found is Found.MATE else None
    return MateJobId(found, job, _PROBLEM_OF.get(message.problem))  # None: an unknown problem


def _read_mate_status(message: wire.GetMateStatusResponse) -> MateStatus:
    status = _STATUS_OF.get(message.status)
    if status is None:
        raise FieldError("status", "is not known here")
    generation = message.hold_generation
    if status is Status.HOLDING:  # in other states it has no meaning
        check_generation("hold_generation", generation)
    started_at = check_time("started_at", message.started_at) if message.HasField("started_at") else None
    return MateStatus(status, generation, started_at)
