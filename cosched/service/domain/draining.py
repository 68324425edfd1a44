"""A domain that drains before its maintenance: what is on record of that, and what it waits for."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from google.protobuf.duration_pb2 import Duration

from cosched.service.wire.fields import FieldError

DRAIN = "drain"  # the key of what is on record
EXPECTED = 3600  # seconds that a drained domain is expected to be away, unless it is said
SETTLE = 30  # seconds that what holds may go on, unless it is said
MAX_SETTLE = 3600


@dataclass(frozen=True, slots=True)
class Drain:
    """That this domain drains; instants of service time."""

    since: int
    until: int  # when it expects to be resumed, as its peers are told
    settled_by: int  # when jobs that held before hold no longer


def write_drain(drain: Drain | None) -> str:
    """For the record."""
    return json.dumps(asdict(drain) if drain is not None else None)


def read_drain(kept: str | None) -> Drain | None:
    """From the record."""
    values = json.loads(kept or "null")
    return Drain(**values) if values is not None else None


def check_seconds(field: str, duration: Duration | None, most: int, default: int) -> int:
    """Whole seconds from 0 to `most`, `default` if there is no duration; FieldError."""
    if duration is None:
        return default
    if not 0 <= duration.seconds <= most or duration.nanos:
        raise FieldError(field, f"is not a number of whole seconds from 0 to {most}")
    return int(duration.seconds)
