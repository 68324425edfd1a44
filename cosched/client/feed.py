"""A stream of events that resumes after a break."""

from __future__ import annotations

import grpc

from cosched.client.attempts import FEED_PAUSES, Attempts
from cosched.client.connection import Tls
from cosched.client.events import Event
from cosched.v1.domain_pb2 import WatchEventsRequest, WatchEventsResponse


class Feed:
    """The next request of a stream of events, and the pause before it."""

    def __init__(self, server: str, request: WatchEventsRequest, tls: Tls | None = None) -> None:
        """`tls` is the TLS of the calls."""
        self.request = request
        self._server = server
        self._tls = tls
        self._attempts = Attempts(server, FEED_PAUSES, tls)

    def event(self, answer: WatchEventsResponse) -> Event:
        """Take an event from an answer. The stream works again, and will resume after this event."""
        self.request.after_sequence = answer.event.sequence
        self._attempts = Attempts(self._server, FEED_PAUSES, self._tls)
        return Event(answer.event)

    def pause_after(self, error: grpc.RpcError | None) -> float:
        """See Attempts.pause_after."""
        return self._attempts.pause_after(error)
