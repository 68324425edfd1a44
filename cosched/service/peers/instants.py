"""Translates the instants of messages between our clocks and a peer's: one table for each way that a message takes.

The messages declare what their instants are (`protocol.Instant`). Inside this domain they are in service time, but
starts are by the wall clock. On the wire all are in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast, get_args, get_type_hints

from cosched.core.effects import Call
from cosched.core.events import Asked
from cosched.core.protocol import Domain, Instant, JobId, Reply, Request
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.agreed_start import AgreedStart


def _instants_of(message: type) -> Mapping[str, Instant]:
    """Return the fields of a message that are instants, and what they are."""
    hints = get_type_hints(message, include_extras=True).items()
    return {field: kind for field, hint in hints for kind in get_args(hint) if isinstance(kind, Instant)}


Translations = Mapping[Instant, Callable[[Any, Any], Any]]  # of what the message is about, and an instant in it
INSTANTS: dict[type, Mapping[str, Instant]] = {message: _instants_of(message) for message in get_args(Request | Reply)}
STARTS = (Instant.START, Instant.START_IF_ALL_CAN, Instant.START_OF_ALL)  # None of them: at once
_Told = TypeVar("_Told", bound=Request | Reply)


class Instants:
    """Those in the messages of one domain."""

    def __init__(self, domain: LiveDomain, agreed: AgreedStart) -> None:
        self._domain = domain
        self._clock = clock = domain.clock
        self._agreed = agreed
        to_wall = lambda _, at: clock.to_wall(at)  # noqa: E731
        accepted = lambda asked, at: agreed.accepted(at, getattr(asked.request, "job", ""))  # noqa: E731
        self._sent: Translations = {
            Instant.OF_CALLER: to_wall,
            Instant.OF_CALLED: lambda call, at: agreed.there(call.peer, clock.to_wall(at)),
            Instant.START: lambda call, _: agreed.proposal(call.peer, call.job),
            Instant.START_IF_ALL_CAN: self._proposed,
            Instant.START_OF_ALL: lambda call, at: agreed.settled_there(call.peer, at),
        }
        self._told: Translations = {
            Instant.OF_CALLER: lambda asked, at: clock.from_wall(agreed.here(asked.peer, at)),
            Instant.OF_CALLED: lambda _, at: clock.from_wall(at),
            Instant.START: accepted,  # it is agreed again if a try takes long
            Instant.START_IF_ALL_CAN: accepted,
            Instant.START_OF_ALL: lambda _, at: agreed.settled(at),
        }
        self._answered: Translations = {Instant.AFTER_QUESTION: to_wall, Instant.PAST: to_wall}

    def _proposed(self, call: Call, _: float | None) -> float | None:
        """Return the start that we propose to a group; None: it is a slot that is proposed."""
        at_once = _not_before(call.request) is None
        return self._agreed.group_proposal(call.peer, self.others(call.job)) if at_once else None

    def others(self, job: JobId) -> tuple[Domain, ...]:
        """Return the domains of a job's mate, or of the other members of its group."""
        known = self._domain.core.jobs.get(job)
        return known.peers if known is not None else ()

    def sent(self, call: Call) -> Request:
        """Our request as the peer is to read it, with the start that we propose."""
        return _translated(call.request, self._sent, call)

    def told(self, asked: Asked) -> Asked:
        """Return a peer's request as this domain is to read it, with a start that we can keep to."""
        return Asked(asked.peer, _translated(asked.request, self._told, asked))

    def answered(self, reply: Reply) -> Reply:
        """Our answer as the peer is to read it."""
        return _translated(reply, self._answered)

    def heard(self, call: Call, sent: Request, reply: Reply) -> Reply:
        """The peer's answer to our request as this domain is to read it; `sent`: as the peer has read the request.

        What counts from our question is right even if we know the peer's clock better by now.
        """
        agreed, clock, peer = self._agreed, self._clock, call.peer
        asked, read = _not_before(call.request), _not_before(sent)
        return _translated(reply, {
            Instant.AFTER_QUESTION: lambda _, at: None if asked is None or read is None else asked + at - read,
            # No instant that has been can be to come, but the offset of the clocks may be unknown.
            Instant.PAST: lambda _, at: min(clock.from_wall(agreed.here(peer, at)), clock.now()),
            Instant.START: lambda _, at: agreed.heard(peer, at),
            Instant.START_IF_ALL_CAN: lambda _, at: (
                agreed.group_heard(peer, at, self.others(call.job)) if asked is None else None
            ),
        })  # fmt: skip


def _translated(message: _Told, by: Translations, about: Any = None) -> _Told:
    """Return the message with other instants; most messages have none."""
    instants = {}
    for field, kind in INSTANTS[type(message)].items():
        at = getattr(message, field)
        if kind in by and (at or kind in STARTS):  # 0 is no instant either
            instants[field] = by[kind](about, at)
    if not instants:
        return message
    translated: _Told = cast(Any, message)._replace(**instants)
    return translated


def _not_before(request: Request) -> int | None:
    """Return from when on the request asks for an instant; None: it does not."""
    return getattr(request, "not_before", None)
