"""Operators' changes of the whole domain: drain it before maintenance, and resume it."""

from __future__ import annotations

from collections.abc import Callable

from cosched.service.api.requests import Asking, Requests, not_owner
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.wire.errors import Refusal


class DomainOperations:
    """The operations on one domain. Each is done once for each request id. They raise Refusal."""

    def __init__(self, domain: LiveDomain, requests: Requests) -> None:
        self._domain = domain
        self._requests = requests

    def drain(self, asking: Asking, expected: int, settle: int) -> None:
        """DrainDomain, for about `expected` seconds; holds last at most `settle` seconds."""
        self._change(asking, f"for {expected} s", lambda: self._domain.draining.begin(expected, settle))

    def resume(self, asking: Asking) -> None:
        """ResumeDomain."""
        self._change(asking, "", self._domain.draining.end)

    def _change(self, asking: Asking, detail: str, change: Callable[[], None]) -> None:
        try:
            if not asking.caller.operator:
                raise not_owner(f"only an operator may drain or resume {self._domain.name}, not {asking.user}")
            if self._domain.store.reply(asking.user, asking.request_id) is not None:
                return
            with self._domain.turns.take():
                self._requests.on_record(asking, None, detail)
                change()
        except Refusal as refusal:
            self._requests.refused(asking, refusal)
            raise
