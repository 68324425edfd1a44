"""Limits on each caller's open calls, so that nobody can keep others from being served.

Each caller has a limit. All users together have another one, below what the service can bear: the rest is for other
domains and for operators, so that no number of users can lock them out.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import grpc

from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.sockets.sparing_log import SparingLog

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many calls of one kind may be open."""

    what: str  # for people
    reason: str  # of the error's ErrorInfo
    user: int
    users: int  # of all users together
    operator: int
    peer: int

    def of(self, caller: Caller) -> int:
        """Return how many calls this caller may have open."""
        return self.peer if caller.peer is not None else self.operator if caller.operator else self.user


CALLS = Limits("calls", "TOO_MANY_CALLS", user=64, users=256, operator=128, peer=512)
STREAMS = Limits("streams", "TOO_MANY_WATCHERS", user=32, users=192, operator=64, peer=16)


class Quotas:
    """The open calls of one service, over all its listeners."""

    def __init__(self) -> None:
        self._of_caller: Counter[tuple[str, str]] = Counter()
        self._of_users: Counter[str] = Counter()
        self._log = SparingLog(_LOG)

    def enter(self, limits: Limits, caller: Caller) -> Callable[[], None]:
        """Count one more call of this caller; return the function to call when it has ended. Refusal."""
        who, what = (limits.what, caller.via), limits.what
        is_user = caller.peer is None and not caller.operator
        most = limits.of(caller)
        if self._of_caller[who] >= most:
            raise self._refused(limits, caller, f"{caller.via} has {most} {what} open, the most that it may have")
        if is_user and self._of_users[what] >= limits.users:
            raise self._refused(limits, caller, f"users have {limits.users} {what} open, the most of all together")
        self._of_caller[who] += 1
        self._of_users[what] += is_user
        return partial(self._leave, who, is_user)

    def _leave(self, who: tuple[str, str], is_user: bool) -> None:
        self._of_users[who[0]] -= is_user
        self._of_caller[who] -= 1
        if not self._of_caller[who]:
            del self._of_caller[who]

    def _refused(self, limits: Limits, caller: Caller, problem: str) -> Refusal:
        self._log.warning((limits.what, caller.via), "refused: %s", problem)
        return Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, limits.reason, f"{problem}: try again later")
