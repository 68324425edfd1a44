"""A stream of events that is resumed where it broke."""

from __future__ import annotations

import grpc

from cosched.client.attempts import FEED_PAUSES, Attempts
from cosched.client.events import Event
from cosched.v1.domain_pb2 import WatchEventsRequest, WatchEventsResponse


class Feed:
    """What is to be asked for next, and how long to wait before."""

    def __init__(self, server: str, request: WatchEventsRequest) -> None:
        self.request = request
        self._server = server
        self._attempts = Attempts(server, FEED_PAUSES)

    def event(self, answer: WatchEventsResponse) -> Event:
        """An event that came: the stream works, and would be resumed after it."""
        self.request.after_sequence = answer.event.sequence
        self._attempts = Attempts(self._server, FEED_PAUSES)
        return Event(answer.event)

    def pause_after(self, error: grpc.RpcError | None) -> float:
        """See Attempts.pause_after."""
        return self._attempts.pause_after(error)
