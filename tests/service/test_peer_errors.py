"""A peer that answers a call, but not as it should. All codes are in test_outcomes."""

import grpc
import pytest
from google.protobuf.message import Message
from grpc import StatusCode

from cosched.core.protocol import Failure, MateTried, Request
from cosched.service.peers.peers import CallError
from cosched.v1 import cluster_pb2 as states
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.peer_world import ANSWERS, CALLS, ORDERS, QUESTIONS, REFUSED, TIMEOUT, refuses, says, world

__all__ = ["world"]


@pytest.mark.parametrize(
    ("code", "reason", "question", "order"),
    [
        (StatusCode.PERMISSION_DENIED, "CALLER_NOT_PEER", REFUSED, REFUSED),
        (StatusCode.UNAVAILABLE, "STALLED", Failure.BUSY, Failure.BUSY),
        (StatusCode.CANCELLED, "ODD", Failure.UNREACHABLE, TIMEOUT),
    ],
)
async def test_an_error_of_the_peer(world, code: StatusCode, reason: str, question: Failure, order: Failure) -> None:
    world.eureka.behaviour = refuses(code, reason, "no", field="job")
    assert [await world.failure(request) for request in CALLS] == [question, question, order, order]
    assert world.view().problem == f"{code.name} {reason} job: no"
    assert len(world.eureka.seen) == 4


async def test_a_peer_that_speaks_grpc_but_not_this_protocol_refuses(world) -> None:
    world.eureka._calls = lambda: grpc.method_handlers_generic_handler("other.Service", {})
    world.eureka.health = None
    await world.eureka.restart()
    assert [await world.failure(request) for request in CALLS] == [REFUSED] * 4


UNKNOWN_ENUM = wire.GetMateStatusResponse(status=99)


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
async def test_an_answer_that_breaks_the_contract_is_a_refusal(world, request_: Request, reply: Message | bytes):
    world.eureka.behaviour = says(reply)
    assert await world.failure(request_) is REFUSED
    assert world.view().state == states.PEER_STATE_REFUSED
    assert "breaks the protocol" in world.view().problem


async def test_an_answer_that_is_too_large_is_a_refusal_and_not_a_peer_that_is_away(world) -> None:
    world.eureka.behaviour = says(b"\xfa\x7f\x80\x80\x10" + bytes(1 << 18))  # 256 KiB of a field that nobody knows
    assert [await world.failure(request) for request in CALLS] == [REFUSED] * 4
    assert world.view().state == states.PEER_STATE_REFUSED
    assert "larger than max" in world.view().problem


async def test_fields_that_a_newer_peer_adds_are_ignored(world) -> None:
    async def newer(message: Message, _: grpc.aio.ServicerContext) -> bytes:
        return ANSWERS[type(message)].SerializeToString() + b"\x5a\x02\x0a\x00"  # field 11, group

    world.eureka.behaviour = newer
    assert await world.call(ORDERS[0]) == MateTried(True)


async def test_a_peer_that_is_not_configured_is_a_refusal(world) -> None:
    with pytest.raises(CallError) as caught:
        await world.peers.call("mira", QUESTIONS[0])
    assert (caught.value.failure, caught.value.problem) == (REFUSED, "no peer mira is configured here")
