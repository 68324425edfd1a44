"""The values of views, each declared in a line: what it is, and the field of the message that has it.

    class Nodes(View[cluster_pb2.NodeGroup]):
        count = plain(int, "How many nodes these are.")
        node = if_any(str, "Its name; None: it has none.", "place.node")

The field has the value's own name, or that of the last argument. Values are read from the message each time.
"""
# mypy: disable-error-code="no-any-return"
# For type checkers a field is its value, as in a data class; it is a property.

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from types import GenericAlias
from typing import Any, TypeVar

from cosched.v1.coscheduling_pb2 import JobRef

UNKNOWN = "unknown"  # also stands for a value that only a newer version knows

Value = TypeVar("Value")
Read = Callable[[Any], Any]  # the value of a view


class Field(property):
    """A property that is told how to read its field, once its name is known; `kind`: the type of its value."""

    def __init__(self, kind: Any, doc: str, field: str, read: Callable[[str], Read]) -> None:
        super().__init__(doc=doc)
        self.kind = kind
        self._field, self._read, self._doc = field, read, doc

    def __set_name__(self, owner: type, name: str) -> None:
        super().__init__(self._read(self._field or name), doc=self._doc)


def plain(kind: type[Value], doc: str, field: str = "") -> Value:
    """Return the value of a field as it is."""
    return _field(kind, doc, field, _read)


def if_any(kind: type[Value], doc: str, field: str = "") -> Value | None:
    """Return the same; None if it is empty."""
    return _or_none(kind, doc, field, lambda name: _if_any(_read(name)))


def if_given(kind: type[Value], doc: str, field: str = "") -> Value | None:
    """Return a value, or a view of a part; None if it is absent."""
    return _or_none(kind, doc, field, lambda name: _if_given(name, kind if _is_view(kind) else _as_it_is))


def instant(doc: str, field: str = "") -> datetime | None:
    """Return an instant; None if it is absent."""
    return _or_none(datetime, doc, field, lambda name: _if_given(name, instant_of))


def always(doc: str, field: str = "") -> datetime:
    """Return an instant that is never absent."""
    return _field(datetime, doc, field, lambda name: lambda view: instant_of(getattr(view._message, name)))


def seconds(doc: str, field: str = "") -> timedelta | None:
    """Return a duration that is a number of seconds in the message; None if it is absent."""
    return _or_none(timedelta, doc, field, lambda name: _if_given(name, lambda given: timedelta(seconds=given)))


def duration(doc: str, field: str = "") -> timedelta | None:
    """Return a duration; None if it is absent."""
    return _or_none(timedelta, doc, field, lambda name: _if_given(name, _span_of))


def word(words: Mapping[int, str], doc: str, field: str = "") -> str:
    """Return the word for the value of an enum."""
    return _field(str, doc, field, lambda name: lambda view: words.get(getattr(view._message, name), UNKNOWN))


def state_of_job(words: Mapping[int, str], doc: str) -> str:
    """Return the word for the field `state`; "starting" of a job whose start was only ordered; unknown if not set."""

    def read(name: str) -> Read:
        return lambda view: "starting" if view._message.starting else words.get(getattr(view._message, name), UNKNOWN)

    return _field(str, doc, "state", read)


def word_if_any(words: Mapping[int, str], doc: str, field: str = "") -> str | None:
    """Return the same; None for UNSPECIFIED."""
    return _or_none(str, doc, field, lambda name: lambda view: _word(words, getattr(view._message, name)))


def known_word(words: Mapping[int, str], doc: str, field: str = "") -> str | None:
    """Return the same; None also for a word that only a newer version knows."""
    return _or_none(str, doc, field, lambda name: lambda view: words.get(getattr(view._message, name)))


def job_if_given(doc: str, field: str = "") -> str | None:
    """Return a job as DOMAIN:ID; None if it is absent."""
    return _or_none(str, doc, field, lambda name: _if_given(name, reference))


def part(kind: type[Value], doc: str, field: str = "") -> Value:
    """Return a view of a part."""
    return _field(kind, doc, field, lambda name: lambda view: kind(getattr(view._message, name)))  # type: ignore[call-arg]


def many(kind: type[Value], doc: str, field: str = "") -> tuple[Value, ...]:
    """Return the values of a repeated field, or views of its parts."""
    made = kind if _is_view(kind) else _as_it_is
    kinds = GenericAlias(tuple, (kind, ...))
    return _field(kinds, doc, field, lambda name: lambda view: tuple(map(made, getattr(view._message, name))))


def reference(job: JobRef) -> str:
    """Format a job as DOMAIN:ID."""
    return f"{job.domain}:{job.job_id}"


def words(enum: Any, prefix: str) -> dict[int, str]:
    """Return the words for the values of an enum."""
    return {value: name.removeprefix(prefix).lower() for name, value in enum.items() if value}


def instant_of(stamp: Any) -> datetime:
    """Return the instant of a Timestamp."""
    return datetime.fromtimestamp(stamp.seconds, UTC).replace(microsecond=stamp.nanos // 1000)


def _field(kind: Any, doc: str, field: str, read: Callable[[str], Read]) -> Any:
    return Field(kind, doc, field, read)


def _or_none(kind: Any, doc: str, field: str, read: Callable[[str], Read]) -> Any:
    return Field(kind | None, doc, field, read)


def _read(name: str) -> Read:
    return attrgetter(f"_message.{name}")


def _if_any(read: Read) -> Read:
    return lambda view: read(view) or None


def _if_given(name: str, made: Callable[[Any], Any]) -> Read:
    return lambda view: made(getattr(view._message, name)) if view._message.HasField(name) else None


def _word(words: Mapping[int, str], value: int) -> str | None:
    return words.get(value, UNKNOWN) if value else None


def _span_of(length: Any) -> timedelta:
    return timedelta(seconds=length.seconds, microseconds=length.nanos // 1000)


def _is_view(kind: type) -> bool:
    return not issubclass(kind, str | int | float)


def _as_it_is(value: Value) -> Value:
    return value
