"""A peer that answers a call, but not as it should. All codes are in test_outcomes."""

import grpc
import pytest
from google.protobuf.message import Message
from grpc import StatusCode

from cosched.core.protocol import Failure, MateTried, Request
from cosched.service.peers.peers import CallError
from cosched.service.wire.errors import Refusal, abort
from cosched.v1 import cluster_pb2 as states
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.peer_world import ANSWERS, BUSY, CALLS, ORDERS, QUESTIONS, REFUSED, TIMEOUT, UNREACHABLE, a_world


@pytest.mark.parametrize(
    ("code", "reason", "question", "order"),
    [
        (StatusCode.PERMISSION_DENIED, "CALLER_NOT_PEER", REFUSED, REFUSED),
        (StatusCode.INVALID_ARGUMENT, "WRONG_DOMAIN", REFUSED, REFUSED),
        (StatusCode.UNAVAILABLE, "STARTING", BUSY, BUSY),
        (StatusCode.UNAVAILABLE, "STOPPING", UNREACHABLE, UNREACHABLE),
        (StatusCode.UNAVAILABLE, "STALLED", BUSY, BUSY),
        (StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CALLS", BUSY, BUSY),
        (StatusCode.INTERNAL, "INTERNAL", UNREACHABLE, TIMEOUT),
        (StatusCode.CANCELLED, "ODD", UNREACHABLE, TIMEOUT),
    ],
)
async def test_an_error_of_the_peer(code: StatusCode, reason: str, question: Failure, order: Failure) -> None:
    async def fail(_: Message, context: grpc.aio.ServicerContext) -> Message:
        await abort(context, Refusal(code, reason, "no", {"field": "job"}))

    async with a_world() as world:
        world.eureka.behaviour = fail
        assert [await world.failure(request) for request in CALLS] == [question, question, order, order]
        assert world.view().problem == f"{code.name} {reason} job: no"
        assert len(world.eureka.seen) == 4


async def test_a_peer_that_speaks_grpc_but_not_this_protocol_refuses() -> None:
    async with a_world() as world:
        await world.eureka.stop()
        world.eureka._calls = lambda: grpc.method_handlers_generic_handler("other.Service", {})  # type: ignore[method-assign]
        world.eureka.health = None
        await world.eureka.start()
        assert [await world.failure(request) for request in CALLS] == [REFUSED] * 4


UNKNOWN_ENUM = wire.GetMateStatusResponse(status=99)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (QUESTIONS[0], wire.GetMateJobIdResponse()),
        (QUESTIONS[0], wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND)),
        (
            QUESTIONS[0],
            wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND, mate=wire.JobRef(domain="mira", job_id="4")),
        ),
        (QUESTIONS[1], wire.GetMateStatusResponse(status=wire.MATE_STATUS_HOLDING)),
        (QUESTIONS[1], UNKNOWN_ENUM),
        *((request, b"\xff\xff") for request in CALLS),
    ],
)
async def test_an_answer_that_breaks_the_contract_is_a_refusal(request_: Request, reply: Message | bytes) -> None:
    async def reply_so(*_: object) -> Message | bytes:
        return reply

    async with a_world() as world:
        world.eureka.behaviour = reply_so
        assert await world.failure(request_) is REFUSED
        assert world.view().state == states.PEER_STATE_REFUSED
        assert "breaks the protocol" in world.view().problem


async def test_an_answer_that_is_too_large_is_a_refusal_and_not_a_peer_that_is_away() -> None:
    async def reply_at_length(*_: object) -> bytes:
        return b"\xfa\x7f\x80\x80\x10" + bytes(1 << 18)  # 256 KiB of a field that nobody knows

    async with a_world() as world:
        world.eureka.behaviour = reply_at_length
        assert [await world.failure(request) for request in CALLS] == [REFUSED] * 4
        assert world.view().state == states.PEER_STATE_REFUSED
        assert "larger than max" in world.view().problem


async def test_fields_that_a_newer_peer_adds_are_ignored() -> None:
    async def newer(message: Message, _: grpc.aio.ServicerContext) -> bytes:
        return ANSWERS[type(message)].SerializeToString() + b"\x5a\x02\x0a\x00"  # field 11, group

    async with a_world() as world:
        world.eureka.behaviour = newer
        assert await world.call(ORDERS[0]) == MateTried(True)


async def test_a_peer_that_is_not_configured_is_a_refusal() -> None:
    async with a_world() as world:
        with pytest.raises(CallError) as caught:
            await world.peers.call("mira", QUESTIONS[0])
        assert (caught.value.failure, caught.value.problem) == (REFUSED, "no peer mira is configured here")
