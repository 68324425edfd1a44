"""Answers to calls of peers that take a while: those about starts, where a resource manager schedules, and news of a
member, which a running job may follow: it asks first.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection

from cosched.core.coscheduling.answers import REFUSED
from cosched.core.effects import Answer
from cosched.core.protocol import (
    Domain,
    GroupProposed,
    JobId,
    MemberTold,
    MutatingRequest,
    ProposeGroupStart,
    Reply,
    SettleGroupStart,
    TellMember,
    Vote,
    call_number,
)

Late = MutatingRequest | ProposeGroupStart | SettleGroupStart
Waiting = tuple[Late, "asyncio.Future[Reply]"]  # the call, and who awaits its answer
SUPERSEDED: dict[type, Reply | None] = {  # what earlier calls of a job are told; None: their own answers come later
    **REFUSED,
    ProposeGroupStart: GroupProposed(Vote.NO),
    SettleGroupStart: None,
}


class LateAnswers:
    """The calls that await an answer; each ends with it, or with its caller's patience."""

    def __init__(self) -> None:
        self._waiting: defaultdict[tuple[Domain, JobId], list[Waiting]] = defaultdict(list)
        self._news: defaultdict[tuple[Domain, TellMember], list[asyncio.Future[MemberTold]]] = defaultdict(list)

    async def of(self, peer: Domain, request: Late) -> Reply:
        """Return the answer to this call, when it has been given."""
        told: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        waiting = request, told
        calls = self._waiting[peer, request.caller]
        calls.append(waiting)
        try:
            return await told
        finally:
            calls.remove(waiting)
            if not calls:
                self._waiting.pop((peer, request.caller), None)

    async def of_news(self, peer: Domain, news: Collection[TellMember]) -> dict[TellMember, MemberTold]:
        """Return the answers to what a peer tells, when they have all been given."""
        loop = asyncio.get_running_loop()
        told: dict[TellMember, asyncio.Future[MemberTold]] = {request: loop.create_future() for request in news}
        for request, future in told.items():
            self._news[peer, request].append(future)
        try:
            return {request: await future for request, future in told.items()}
        finally:
            for request, future in told.items():
                self._news[peer, request].remove(future)
                if not self._news[peer, request]:
                    del self._news[peer, request]

    def tell(self, answer: Answer) -> None:
        """Note that a call is answered; earlier ones of the same job have been superseded by it."""
        if isinstance(answer.request, TellMember) and isinstance(answer.answer, MemberTold):
            for told in self._news.get((answer.peer, answer.request), ()):
                if not told.done():
                    told.set_result(answer.answer)
            return
        assert isinstance(answer.request, Late)
        for call, waits in self._waiting.get((answer.peer, answer.request.caller), ()):
            reply = reply_to(call, answer)
            if reply is not None and not waits.done():
                waits.set_result(reply)


def reply_to(call: Late, answer: Answer) -> Reply | None:
    """Return what a call that waits is told when one of the same job is answered; None: its own answer comes later."""
    answered = answer.request
    assert isinstance(answered, Late)
    if call.request_id == answered.request_id and type(call) is type(answered):
        return answer.answer
    later = call_number(call.request_id) > call_number(answered.request_id)
    return None if later else SUPERSEDED[type(call)]
