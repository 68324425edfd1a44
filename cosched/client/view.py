"""The base of a domain's answers, which give the values of protocol messages as datetimes and plain words.

A view is a thin wrapper round the message: values are converted only when they are read, so ten thousand jobs cost
little. Instants are aware datetimes in UTC; states are lower-case words.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from cosched.v1.coscheduling_pb2 import JobRef

UNKNOWN = "unknown"  # also stands for a value that only a newer version knows

Covered = TypeVar("Covered", bound=Message)


def words(enum: Any, prefix: str) -> dict[int, str]:
    """Return the words for the values of an enum."""
    return {value: name.removeprefix(prefix).lower() for name, value in enum.items() if value}


def word(words: dict[int, str], value: int) -> str | None:
    """Return the word for a value; None for UNSPECIFIED."""
    return words.get(value, UNKNOWN) if value else None


def when(message: Any, field: str) -> datetime | None:
    """Return an instant; None if the field is absent."""
    if not message.HasField(field):
        return None
    return instant(getattr(message, field))


def instant(stamp: Any) -> datetime:
    """Return the instant of a Timestamp."""
    return datetime.fromtimestamp(stamp.seconds, UTC).replace(microsecond=stamp.nanos // 1000)


def span(message: Any, field: str) -> timedelta | None:
    """Return a duration; None if the field is absent."""
    if not message.HasField(field):
        return None
    length = getattr(message, field)
    return timedelta(seconds=length.seconds, microseconds=length.nanos // 1000)


def reference(job: JobRef) -> str:
    """Format a job as DOMAIN:ID."""
    return f"{job.domain}:{job.job_id}"


class View(Generic[Covered]):
    """The base of all views: comparable, hashable, and with all values in its repr."""

    __slots__ = ("_message",)

    def __init__(self, message: Covered) -> None:
        self._message = message

    def as_dict(self) -> dict[str, Any]:
        """Return all values by name, parts as nested tables; suits a row of a data frame, for example."""
        return {name: _plain(value) for name, value in self._values()}

    def _values(self) -> Iterator[tuple[str, Any]]:
        for name, attribute in vars(type(self)).items():
            if isinstance(attribute, property):
                yield name, getattr(self, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and bool(self._message == other._message)

    def __hash__(self) -> int:
        return hash(self._message.SerializeToString(deterministic=True))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._values() if value not in (None, "", (), {}))
        return f"{type(self).__name__}({values})"


def _plain(value: Any) -> Any:
    if isinstance(value, View):
        return value.as_dict()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
