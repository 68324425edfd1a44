"""How often a call is tried, and the pauses in between.

A domain that is away is tried for a moment. One that is there, but busy with too many calls or connections, is tried
for ten seconds.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator, Sequence

import grpc

from cosched.client.connection import Tls
from cosched.client.errors import ClientError, TlsProblem, Unreachable, client_error
from cosched.client.events import Event
from cosched.client.tls_problem import TIMEOUT, tls_problem
from cosched.v1.domain_pb2 import WatchEventsRequest, WatchEventsResponse

CALL_PAUSES = (0.1, 0.3, 1.0)  # seconds: a failed call is repeated three times
FEED_PAUSES = (0.1, 0.3, 1.0, 2.0, *[5.0] * 11)  # seconds: about a minute for a restart of the domain
BUSY_PAUSES = (0.1, 0.3, 1.0, 2.0, 3.0, 3.0)  # seconds: a call of a domain that is there, but busy
_BUSY = {"TOO_MANY_CALLS", "TOO_MANY_WATCHERS", "TOO_MANY_CONNECTIONS"}


class Attempts:
    """The attempts at one call, which is repeated only if there was no answer, or nothing was done."""

    def __init__(self, server: str, pauses: Sequence[float], tls: Tls | None = None) -> None:
        self._server, self._tls = server, tls
        self._explained = server.startswith("unix:")
        self._pauses = iter(pauses)
        self._busy_pauses = iter(BUSY_PAUSES)
        self._hangs_up = False

    def pause_after(self, error: grpc.RpcError | None) -> float:
        """Return the seconds to wait before the next attempt; raise ClientError if there is none.

        `error` None: an endless stream ended.
        """
        if error is None:
            problem = f"{self._server} ends the stream of events again and again"
            failure: ClientError = Unreachable("UNAVAILABLE", problem)
        else:
            failure = self._explain(client_error(error, self._server))
        for pause in self._pauses_after(failure):
            return pause * random.uniform(0.5, 1.5)
        if self._hangs_up:
            problem = "it hangs up, with too many connections, perhaps of yours; try again later"
            failure = Unreachable(failure.reason, f"{self._server} cannot be reached: {problem}")
        raise failure from None

    def _pauses_after(self, failure: ClientError) -> Iterator[float]:
        if failure.reason in _BUSY:
            yield from self._busy_pauses
        elif isinstance(failure, Unreachable) and not isinstance(failure, TlsProblem):
            yield from self._pauses
            self._hangs_up = failure.reason == "UNAVAILABLE" and _somebody_listens(self._server)
            if self._hangs_up:
                yield from self._busy_pauses

    def _explain(self, failure: ClientError) -> ClientError:
        """Return a TlsProblem if TLS is the cause, since repeating the call then cannot help. Checked only once."""
        if self._explained or not isinstance(failure, Unreachable) or failure.reason != "UNAVAILABLE":
            return failure
        self._explained = True
        problem = tls_problem(self._server, self._tls)
        return failure if problem is None else TlsProblem("TLS", problem)


def _somebody_listens(server: str) -> bool:
    """Return whether connections to this address are accepted, or wait until they are."""
    try:
        if server.startswith("unix:"):
            with socket.socket(socket.AF_UNIX) as knocking:
                knocking.setblocking(False)
                knocking.connect(server.removeprefix("unix:"))
        else:
            host, _, port = server.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), TIMEOUT).close()
    except BlockingIOError:  # the queue of a Unix socket is full
        return True
    except OSError:
        return False
    return True


class Feed:
    """The next request of a stream of events, and the `attempts` at it."""

    def __init__(self, server: str, request: WatchEventsRequest, tls: Tls | None = None) -> None:
        self.request = request
        self._server, self._tls = server, tls
        self.attempts = Attempts(server, FEED_PAUSES, tls)

    def event(self, answer: WatchEventsResponse) -> Event:
        """Take an event from an answer. The stream works again, and will resume after this event."""
        self.request.after_sequence = answer.event.sequence
        self.attempts = Attempts(self._server, FEED_PAUSES, self._tls)
        return Event(answer.event)
