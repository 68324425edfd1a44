"""CoschedulingService, the API for other domains: checks the caller, then lets the domain answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import grpc

from cosched.core.events import Asked
from cosched.core.protocol import (
    AboutGroup,
    Domain,
    Found,
    GetMateJobId,
    GetMember,
    GroupOrder,
    GroupProposed,
    MateJobId,
    MateStatus,
    MutatingRequest,
    Proposed,
    ProposeGroupStart,
    ProposeStart,
    Reply,
    SettleGroupStart,
    StartJob,
    TryStartMate,
)
from cosched.service.api.answering import Context, answer, as_refusal
from cosched.service.domain.draining import check_seconds
from cosched.service.domain.late_answers import Late
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.manager.queues import Queue
from cosched.service.peers.agreed_start import AgreedStart
from cosched.service.store import AuditRecord
from cosched.service.wire.callers import Caller, Identify
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import MAX_TIME, PROBE, FieldError, check_domain, number
from cosched.service.wire.translation import WireOrder, WireReply, WireRequest, read_request, write_clock, write_reply
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceServicer


class CoschedulingApi(CoschedulingServiceServicer):
    """The calls of Algorithm 1, for slots and for groups, clocks, and news of presence, for one listener."""

    def __init__(
        self,
        domain: LiveDomain,
        peers: frozenset[Domain],
        identify: Identify,
        agreed: AgreedStart,
        queue: Queue,
        settled: Callable[[], Awaitable[None]],
    ) -> None:
        """`settled`: what an answer waits for, once it has been found."""
        self._settled = settled
        self._domain = domain
        self._queue = queue
        self._peers = peers
        self._identify = identify
        self._agreed = agreed

    async def GetMateJobId(self, request: wire.GetMateJobIdRequest, context: Context) -> wire.GetMateJobIdResponse:
        """See the protocol."""
        return cast(wire.GetMateJobIdResponse, await self._answer("GetMateJobId", request, context))

    async def GetMateStatus(self, request: wire.GetMateStatusRequest, context: Context) -> wire.GetMateStatusResponse:
        """See the protocol."""
        return cast(wire.GetMateStatusResponse, await self._answer("GetMateStatus", request, context))

    async def TryStartMate(self, request: wire.TryStartMateRequest, context: Context) -> wire.TryStartMateResponse:
        """See the protocol."""
        return cast(wire.TryStartMateResponse, await self._answer("TryStartMate", request, context))

    async def StartJob(self, request: wire.StartJobRequest, context: Context) -> wire.StartJobResponse:
        """See the protocol."""
        return cast(wire.StartJobResponse, await self._answer("StartJob", request, context))

    async def ProposeStart(self, request: wire.ProposeStartRequest, context: Context) -> wire.ProposeStartResponse:
        """See the protocol."""
        return cast(wire.ProposeStartResponse, await self._answer("ProposeStart", request, context))

    async def SettleStart(self, request: wire.SettleStartRequest, context: Context) -> wire.SettleStartResponse:
        """See the protocol."""
        return cast(wire.SettleStartResponse, await self._answer("SettleStart", request, context))

    async def GetMember(self, request: wire.GetMemberRequest, context: Context) -> wire.GetMemberResponse:
        """See the protocol."""
        return cast(wire.GetMemberResponse, await self._answer("GetMember", request, context))

    async def ProposeGroupStart(
        self, request: wire.ProposeGroupStartRequest, context: Context
    ) -> wire.ProposeGroupStartResponse:
        """See the protocol."""
        return cast(wire.ProposeGroupStartResponse, await self._answer("ProposeGroupStart", request, context))

    async def SettleGroupStart(
        self, request: wire.SettleGroupStartRequest, context: Context
    ) -> wire.SettleGroupStartResponse:
        """See the protocol."""
        return cast(wire.SettleGroupStartResponse, await self._answer("SettleGroupStart", request, context))

    async def GetProposal(self, request: wire.GetProposalRequest, context: Context) -> wire.GetProposalResponse:
        """See the protocol."""
        return cast(wire.GetProposalResponse, await self._answer("GetProposal", request, context))

    async def CompareClocks(self, request: wire.CompareClocksRequest, context: Context) -> wire.CompareClocksResponse:  # noqa: ARG002
        """See the protocol."""
        received = time.time()

        async def work() -> wire.CompareClocksResponse:
            return write_clock(received, time.time(), takes_groups=self._domain.scheduler.capabilities.groups)

        return await answer("CompareClocks", work(), context, self._domain)

    async def TellPresence(self, request: wire.TellPresenceRequest, context: Context) -> wire.TellPresenceResponse:
        """See the protocol."""

        async def work() -> wire.TellPresenceResponse:
            peer = check_domain("domain", request.domain)
            self.check_peer(self._identify(context), peer)
            self._hear(peer, request)
            return wire.TellPresenceResponse()

        return await answer("TellPresence", work(), context, self._domain)

    def _hear(self, peer: Domain, told: wire.TellPresenceRequest) -> None:
        expected = check_seconds("expected", told.expected, MAX_TIME, 0) if told.HasField("expected") else None
        alike = peer, told.presence
        self._domain.sparing_log.log(logging.INFO, alike, "peer %s tells its presence: %s", peer, str(told.presence))
        if told.presence == wire.PRESENCE_SERVING:
            self._domain.presence.serves(peer)
        elif told.presence == wire.PRESENCE_DRAINING:
            self._domain.presence.drains(peer, expected or 0)
        elif told.presence == wire.PRESENCE_LEAVING:
            self._domain.presence.leaves(peer, expected)
        else:
            raise FieldError("presence", "is not known here")

    async def _answer(self, call: str, message: WireRequest, context: Context) -> Any:
        return await answer(call, self._ask(call, message, context), context, self._domain)

    async def _ask(self, call: str, message: WireRequest, context: Context) -> Any:
        caller = self._identify(context)
        try:
            return await self._asked(call, message, caller)
        except (Refusal, FieldError) as error:
            if isinstance(message, WireOrder):
                self._audit_refused(call, caller, as_refusal(error))
            raise

    def _audit_refused(self, call: str, caller: Caller, refusal: Refusal) -> None:
        now, who = self._domain.clock.now(), caller.peer or caller.user or ""
        record = AuditRecord(now, who, caller.via, call, None, refusal.code.name, refusal.message)
        if not self._domain.turns.problem:
            self._domain.refused_changes.add(record, refusal.reason)

    async def _asked(self, call: str, message: WireRequest, caller: Caller) -> WireReply:
        asked = read_request(message, self._domain.name)
        if asked.peer == self._domain.name and isinstance(asked.request, GetMateJobId):
            self._check_reader(caller)
            return self._own_mate(asked.request.caller)
        self.check_peer(caller, asked.peer)
        of_group = isinstance(asked.request, AboutGroup)
        if await self._may_turn_up(asked):
            return write_reply(MateJobId(Found.UNSUBMITTED, None), self._domain.name, of_group=of_group)
        reply = await self._reply(call, self._told(asked), caller)
        if self._is_of_no_mate(asked, reply):
            said = "%s:%s asks for %s, which is not its mate: %s"
            self._domain.sparing_log.warning((asked.peer, call), said, *_named(asked), call)
        return write_reply(self._written(reply), self._domain.name, of_group=of_group)

    async def _may_turn_up(self, asked: Asked) -> bool:
        """Whether the call asks for an unknown mate or member, and the resource manager cannot say if it has it."""
        peer, request, core = asked.peer, asked.request, self._domain.core
        if isinstance(request, GetMateJobId):
            return not await self._queue.look_for_mate(peer, request) and core.mates.find(peer, request) is None
        if isinstance(request, GetMember) and self._domain.scheduler.capabilities.groups:
            return not await self._queue.look_for_member(peer, request) and core.members.find(peer, request) is None
        return False

    async def _reply(self, call: str, asked: Asked, caller: Caller) -> Reply:
        """Return the domain's answer. The domain is asked without a pause before, so that a caller that goes away
        leaves nothing half done.
        """
        request, audit = asked.request, None
        if isinstance(request, MutatingRequest | GroupOrder):
            now = self._domain.clock.now()
            audit = AuditRecord(now, asked.peer, caller.via, call, request.job, "OK", request.request_id)
        reply = self._domain.questions.ask(asked, audit)
        if reply is None and isinstance(request, Late):
            reply = await self._domain.questions.late_answers.of(asked.peer, request)
        await self._settled()
        assert reply is not None
        return reply

    # Who may

    def check_peer(self, caller: Caller, peer: Domain) -> None:
        """Check that the peer speaks for its own jobs; without TLS the name in the request counts."""
        if caller.peer is None and not caller.plaintext:
            self._refuse(caller, "PEER_UNKNOWN", f"{caller.via} is not a peer")
        if caller.peer is not None and caller.peer != peer:
            self._refuse(caller, "CALLER_NOT_PEER", f"{caller.peer} may not speak for jobs of {peer}")
        if peer not in self._peers:
            self._refuse(caller, "PEER_UNKNOWN", f"no peer {peer} is configured here")

    def _check_reader(self, caller: Caller) -> None:
        if caller.user is None and not caller.plaintext:
            self._refuse(caller, "CALLER_NOT_PEER", f"{caller.via} may not ask for jobs of {self._domain.name}")

    def _refuse(self, caller: Caller, reason: str, message: str) -> None:
        self._domain.metrics.denied(reason).inc()
        self._domain.sparing_log.warning((caller.via, reason), "refused: %s (%s)", message, caller.via)
        raise Refusal(grpc.StatusCode.PERMISSION_DENIED, reason, message)

    def _is_of_no_mate(self, asked: Asked, reply: Reply) -> bool:
        """Whether the job is no mate of the caller's job: the peer makes a mistake, or somebody spies."""
        request, core = asked.request, self._domain.core
        if isinstance(request, GetMateJobId | GetMember):
            return isinstance(reply, MateJobId) and reply.found is Found.NO_PAIR
        if request.job == PROBE:
            return False
        named = asked.peer, request.caller, request.job
        return not core.mates.is_mate(*named) and not core.members.is_member(*named)

    # Requests and replies

    def _own_mate(self, job: str) -> wire.GetMateJobIdResponse:
        """Return what we know of the mate of a job of ours; changes nothing."""
        record = self._domain.jobs.get(job)
        if record is None and (id := number(job)) is not None:
            record = self._domain.store.job(id)
        if record is None or record.peer is None:
            return cast(wire.GetMateJobIdResponse, write_reply(MateJobId(Found.NO_PAIR, None), self._domain.name))
        known = MateJobId(Found.MATE, record.mate) if record.mate is not None else MateJobId(Found.UNSUBMITTED, None)
        return cast(wire.GetMateJobIdResponse, write_reply(known, record.peer))

    def _told(self, asked: Asked) -> Asked:
        """Return the request with times by this domain's clock, and a start that we can keep to."""
        request = asked.request
        if isinstance(request, TryStartMate | ProposeGroupStart | SettleGroupStart):
            hold_until = self._agreed.here(asked.peer, request.hold_until)
            request = request._replace(hold_until=self._domain.clock.from_wall(hold_until))
        if isinstance(request, SettleGroupStart):
            request = request._replace(start_at=self._agreed.settled(request.start_at))
        if isinstance(request, TryStartMate | StartJob | ProposeGroupStart):  # agreed again if a try takes long
            request = request._replace(start_at=self._agreed.accepted(request.start_at, request.job))
        if isinstance(request, ProposeStart | ProposeGroupStart) and request.not_before is not None:
            from_wall = self._domain.clock.from_wall  # by our clock already
            not_before, only_before = from_wall(request.not_before), from_wall(request.only_before)
            request = request._replace(not_before=not_before, only_before=only_before)
        if isinstance(request, ProposeGroupStart) and request.instant is not None:
            request = request._replace(instant=self._domain.clock.from_wall(request.instant))
        return Asked(asked.peer, request)

    def _written(self, reply: Reply) -> Reply:
        """Return the reply with times of the wall clock."""
        if isinstance(reply, Proposed) and reply.at is not None:
            return reply._replace(at=self._domain.clock.to_wall(reply.at))
        if isinstance(reply, GroupProposed) and reply.earliest is not None:
            return reply._replace(earliest=self._domain.clock.to_wall(reply.earliest))
        if isinstance(reply, MateStatus) and reply.started_at is not None:
            return reply._replace(started_at=self._domain.clock.to_wall(reply.started_at))
        return reply


def _named(asked: Asked) -> tuple[Domain, str, str]:
    """Return the caller's domain, its job, and the job that it asks for."""
    request = asked.request
    if isinstance(request, GetMember):
        return asked.peer, request.caller, f"group {request.group}"
    if not isinstance(request, GetMateJobId):
        return asked.peer, request.caller, f"job {request.job}"
    sought = f"pair {request.pair}" if request.pair is not None else f"job {request.mate}" if request.mate else "a job"
    return asked.peer, request.caller, sought
