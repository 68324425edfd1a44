"""How often a call is tried, and what is waited in between."""

from __future__ import annotations

import random
from collections.abc import Sequence

import grpc

from cosched.client.connection import Tls
from cosched.client.errors import ClientError, TlsProblem, Unreachable, client_error
from cosched.client.tls_problem import tls_problem

CALL_PAUSES = (0.1, 0.3, 1.0)  # seconds: a failed call is tried three times more
FEED_PAUSES = (0.1, 0.3, 1.0, 2.0, *[5.0] * 11)  # a broken stream for about a minute: a restart of the domain


class Attempts:
    """The attempts of one call; a call is repeated only if it got no answer."""

    def __init__(self, server: str, pauses: Sequence[float], tls: Tls | None = None) -> None:
        """`tls`: with which the calls are made."""
        self._server = server
        self._tls = tls
        self._explained = server.startswith("unix:")
        self._pauses = iter(pauses)

    def pause_after(self, error: grpc.RpcError | None) -> float:
        """Seconds to wait before the next attempt; ClientError if there is to be none.

        `error` None: a stream that has no end ended.
        """
        if error is None:
            failure: ClientError = Unreachable(
                "UNAVAILABLE", f"{self._server} ends the stream of events again and again"
            )
        else:
            failure = self._explain(client_error(error, self._server))
        if isinstance(failure, Unreachable) and not isinstance(failure, TlsProblem):
            for pause in self._pauses:
                return pause * random.uniform(0.5, 1.5)
        raise failure from None

    def _explain(self, failure: ClientError) -> ClientError:
        """What is plainly a matter of TLS, and no repetition changes; looked for once."""
        if self._explained or not isinstance(failure, Unreachable) or failure.reason != "UNAVAILABLE":
            return failure
        self._explained = True
        problem = tls_problem(self._server, self._tls)
        return failure if problem is None else TlsProblem("TLS", problem)
