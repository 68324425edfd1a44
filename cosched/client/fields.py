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
Made = Callable[[Any], Any]  # makes the value of what the message has


class Field(property):
    """A property that is told how to read its field, once its name is known; `kind`: the type of its value.

    `made` None: the value is what the message has. `if_given`: it is None if the field is absent.
    """

    def __init__(self, kind: Any, doc: str, field: str, made: Made | None = None, *, if_given: bool = False) -> None:
        super().__init__(doc=doc)
        self.kind = kind
        self._field, self._made, self._if_given, self._doc = field, made, if_given, doc

    def __set_name__(self, owner: type, name: str) -> None:
        super().__init__(_reader(self._field or name, self._made, self._if_given), doc=self._doc)


_field: Callable[..., Any] = Field


def plain(kind: type[Value], doc: str, field: str = "") -> Value:
    """Return the value of a field as it is."""
    return _field(kind, doc, field)


def if_any(kind: type[Value], doc: str, field: str = "") -> Value | None:
    """Return the same; None if it is empty."""
    return _field(kind | None, doc, field, lambda value: value or None)


def if_given(kind: type[Value], doc: str, field: str = "") -> Value | None:
    """Return a value, or a view of a part; None if it is absent."""
    return _field(kind | None, doc, field, kind, if_given=True)


def instant(doc: str, field: str = "") -> datetime | None:
    """Return an instant; None if it is absent."""
    return _field(datetime | None, doc, field, instant_of, if_given=True)


def always(doc: str, field: str = "") -> datetime:
    """Return an instant that is never absent."""
    return _field(datetime, doc, field, instant_of)


def seconds(doc: str, field: str = "") -> timedelta | None:
    """Return a duration that is a number of seconds in the message; None if it is absent."""
    return _field(timedelta | None, doc, field, lambda given: timedelta(seconds=given), if_given=True)


def duration(doc: str, field: str = "") -> timedelta | None:
    """Return a duration; None if it is absent."""
    return _field(timedelta | None, doc, field, _span_of, if_given=True)


def word(words: Mapping[int, str], doc: str, field: str = "") -> str:
    """Return the word for the value of an enum."""
    return _field(str, doc, field, lambda value: words.get(value, UNKNOWN))


def word_if_any(words: Mapping[int, str], doc: str, field: str = "") -> str | None:
    """Return the same; None for UNSPECIFIED."""
    return _field(str | None, doc, field, lambda value: words.get(value, UNKNOWN) if value else None)


def known_word(words: Mapping[int, str], doc: str, field: str = "") -> str | None:
    """Return the same; None also for a word that only a newer version knows."""
    return _field(str | None, doc, field, words.get)


def job_if_given(doc: str, field: str = "") -> str | None:
    """Return a job as DOMAIN:ID; None if it is absent."""
    return _field(str | None, doc, field, reference, if_given=True)


def part(kind: type[Value], doc: str, field: str = "") -> Value:
    """Return a view of a part."""
    return _field(kind, doc, field, kind)


def many(kind: type[Value], doc: str, field: str = "") -> tuple[Value, ...]:
    """Return the values of a repeated field, or views of its parts."""
    return _field(GenericAlias(tuple, (kind, ...)), doc, field, lambda values: tuple(map(kind, values)))


def reference(job: JobRef) -> str:
    """Format a job as DOMAIN:ID."""
    return f"{job.domain}:{job.job_id}"


def words(enum: Any, prefix: str) -> dict[int, str]:
    """Return the words for the values of an enum."""
    return {value: name.removeprefix(prefix).lower() for name, value in enum.items() if value}


def instant_of(stamp: Any) -> datetime:
    """Return the instant of a Timestamp."""
    return datetime.fromtimestamp(stamp.seconds, UTC).replace(microsecond=stamp.nanos // 1000)


def _reader(name: str, made: Made | None, if_given: bool) -> Made:
    read = attrgetter(f"_message.{name}")
    if made is None:
        return read
    if if_given:
        return lambda view: made(read(view)) if view._message.HasField(name) else None
    return lambda view: made(read(view))


def _span_of(length: Any) -> timedelta:
    return timedelta(seconds=length.seconds, microseconds=length.nanos // 1000)
