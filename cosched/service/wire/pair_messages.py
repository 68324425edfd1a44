"""The calls of Algorithm 1 as protobuf messages. Pure; checks what it reads.

proto/cosched/v1/coscheduling.proto explains the fields.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core import protocol as core
from cosched.core.protocol import Domain
from cosched.service.wire import fields
from cosched.service.wire import message_parts as parts
from cosched.service.wire.call_on_wire import CallOnWire
from cosched.service.wire.fields import FieldError, check_generation, check_job_of, check_text, check_time
from cosched.v1 import coscheduling_pb2 as wire

_ENDED_BY_OF = {value: by for by, value in parts.ENDED_BY.items()}
_STATUS_OF = {value: status for status, value in parts.STATUS.items()}


def _write_get_mate_job_id(request: core.GetMateJobId, peer: Domain) -> parts.Fields:
    mate = wire.JobRef(domain=peer, job_id=request.mate) if request.mate is not None else None
    bond = {"ends_with": request.ends_with, "fail_together": request.fail_together}
    return {"pair": request.pair, "mate": mate, "owner": request.owner, **bond}


def _read_get_mate_job_id(message: wire.GetMateJobIdRequest, here: Domain, _: Domain) -> list[Any]:
    pair = check_text("pair", message.pair, fields.MAX_PAIR, least=0)
    mate = check_job_of("mate", message.mate, here) if message.HasField("mate") else None
    owner, ends_with = check_text("owner", message.owner, fields.MAX_OWNER, least=0), tuple(message.ends_with)
    if ends_with not in ((), (here,)):
        raise FieldError("ends_with", f"may name only {here}")
    return [pair or None, mate, owner, ends_with, message.fail_together]


def _write_mate_status(reply: core.MateStatus, _: Domain) -> parts.Fields:
    started_at = Timestamp(seconds=reply.started_at) if reply.started_at is not None else None
    generation, status = reply.generation, parts.STATUS[reply.status]
    told: parts.Fields = {"status": status, "hold_generation": generation, "started_at": started_at, "runs": reply.runs}
    if reply.ended_at is not None:
        told |= {"ended_at": Timestamp(seconds=reply.ended_at), "ended_by": parts.ENDED_BY[reply.ended_by]}
    return told | {"may_book": reply.may_book}


def _read_mate_status(message: wire.GetMateStatusResponse, _: Domain) -> core.MateStatus:
    status = _STATUS_OF.get(message.status)
    if status is None:
        raise FieldError("status", "is not known here")
    generation = message.hold_generation
    if status is core.Status.HOLDING:  # in other states it has no meaning
        check_generation("hold_generation", generation)
    started_at = check_time("started_at", message.started_at) if message.HasField("started_at") else None
    ended_at = check_time("ended_at", message.ended_at) if message.HasField("ended_at") else None
    by = _ENDED_BY_OF.get(message.ended_by, core.EndedBy.ITSELF)
    return core.MateStatus(status, generation, started_at, message.may_book, _check_runs(message.runs), ended_at, by)


def _check_runs(runs: int) -> int:
    if runs < 0:
        raise FieldError("runs", "is less than 0")
    return runs


def _read_runs(message: wire.TryStartMateRequest | wire.StartJobRequest) -> int | None:
    """Return how many runs of the called job the caller knows; None: it does not say."""
    return _check_runs(message.runs) if message.HasField("runs") else None


GET_MATE_JOB_ID = CallOnWire(
    core.GetMateJobId, wire.GetMateJobIdRequest, wire.GetMateJobIdResponse,
    _write_get_mate_job_id, _read_get_mate_job_id,
    lambda reply, domain: parts.write_found(reply, "mate", domain),
    lambda message, peer: parts.read_found(message, "mate", peer),
)  # fmt: skip
GET_MATE_STATUS = CallOnWire(
    core.GetMateStatus, wire.GetMateStatusRequest, wire.GetMateStatusResponse,
    lambda *_: {}, lambda *_: (),
    _write_mate_status, _read_mate_status,
)  # fmt: skip
TRY_START_MATE = CallOnWire(
    core.TryStartMate, wire.TryStartMateRequest, wire.TryStartMateResponse,
    lambda request, _: {
        "start_at": parts.write_instant(request.start_at), "runs": request.runs, **parts.write_hold(request.hold_until),
    },
    lambda message, *_: (parts.read_hold(message), parts.read_start_at(message), _read_runs(message)),
    lambda reply, _: {
        "started": reply.started, "start_at": parts.write_instant(reply.start_at), "may_book": reply.may_book,
    },
    lambda message, _: core.MateTried(message.started, parts.read_start_at(message), message.may_book),
)  # fmt: skip
START_JOB = CallOnWire(
    core.StartJob, wire.StartJobRequest, wire.StartJobResponse,
    lambda request, _: {
        "hold_generation": request.generation, "start_at": parts.write_instant(request.start_at), "runs": request.runs,
    },
    lambda message, *_: (
        check_generation("hold_generation", message.hold_generation), parts.read_start_at(message), _read_runs(message),
    ),
    lambda reply, _: {"started": reply.started, "start_at": parts.write_instant(reply.start_at)},
    lambda message, _: core.MateStarted(message.started, parts.read_start_at(message)),
)  # fmt: skip
