"""CoschedulingService, the API for other domains: checks the caller, then lets the domain answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast, get_args

import grpc
from google.protobuf.message import Message

from cosched.core.coscheduling.owners import NOBODY
from cosched.core.events import Asked
from cosched.core.protocol import (
    Domain,
    Found,
    GetMateJobId,
    GetMateStatus,
    GetMember,
    GroupOrder,
    JobId,
    Lookup,
    MateJobId,
    MemberTold,
    MutatingRequest,
    Reply,
    named_id,
)
from cosched.service.api.answering import Context, answered, as_refusal
from cosched.service.domain.draining import check_seconds
from cosched.service.domain.late_answers import Late
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.peers.gaps import Gaps
from cosched.service.peers.instants import Instants
from cosched.service.peers.outcomes import ASKING
from cosched.service.store import AuditRecord
from cosched.service.wire.call_on_wire import CallOnWire
from cosched.service.wire.callers import Caller, Identify
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import MAX_TIME, PROBE, FieldError, check_domain
from cosched.service.wire.group_messages import GET_MEMBER, GET_PROPOSAL, PROPOSE_GROUP_START, SETTLE_GROUP_START
from cosched.service.wire.news_messages import read_news, write_heard
from cosched.service.wire.pair_messages import GET_MATE_JOB_ID, GET_MATE_STATUS, START_JOB, TRY_START_MATE
from cosched.service.wire.translation import write_clock
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceServicer
from cosched.validation.text import shown

_Message = TypeVar("_Message", bound=Message)
_Response = TypeVar("_Response", bound=Message)
_Call: TypeAlias = CallOnWire[Any, _Message, Any, _Response]
ORDERS = get_args(MutatingRequest | GroupOrder)
ASKS_FIRST = "it asks first whether an earlier mate has ended; try again soon"
NO_MATE = "NO_MATE"  # in the audit: what comes of an order about a job that does not start with the caller


@dataclass(eq=False)
class CoschedulingApi(CoschedulingServiceServicer):
    """The calls of Algorithm 1, for slots and for groups, clocks, and news of presence, for one listener."""

    domain: LiveDomain
    _peers: frozenset[Domain]
    _identify: Identify
    _agreed: AgreedStart
    _queue: Queue
    _settled: Callable[..., Awaitable[None]]  # what an answer waits for, once it has been found (ServiceOutside)
    _joined: Callable[[JobId], None]  # called for a job that a peer names by its id
    _gaps: Gaps | None = None  # say when jobs began; None: nobody asks

    def __post_init__(self) -> None:
        self._instants = Instants(self.domain, self._agreed)

    async def ask(self, message: _Message, context: Context, call: _Call[_Message, _Response]) -> _Response:
        """Return the answer to a call. Refusal, FieldError."""
        caller, here = self._identify(context), self.domain.name
        try:
            asked = call.read_request(message, here)
            if asked.peer == here and isinstance(asked.request, GetMateJobId):
                if caller.user is None and not caller.plaintext:
                    self._refuse(caller, "CALLER_NOT_PEER", f"{caller.via} may not ask for jobs of {here}")
                return call.answer(*self._own_mate(asked.request.caller))
            self.check_peer(caller, asked.peer)
            self.domain.asked_at = self.domain.clock.now()
            response = call.answer(self._instants.answered(await self._reply(asked, caller)), here)
            if self._gaps is not None and isinstance(asked.request, GetMateStatus):
                self._gaps.answer(asked.request.job, cast(wire.GetMateStatusResponse, response))
            return response
        except (Refusal, FieldError) as error:
            if call.request in ORDERS:
                now, who, refusal = self.domain.clock.now(), caller.peer or caller.user or "", as_refusal(error)
                said = refusal.code.name, refusal.message
                self._audit_vain(AuditRecord(now, who, caller.via, call.name, None, *said), refusal.reason)
            raise

    # The calls that are in the table of `translation`

    GetMateJobId = answered(partial(ask, call=GET_MATE_JOB_ID), GET_MATE_JOB_ID.name)
    GetMateStatus = answered(partial(ask, call=GET_MATE_STATUS), GET_MATE_STATUS.name)
    TryStartMate = answered(partial(ask, call=TRY_START_MATE), TRY_START_MATE.name)
    StartJob = answered(partial(ask, call=START_JOB), START_JOB.name)
    GetMember = answered(partial(ask, call=GET_MEMBER), GET_MEMBER.name)
    ProposeGroupStart = answered(partial(ask, call=PROPOSE_GROUP_START), PROPOSE_GROUP_START.name)
    SettleGroupStart = answered(partial(ask, call=SETTLE_GROUP_START), SETTLE_GROUP_START.name)
    GetProposal = answered(partial(ask, call=GET_PROPOSAL), GET_PROPOSAL.name)

    # Others

    @answered
    async def TellMembers(self, request: wire.TellMembersRequest, context: Context) -> wire.TellMembersResponse:
        peer, news = read_news(request, self.domain.name)
        self.check_peer(self._identify(context), peer)
        questions = self.domain.questions
        told, ask_first = questions.told(peer, news)
        later, _ = await asyncio.gather(questions.late_answers.of_news(peer, ask_first), self._settled(of_news=True))
        answers = [(told | later).get(request, MemberTold(False)) for request in news]
        if missed := sum(not answer.heard for answer in answers):
            self.domain.metrics.peer_news_missed(peer).inc(missed)
        return write_heard(answers)

    @answered
    async def CompareClocks(self, request: wire.CompareClocksRequest, context: Context) -> wire.CompareClocksResponse:  # noqa: ARG002
        received = time.time()
        groups, waits = self.domain.scheduler.capabilities.groups, self._agreed.waits
        return write_clock(received, time.time(), takes_groups=groups, waits=waits)

    @answered
    async def TellPresence(self, request: wire.TellPresenceRequest, context: Context) -> wire.TellPresenceResponse:
        peer = check_domain("domain", request.domain)
        self.check_peer(self._identify(context), peer)
        self._hear(peer, request)
        return wire.TellPresenceResponse()

    def _hear(self, peer: Domain, told: wire.TellPresenceRequest) -> None:
        expected = check_seconds(told, "expected", MAX_TIME, None)
        if told.presence == wire.PRESENCE_SERVING:
            self.domain.presence.serves(peer)
            said = "says that it serves"
        elif told.presence == wire.PRESENCE_DRAINING:
            self.domain.presence.drains(peer, expected or 0)
            said = f"says that it drains, and makes no pairs for {expected or 0} s"
        elif told.presence == wire.PRESENCE_LEAVING:
            self.domain.presence.leaves(peer, expected)
            said = f"says that it stops, and will be back {'soon' if expected is None else f'within {expected} s'}"
        else:
            raise FieldError("presence", "is not known here")
        self.domain.sparing_log.log(logging.INFO, (peer, told.presence), "peer %s %s", peer, said)

    # How a call is answered

    def _audit_vain(self, record: AuditRecord, reason: str = NO_MATE) -> None:
        """Note an order that has changed nothing, in sums: a peer can give as many as it likes."""
        if not self.domain.turns.problem:
            self.domain.refused_changes.add(record, reason)

    async def _reply(self, asked: Asked, caller: Caller) -> Reply:
        """Return the domain's answer. It is asked without a pause before: who goes away leaves nothing half done."""
        peer, request = asked.peer, asked.request
        audit = _audit(asked, caller, self.domain.clock.now())
        if isinstance(request, GetMateJobId | GetMember) and await self._may_turn_up(peer, request, audit):
            return MateJobId(Found.UNSUBMITTED, None)
        reply = self.domain.questions.ask(self._instants.told(asked), audit)
        if isinstance(request, GetMateJobId | GetMember):
            is_mate = not isinstance(reply, MateJobId) or reply.found is not Found.NO_PAIR
        else:
            is_mate = self.domain.core.names.starting_with(peer, request.caller, request.job) is not None
            if audit is not None and not is_mate:
                self._audit_vain(replace(audit, outcome=NO_MATE, detail=f"{peer}:{request.caller} is not its mate"))
        if reply is None and isinstance(request, Late):
            reply = await self.domain.questions.late_answers.of(peer, request)
        await self._settled()
        assert reply is not None
        if isinstance(reply, MateJobId) and reply.found is Found.BUSY:
            raise Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, ASKING, ASKS_FIRST)
        if not is_mate:
            self._warn_of_no_mate(asked)
        if isinstance(request, GetMember) and request.member and reply == MateJobId(Found.MATE, request.member):
            self._joined(request.member)
        return reply

    async def _may_turn_up(self, peer: Domain, request: Lookup, audit: AuditRecord | None) -> bool:
        """Whether the job is unknown, as far as the peer may know, and the resource manager cannot say if it has it."""
        names = self.domain.core.names
        if names.owner_here(peer, request.owner) == NOBODY:
            said = "%s:%s is of %s, who is nobody here: owners of [[peer]] can say who that is"
            who = shown(request.owner)
            self.domain.sparing_log.warning((peer, who), said, peer, request.caller, who)
        if isinstance(request, GetMember) and not self.domain.scheduler.capabilities.groups:
            return False
        if await self._queue.look_for_caller(peer, request, audit):
            return False
        found = names.find(peer, request)
        return found is None or not names.is_for(peer, request, found)

    def _warn_of_no_mate(self, asked: Asked) -> None:
        """Log that the job is not a mate of the caller's job: the peer makes a mistake, or somebody spies."""
        if getattr(asked.request, "job", None) == PROBE:
            return
        name = type(asked.request).__name__
        said = "%s:%s asks for %s, which is not its mate: %s"
        self.domain.sparing_log.warning((asked.peer, name), said, *_named(asked), name)

    # Who may

    def check_peer(self, caller: Caller, peer: Domain) -> None:
        """Check that the peer speaks for its own jobs; without TLS the name in the request counts."""
        if caller.peer is None and not caller.plaintext:
            self._refuse(caller, "PEER_UNKNOWN", f"{caller.via} is not a peer")
        if caller.peer is not None and caller.peer != peer:
            self._refuse(caller, "CALLER_NOT_PEER", f"{caller.peer} may not speak for jobs of {peer}")
        if peer not in self._peers:
            self._refuse(caller, "PEER_UNKNOWN", f"no peer {peer} is configured here")

    def _refuse(self, caller: Caller, reason: str, message: str) -> None:
        self.domain.metrics.denied(reason).inc()
        self.domain.sparing_log.warning((caller.via, reason), "refused: %s (%s)", message, caller.via)
        raise Refusal(grpc.StatusCode.PERMISSION_DENIED, reason, message)

    def _own_mate(self, job: JobId) -> tuple[MateJobId, Domain]:
        """Return what we know of the mate of a job of ours, and its domain; changes nothing."""
        record = self.domain.record(job)
        if record is None or not record.is_pair:
            return MateJobId(Found.NO_PAIR, None), self.domain.name
        peer, mate = record.named.peer, record.named.mate
        return MateJobId(Found.UNSUBMITTED if mate is None else Found.MATE, mate), peer


def _audit(asked: Asked, caller: Caller, now: int) -> AuditRecord | None:
    """Return the row for an order, or for the adoption that a question may be; None: it changes nothing."""
    peer, request = asked.peer, asked.request
    call = type(request).__name__
    if isinstance(request, MutatingRequest | GroupOrder):
        return AuditRecord(now, peer, caller.via, call, request.job, "OK", request.request_id)
    if (lone := named_id(request)) is None:
        return None
    return AuditRecord(now, peer, caller.via, call, lone, "OK", f"adopted by {peer}:{request.caller}")


def _named(asked: Asked) -> tuple[Domain, str, str]:
    """Return the caller's domain, its job, and the job that it asks for."""
    request = asked.request
    if isinstance(request, GetMember):
        return asked.peer, request.caller, f"group {request.group}"
    if not isinstance(request, GetMateJobId):
        return asked.peer, request.caller, f"job {request.job}"
    sought = f"pair {request.pair}" if request.pair is not None else f"job {request.mate}" if request.mate else "a job"
    return asked.peer, request.caller, sought
