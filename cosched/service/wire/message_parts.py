"""Parts that several messages of proto/cosched/v1/coscheduling.proto have. Pure; checks what it reads."""

from __future__ import annotations

import math
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.protocol import FOREVER, Domain, EndedBy, Found, MateJobId, MateProblem, Status
from cosched.service.wire.fields import FieldError, check_instant, check_job_of, check_time
from cosched.v1 import coscheduling_pb2 as wire

Fields = dict[str, Any]  # of a message, by name; None: the field is absent

FOUND = {
    Found.MATE: wire.MATE_LOOKUP_FOUND,
    Found.UNSUBMITTED: wire.MATE_LOOKUP_UNSUBMITTED,
    Found.NO_PAIR: wire.MATE_LOOKUP_NO_PAIR,
}  # BUSY is an error: ASKING
STATUS = {status: wire.MateStatus.Value(f"MATE_STATUS_{status.name}") for status in Status}
ENDED_BY = {by: wire.EndedBy.Value(f"ENDED_BY_{by.name}") for by in EndedBy}
PROBLEM = {problem: wire.MateProblem.Value(f"MATE_PROBLEM_{problem.name}") for problem in MateProblem}
_FOUND_OF = {value: found for found, value in FOUND.items()}
_PROBLEM_OF = {value: problem for problem, value in PROBLEM.items()}


def write_instant(instant: float | None) -> Timestamp | None:
    """Return the timestamp of seconds since 1970, cut off to nanoseconds."""
    if instant is None:
        return None
    seconds = math.floor(instant)
    return Timestamp(seconds=seconds, nanos=int((instant - seconds) * 1e9))


def read_start_at(message: Any) -> float | None:
    """Return the field `start_at` of a message; FieldError."""
    return check_instant("start_at", message.start_at) if message.HasField("start_at") else None


def write_hold(until: int) -> Fields:
    """Return the fields that say until when the caller holds; 0: it does not."""
    if until >= FOREVER:
        return {"hold_forever": True}
    return {"hold_until": Timestamp(seconds=until)} if until else {}


def read_hold(message: Any) -> int:
    """Return until when the caller holds; 0: it does not. FieldError."""
    hold = message.WhichOneof("hold")
    if hold is None:
        return 0
    if hold == "hold_until":
        return check_time("hold_until", message.hold_until, earliest=1)
    if not message.hold_forever:
        raise FieldError("hold_forever", "must be true, or absent")
    return FOREVER


def write_found(reply: MateJobId, field: str, domain: Domain) -> Fields:
    """Return the fields that say what is known of the mate, or member, which is a job of `domain`."""
    mate = wire.JobRef(domain=domain, job_id=reply.job) if reply.job is not None else None
    problem = PROBLEM[reply.problem] if reply.problem is not None else None
    return {"lookup": FOUND[reply.found], field: mate, "problem": problem}


def read_found(message: Any, field: str, peer: Domain) -> MateJobId:
    """Return what a peer knows of the mate, or member, in this field; FieldError."""
    found = _FOUND_OF.get(message.lookup)
    if found is None:
        raise FieldError("lookup", "is not known here")
    if message.HasField(field) != (found is Found.MATE):
        raise FieldError(field, "must be given if, and only if, lookup is FOUND")
    job = check_job_of(field, getattr(message, field), peer) if found is Found.MATE else None
    return MateJobId(found, job, _PROBLEM_OF.get(message.problem))  # None: an unknown problem
