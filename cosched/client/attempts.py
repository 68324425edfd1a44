"""How often a call is tried, and the pauses in between."""

from __future__ import annotations

import random
from collections.abc import Sequence

import grpc

from cosched.client.connection import Tls
from cosched.client.errors import ClientError, TlsProblem, Unreachable, client_error
from cosched.client.tls_problem import tls_problem

CALL_PAUSES = (0.1, 0.3, 1.0)  # seconds: a failed call is repeated three times
FEED_PAUSES = (0.1, 0.3, 1.0, 2.0, *[5.0] * 11)  # seconds: about a minute for a restart of the domain


class Attempts:
    """The attempts at one call, which is repeated only if there was no answer."""

    def __init__(self, server: str, pauses: Sequence[float], tls: Tls | None = None) -> None:
        """`tls` is the TLS of the calls."""
        self._server = server
        self._tls = tls
        self._explained = server.startswith("unix:")
        self._pauses = iter(pauses)

    def pause_after(self, error: grpc.RpcError | None) -> float:
        """Return the seconds to wait before the next attempt; raise ClientError if there is none.

        `error` None: an endless stream ended.
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
        """Return a TlsProblem if TLS is the cause, since repeating the call then cannot help. Checked only once."""
        if self._explained or not isinstance(failure, Unreachable) or failure.reason != "UNAVAILABLE":
            return failure
        self._explained = True
        problem = tls_problem(self._server, self._tls)
        return failure if problem is None else TlsProblem("TLS", problem)
