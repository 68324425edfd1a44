"""The table by which the core's messages between domains become protobuf messages, and back; and clocks' readings."""

from __future__ import annotations

from typing import Any

from cosched.service.wire.call_on_wire import CallOnWire
from cosched.service.wire.fields import FieldError, check_instant
from cosched.service.wire.group_messages import GET_MEMBER, GET_PROPOSAL, PROPOSE_GROUP_START, SETTLE_GROUP_START
from cosched.service.wire.message_parts import write_instant
from cosched.service.wire.pair_messages import GET_MATE_JOB_ID, GET_MATE_STATUS, START_JOB, TRY_START_MATE
from cosched.v1 import coscheduling_pb2 as wire

_OF_PAIRS = (GET_MATE_JOB_ID, GET_MATE_STATUS, TRY_START_MATE, START_JOB)
_OF_GROUPS = (GET_MEMBER, PROPOSE_GROUP_START, SETTLE_GROUP_START, GET_PROPOSAL)
CALLS: tuple[CallOnWire[Any, Any, Any, Any], ...] = (*_OF_PAIRS, *_OF_GROUPS)
ON_WIRE = {call.request: call for call in CALLS}


def write_clock(received: float, sent: float, *, takes_groups: bool, waits: bool = False) -> wire.CompareClocksResponse:
    """Return the message with our clock's readings when the question came and now, in seconds since 1970."""
    came, left = write_instant(received), write_instant(sent)
    return wire.CompareClocksResponse(received_at=came, sent_at=left, takes_groups=takes_groups, waits_for_starts=waits)


def read_clock(message: wire.CompareClocksResponse) -> tuple[float, float]:
    """Return the two readings of a peer's clock, as for `write_clock`; FieldError."""
    if not message.HasField("received_at") or not message.HasField("sent_at"):
        raise FieldError("received_at, sent_at", "must both be given")
    return check_instant("received_at", message.received_at), check_instant("sent_at", message.sent_at)
