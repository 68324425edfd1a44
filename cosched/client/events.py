"""Events of a domain."""

from __future__ import annotations

from datetime import datetime

from cosched.client.view import UNKNOWN, View, reference, when, words
from cosched.v1 import domain_pb2

EVENT_KINDS = words(domain_pb2.EventKind, "EVENT_KIND_")


class Event(View[domain_pb2.Event]):
    """One event of a domain."""

    __slots__ = ()

    @property
    def sequence(self) -> int:
        """Its number in the domain; later events have larger numbers."""
        return self._message.sequence

    @property
    def at(self) -> datetime | None:
        """When it happened."""
        return when(self._message, "at")

    @property
    def kind(self) -> str:
        """submitted, ready, slot, held, yielded, released, started, ended, linked, unlinked, peer, warning, unknown."""
        return EVENT_KINDS.get(self._message.kind, UNKNOWN)

    @property
    def job(self) -> str | None:
        """The job that it is about, as DOMAIN:ID."""
        return reference(self._message.job) if self._message.HasField("job") else None

    @property
    def text(self) -> str:
        """What happened, for people."""
        return self._message.text

    @property
    def detail(self) -> dict[str, str]:
        """Its details, by name."""
        return dict(self._message.detail)
