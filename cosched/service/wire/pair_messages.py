"""The calls of Algorithm 1, and those for slots of pairs, as protobuf messages. Pure; checks what it reads.

proto/cosched/v1/coscheduling.proto explains the fields.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core import protocol as core
from cosched.core.protocol import FOREVER, Domain
from cosched.service.wire.call_on_wire import CallOnWire
from cosched.service.wire.fields import (
    MAX_OWNER,
    MAX_PAIR,
    FieldError,
    check_generation,
    check_job_of,
    check_text,
    check_time,
)
from cosched.service.wire.message_parts import (
    STATUS,
    Fields,
    read_found,
    read_hold,
    read_start_at,
    write_found,
    write_hold,
    write_instant,
)
from cosched.v1 import coscheduling_pb2 as wire

REFUSAL = {refusal: wire.SlotRefusal.Value(f"SLOT_REFUSAL_{refusal.name}") for refusal in core.Refusal}
_STATUS_OF = {value: status for status, value in STATUS.items()}
_REFUSAL_OF = {value: refusal for refusal, value in REFUSAL.items()}


def _write_get_mate_job_id(request: core.GetMateJobId, peer: Domain) -> Fields:
    mate = wire.JobRef(domain=peer, job_id=request.mate) if request.mate is not None else None
    return {"pair": request.pair, "mate": mate, "owner": request.owner}


def _read_get_mate_job_id(message: wire.GetMateJobIdRequest, here: Domain, _: Domain) -> list[str | None]:
    pair = check_text("pair", message.pair, MAX_PAIR, least=0)
    mate = check_job_of("mate", message.mate, here) if message.HasField("mate") else None
    return [pair or None, mate, check_text("owner", message.owner, MAX_OWNER, least=0)]


def _write_mate_status(reply: core.MateStatus, _: Domain) -> Fields:
    started_at = Timestamp(seconds=reply.started_at) if reply.started_at is not None else None
    generation, status = reply.generation, STATUS[reply.status]
    return {"status": status, "hold_generation": generation, "started_at": started_at, "may_book": reply.may_book}


def _read_mate_status(message: wire.GetMateStatusResponse, _: Domain) -> core.MateStatus:
    status = _STATUS_OF.get(message.status)
    if status is None:
        raise FieldError("status", "is not known here")
    generation = message.hold_generation
    if status is core.Status.HOLDING:  # in other states it has no meaning
        check_generation("hold_generation", generation)
    started_at = check_time("started_at", message.started_at) if message.HasField("started_at") else None
    return core.MateStatus(status, generation, started_at, message.may_book)


def _write_start(reply: core.StartReply) -> Fields:
    return {"started": reply.started, "start_at": write_instant(reply.start_at)}


def _write_start_job(request: core.StartJob, _: Domain) -> Fields:
    generations = {"hold_generation": request.generation, "slot_generation": request.slot_generation}
    return {**generations, "start_at": write_instant(request.start_at)}


def _read_start_job(message: wire.StartJobRequest, *_: Domain) -> list[Any]:
    """Return the fields: about a hold or, without the generation of one, about a slot."""
    hold, slot = message.hold_generation, message.slot_generation
    if hold and slot:
        raise FieldError("slot_generation", "must be 0 if hold_generation is given")
    if slot:
        check_generation("slot_generation", slot)
    else:
        check_generation("hold_generation", hold)
    return [hold, read_start_at(message), slot]


def _write_propose_start(request: core.ProposeStart, _: Domain) -> Fields:
    only_before = request.only_before if request.only_before < FOREVER else None
    bounds = {"not_before": write_instant(request.not_before), "only_before": write_instant(only_before)}
    return {"slot_generation": request.slot_generation, **bounds}


def _read_propose_start(message: wire.ProposeStartRequest, *_: Domain) -> list[int]:
    generation = check_generation("slot_generation", message.slot_generation) if message.slot_generation else 0
    not_before = check_time("not_before", message.not_before, earliest=1)
    given = message.HasField("only_before")
    only_before = check_time("only_before", message.only_before, earliest=1) if given else FOREVER
    return [not_before, generation, only_before]


def _write_proposed(reply: core.Proposed, _: Domain) -> Fields:
    refusal = REFUSAL[reply.refusal] if reply.refusal is not None else None
    booked = {"booked": reply.booked, "slot_generation": reply.slot_generation}
    return {"at": write_instant(reply.at), **booked, "refusal": refusal}


def _read_proposed(message: wire.ProposeStartResponse, _: Domain) -> core.Proposed:
    if not message.HasField("at"):
        if message.booked:
            raise FieldError("at", "must be given if booked")
        return core.Proposed(None, refusal=_REFUSAL_OF.get(message.refusal))  # None: an unknown reason
    if message.refusal:
        raise FieldError("at", "must not be given if refused")
    at = check_time("at", message.at, earliest=1)
    if not message.booked:
        return core.Proposed(at)
    return core.Proposed(at, True, check_generation("slot_generation", message.slot_generation))


def _check_proposed(request: core.ProposeStart, reply: core.Proposed) -> None:
    """Check that the instant of a slot is one that answers the request."""
    if reply.at is None:
        return
    if reply.at < request.not_before:
        raise FieldError("at", "is before not_before")
    if reply.booked and reply.at >= request.only_before:
        raise FieldError("at", "is booked, but not before only_before")


GET_MATE_JOB_ID = CallOnWire(
    core.GetMateJobId, wire.GetMateJobIdRequest, wire.GetMateJobIdResponse,
    _write_get_mate_job_id, _read_get_mate_job_id,
    lambda reply, domain: write_found(reply, "mate", domain), lambda message, peer: read_found(message, "mate", peer),
)  # fmt: skip
GET_MATE_STATUS = CallOnWire(
    core.GetMateStatus, wire.GetMateStatusRequest, wire.GetMateStatusResponse,
    lambda *_: {}, lambda *_: (),
    _write_mate_status, _read_mate_status,
)  # fmt: skip
TRY_START_MATE = CallOnWire(
    core.TryStartMate, wire.TryStartMateRequest, wire.TryStartMateResponse,
    lambda request, _: {"start_at": write_instant(request.start_at), **write_hold(request.hold_until)},
    lambda message, *_: (read_hold(message), read_start_at(message)),
    lambda reply, _: {**_write_start(reply), "mate_ready": reply.mate_ready},
    lambda message, _: core.MateTried(message.started, read_start_at(message), message.mate_ready),
)  # fmt: skip
START_JOB = CallOnWire(
    core.StartJob, wire.StartJobRequest, wire.StartJobResponse,
    _write_start_job, _read_start_job,
    lambda reply, _: _write_start(reply), lambda message, _: core.MateStarted(message.started, read_start_at(message)),
)  # fmt: skip
PROPOSE_START = CallOnWire(
    core.ProposeStart, wire.ProposeStartRequest, wire.ProposeStartResponse,
    _write_propose_start, _read_propose_start,
    _write_proposed, _read_proposed, _check_proposed,
)  # fmt: skip
SETTLE_START = CallOnWire(
    core.SettleStart, wire.SettleStartRequest, wire.SettleStartResponse,
    lambda request, _: {"slot_generation": request.slot_generation, "keep": request.keep},
    lambda message, *_: (check_generation("slot_generation", message.slot_generation), message.keep),
    lambda reply, _: {"current": reply.current}, lambda message, _: core.Settled(message.current),
)  # fmt: skip
