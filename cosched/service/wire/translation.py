"""Translates the core's messages between domains to protobuf messages and back. Pure; checks what it reads.

proto/cosched/v1/coscheduling.proto explains the fields.
"""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.events import Asked
from cosched.core.protocol import (
    FOREVER,
    AboutGroup,
    Domain,
    GetMateJobId,
    GetMateStatus,
    GroupProposed,
    JobId,
    MateJobId,
    MateStarted,
    MateStatus,
    MateTried,
    MutatingRequest,
    Proposed,
    ProposeGroupStart,
    ProposeStart,
    Refusal,
    Reply,
    Request,
    Settled,
    SettleStart,
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
from cosched.service.wire.group_messages import (
    WireGroupOrder,
    WireGroupReply,
    WireGroupRequest,
    check_group_answer,
    read_group_reply,
    read_group_request,
    write_group_reply,
    write_group_request,
)
from cosched.service.wire.message_parts import (
    FOUND,
    PROBLEM,
    read_found,
    read_hold,
    read_start_at,
    write_hold,
    write_instant,
)
from cosched.v1 import coscheduling_pb2 as wire

_PairOrder = wire.TryStartMateRequest | wire.StartJobRequest | wire.ProposeStartRequest | wire.SettleStartRequest
WireOrder = _PairOrder | WireGroupOrder
WireRequest = wire.GetMateJobIdRequest | wire.GetMateStatusRequest | _PairOrder | WireGroupRequest
WireReply = (
    wire.GetMateJobIdResponse
    | wire.GetMateStatusResponse
    | wire.TryStartMateResponse
    | wire.StartJobResponse
    | wire.ProposeStartResponse
    | wire.SettleStartResponse
    | WireGroupReply
)

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
REFUSAL = {refusal: wire.SlotRefusal.Value(f"SLOT_REFUSAL_{refusal.name}") for refusal in Refusal}
_STATUS_OF = {value: status for status, value in STATUS.items()}
_REFUSAL_OF = {value: refusal for refusal, value in REFUSAL.items()}


def write_request(request: Request, here: Domain, peer: Domain) -> WireRequest:
    """Return the message for a request to a peer."""
    if isinstance(request, AboutGroup):
        return write_group_request(request, here, peer)
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
            slot_generation=request.slot_generation,
            start_at=write_instant(request.start_at),
        )
    if isinstance(request, TryStartMate):
        return _write_try(request, job, caller)
    return _write_about_slot(request, job, caller)


def _write_try(request: TryStartMate, job: wire.JobRef, caller: wire.JobRef) -> wire.TryStartMateRequest:
    start_at = write_instant(request.start_at)
    message = wire.TryStartMateRequest(request_id=request.request_id, job=job, caller=caller, start_at=start_at)
    write_hold(message, request.hold_until)
    return message


def _write_about_slot(
    request: ProposeStart | SettleStart, job: wire.JobRef, caller: wire.JobRef
) -> wire.ProposeStartRequest | wire.SettleStartRequest:
    id, generation = request.request_id, request.slot_generation
    if isinstance(request, SettleStart):
        return wire.SettleStartRequest(
            request_id=id, job=job, caller=caller, slot_generation=generation, keep=request.keep
        )
    message = wire.ProposeStartRequest(request_id=id, job=job, caller=caller, slot_generation=generation)
    message.not_before.seconds = request.not_before
    if request.only_before < FOREVER:
        message.only_before.seconds = request.only_before
    return message


def read_request(message: WireRequest, here: Domain) -> Asked:
    """Return a peer's request to this domain; FieldError.

    The peer is the one that the message names; the service has to check whether the caller is that peer. It is
    this domain itself if somebody asks GetMateJobId about a job of ours.
    """
    if isinstance(message, WireGroupRequest):
        return read_group_request(message, here)
    if isinstance(message, wire.GetMateJobIdRequest):
        return _read_get_mate_job_id(message, here)
    job = check_job_of("job", message.job, here)
    peer, caller = check_job("caller", message.caller)
    if isinstance(message, wire.GetMateStatusRequest):
        return Asked(peer, GetMateStatus(job, caller))
    request_id = check_text("request_id", message.request_id, MAX_REQUEST_ID)
    return Asked(peer, _read_order(message, request_id, job, caller))


def _read_order(message: _PairOrder, request_id: str, job: JobId, caller: JobId) -> MutatingRequest:
    if isinstance(message, wire.TryStartMateRequest):
        return TryStartMate(request_id, job, caller, read_hold(message), read_start_at(message))
    if isinstance(message, wire.StartJobRequest):
        return _read_start_job(message, request_id, job, caller)
    if isinstance(message, wire.SettleStartRequest):
        generation = check_generation("slot_generation", message.slot_generation)
        return SettleStart(request_id, job, caller, generation, message.keep)
    generation = check_generation("slot_generation", message.slot_generation) if message.slot_generation else 0
    not_before = check_time("not_before", message.not_before, earliest=1)
    given = message.HasField("only_before")
    only_before = check_time("only_before", message.only_before, earliest=1) if given else FOREVER
    return ProposeStart(request_id, job, caller, not_before, generation, only_before)


def _read_start_job(message: wire.StartJobRequest, request_id: str, job: JobId, caller: JobId) -> StartJob:
    """Return the request: about a hold or, without the generation of one, about a slot."""
    hold, slot = message.hold_generation, message.slot_generation
    if hold and slot:
        raise FieldError("slot_generation", "must be 0 if hold_generation is given")
    if slot:
        check_generation("slot_generation", slot)
    else:
        check_generation("hold_generation", hold)
    return StartJob(request_id, job, caller, hold, read_start_at(message), slot)


def _read_get_mate_job_id(message: wire.GetMateJobIdRequest, here: Domain) -> Asked:
    peer, caller = check_job("job", message.job)
    pair = check_text("pair", message.pair, MAX_PAIR, least=0)
    mate = check_job_of("mate", message.mate, here) if message.HasField("mate") else None
    owner = check_text("owner", message.owner, MAX_OWNER, least=0)
    return Asked(peer, GetMateJobId(caller, pair or None, mate, owner))


def write_clock(received: float, sent: float, *, takes_groups: bool) -> wire.CompareClocksResponse:
    """Return the message with our clock's readings when the question came and now, in seconds since 1970.

    `takes_groups`: whether this domain takes members of groups.
    """
    return wire.CompareClocksResponse(
        received_at=write_instant(received), sent_at=write_instant(sent), takes_groups=takes_groups
    )


def read_clock(message: wire.CompareClocksResponse) -> tuple[float, float]:
    """Return the two readings of a peer's clock, as for `write_clock`; FieldError."""
    if not message.HasField("received_at") or not message.HasField("sent_at"):
        raise FieldError("received_at, sent_at", "must both be given")
    return check_instant("received_at", message.received_at), check_instant("sent_at", message.sent_at)


def write_reply(reply: Reply, domain: Domain, *, of_group: bool = False) -> WireReply:
    """Return the message for a reply; a mate that it names is a job of `domain`. `of_group`: to a call for groups."""
    if of_group:
        return write_group_reply(reply, domain)
    if isinstance(reply, MateJobId):
        mate = wire.JobRef(domain=domain, job_id=reply.job) if reply.job is not None else None
        problem = PROBLEM[reply.problem] if reply.problem is not None else None
        return wire.GetMateJobIdResponse(lookup=FOUND[reply.found], mate=mate, problem=problem)
    if isinstance(reply, MateStatus):
        started_at = Timestamp(seconds=reply.started_at) if reply.started_at is not None else None
        return wire.GetMateStatusResponse(
            status=STATUS[reply.status],
            hold_generation=reply.generation,
            started_at=started_at,
            may_book=reply.may_book,
        )
    if isinstance(reply, MateTried):
        start_at = write_instant(reply.start_at)
        return wire.TryStartMateResponse(started=reply.started, start_at=start_at, mate_ready=reply.mate_ready)
    if isinstance(reply, MateStarted):
        return wire.StartJobResponse(started=reply.started, start_at=write_instant(reply.start_at))
    if isinstance(reply, Settled):
        return wire.SettleStartResponse(current=reply.current)
    assert isinstance(reply, Proposed)
    return wire.ProposeStartResponse(
        at=write_instant(reply.at),
        booked=reply.booked,
        slot_generation=reply.slot_generation,
        refusal=REFUSAL[reply.refusal] if reply.refusal is not None else None,
    )


def read_reply(message: WireReply, peer: Domain) -> Reply:
    """Return a peer's reply; FieldError: the answer breaks the protocol, and the call counts as refused."""
    if isinstance(message, WireGroupReply):
        return read_group_reply(message, peer)
    if isinstance(message, wire.GetMateJobIdResponse):
        return read_found(message, "mate", peer)
    if isinstance(message, wire.GetMateStatusResponse):
        return _read_mate_status(message)
    if isinstance(message, wire.TryStartMateResponse):
        return MateTried(message.started, read_start_at(message), message.mate_ready)
    if isinstance(message, wire.StartJobResponse):
        return MateStarted(message.started, read_start_at(message))
    if isinstance(message, wire.SettleStartResponse):
        return Settled(message.current)
    return _read_proposed(message)


def check_answer(request: Request, reply: Reply) -> None:
    """Check that the instant of a slot is one that answers the request; FieldError, as of `read_reply`."""
    if isinstance(request, ProposeGroupStart) and isinstance(reply, GroupProposed):
        check_group_answer(request, reply)
    if not isinstance(request, ProposeStart) or not isinstance(reply, Proposed) or reply.at is None:
        return
    if reply.at < request.not_before:
        raise FieldError("at", "is before not_before")
    if reply.booked and reply.at >= request.only_before:
        raise FieldError("at", "is booked, but not before only_before")


def _read_proposed(message: wire.ProposeStartResponse) -> Proposed:
    if not message.HasField("at"):
        if message.booked:
            raise FieldError("at", "must be given if booked")
        return Proposed(None, refusal=_REFUSAL_OF.get(message.refusal))  # None: an unknown reason
    if message.refusal:
        raise FieldError("at", "must not be given if refused")
    at = check_time("at", message.at, earliest=1)
    if not message.booked:
        return Proposed(at)
    return Proposed(at, True, check_generation("slot_generation", message.slot_generation))


def _read_mate_status(message: wire.GetMateStatusResponse) -> MateStatus:
    status = _STATUS_OF.get(message.status)
    if status is None:
        raise FieldError("status", "is not known here")
    generation = message.hold_generation
    if status is Status.HOLDING:  # in other states it has no meaning
        check_generation("hold_generation", generation)
    started_at = check_time("started_at", message.started_at) if message.HasField("started_at") else None
    return MateStatus(status, generation, started_at, message.may_book)
