"""What a job does when others end, or are queued again, in messages of its owner. Pure; checks what it reads."""

from __future__ import annotations

from cosched.core.protocol import MAX_MEMBERS, NO_TERMS, Terms
from cosched.core.settings import OnMemberRequeued
from cosched.service.wire.fields import FieldError, check_domain
from cosched.v1 import job_pb2

IF_REQUEUED = {choice: job_pb2.IfRequeued.Value(f"IF_REQUEUED_{choice.name}") for choice in OnMemberRequeued}
_CHOICE = {value: choice for choice, value in IF_REQUEUED.items()}
MAX_TOGETHER = 366 * 86_400


def read_terms(message: job_pb2.Terms) -> Terms:
    """Return the terms in a message; FieldError."""
    if len(message.ends_with) >= MAX_MEMBERS:
        raise FieldError("terms.ends_with", f"names {MAX_MEMBERS - 1} domains at most, not {len(message.ends_with)}")
    ends_with = tuple(sorted(check_domain("terms.ends_with", domain) for domain in message.ends_with))
    if len(set(ends_with)) < len(ends_with):
        raise FieldError("terms.ends_with", "names a domain twice")
    if message.if_requeued and message.if_requeued not in _CHOICE:
        raise FieldError("terms.if_requeued", "is not known here")
    together_for = None
    if message.HasField("together_for"):
        together_for = int(message.together_for.seconds)
        if message.together_for.nanos or not 1 <= together_for <= MAX_TOGETHER:
            raise FieldError("terms.together_for", f"is not a number of whole seconds from 1 to {MAX_TOGETHER}")
    return Terms(ends_with, message.fail_together, _CHOICE.get(message.if_requeued), together_for)


def write_terms(message: job_pb2.Terms, terms: Terms) -> None:
    """Write the terms into a message; nothing, if there are none."""
    if terms == NO_TERMS:
        return
    message.ends_with.extend(terms.ends_with)
    message.fail_together = terms.fail_together
    if terms.if_requeued is not None:
        message.if_requeued = IF_REQUEUED[terms.if_requeued]
    if terms.together_for is not None:
        message.together_for.seconds = terms.together_for
