"""Events of a domain."""

from __future__ import annotations

from cosched.client.fields import instant, job_if_given, plain, word, words
from cosched.client.view import View
from cosched.v1 import domain_pb2

EVENT_KINDS = words(domain_pb2.EventKind, "EVENT_KIND_")


class Event(View[domain_pb2.Event]):
    """One event of a domain."""

    sequence = plain(int, "Its number in the domain; later events have larger numbers.")
    at = instant("When it happened.")
    kind = word(
        EVENT_KINDS,
        "submitted, ready, slot, held, yielded, released, started, ended, linked, unlinked, peer, warning, unknown.",
    )
    job = job_if_given("The job that it is about, as DOMAIN:ID.")
    text = plain(str, "What happened, for people.")

    @property
    def detail(self) -> dict[str, str]:
        """Its details, by name."""
        return dict(self._message.detail)
