"""Operators' changes of the whole domain: drain it before maintenance, and resume it."""

from __future__ import annotations

from collections.abc import Callable

from cosched.service.api.requests import Requests, UserRequest, not_owner
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.wire.errors import Refusal


class DomainOperations:
    """The operations on one domain. Each is done once for each request id. They raise Refusal."""

    def __init__(self, domain: LiveDomain, requests: Requests) -> None:
        self._domain = domain
        self._requests = requests

    def drain(self, request: UserRequest, expected: int, settle: int) -> None:
        """DrainDomain, for about `expected` seconds; holds last at most `settle` seconds."""
        self._change(request, f"for {expected} s", lambda: self._domain.draining.begin(expected, settle))

    def resume(self, request: UserRequest) -> None:
        """ResumeDomain."""
        self._change(request, "", self._domain.draining.end)

    def _change(self, request: UserRequest, detail: str, change: Callable[[], None]) -> None:
        try:
            if not request.caller.operator:
                raise not_owner(f"only an operator may drain or resume {self._domain.name}, not {request.user}")
            if self._domain.store.reply(request.user, request.request_id) is not None:
                return
            with self._domain.turns.take():
                self._requests.on_record(request, None, detail)
                change()
        except Refusal as refusal:
            self._requests.refused(request, refusal)
            raise
