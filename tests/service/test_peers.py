"""Calls to a peer over real connections: answers, faults of the network, a peer that comes back, limits."""

import asyncio
import os

import grpc
import pytest
from google.protobuf.message import Message

from cosched.core.protocol import Failure, MateStarted, MateStatus, MateTried, Request, Status
from cosched.service.peers import peer as module
from cosched.v1 import cluster_pb2 as states
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.faulty_proxy import BLACK_HOLE, PASS, REFUSE, SWALLOW_REPLIES, Fault, cut_after, delay_replies
from tests.service.peer_world import (
    ABOUT_SLOTS,
    ANSWERS,
    CALLS,
    HASTY,
    OF_SLOTS,
    ORDERS,
    PATIENT,
    QUESTIONS,
    REFUSED,
    TIMEOUT,
    UNREACHABLE,
    World,
    a_world,
    answer,
    by_name,
    says,
    wait_for_the_caller_to_go,
    world,
)
from tests.service.replies import mate_is
from tests.waiting import until

__all__ = ["world"]

# Answers


async def test_each_of_the_four_calls_is_answered(world: World) -> None:
    answers = [await world.call(request) for request in CALLS]
    assert answers == [mate_is("4"), MateStatus(Status.HOLDING, 3, None), MateTried(True), MateStarted(False)]
    assert [type(message) for message in world.eureka.seen] == list(ANSWERS)
    job, caller = wire.JobRef(domain="eureka", job_id="4"), wire.JobRef(domain="intrepid", job_id="17")
    order = wire.StartJobRequest(request_id="intrepid/17/2", job=job, caller=caller, hold_generation=3)
    assert world.eureka.seen[-1] == order


async def test_a_slot_that_was_not_proposed_breaks_the_protocol() -> None:
    async with a_world(others=OF_SLOTS) as world:
        proposal = ABOUT_SLOTS[0]
        assert await world.failure(proposal._replace(not_before=1_800_000_001)) is REFUSED
        assert await world.failure(proposal._replace(book=False)) is REFUSED
        assert "breaks the protocol" in world.view().problem


@pytest.mark.parametrize("request_", ABOUT_SLOTS, ids=lambda request: type(request).__name__)
async def test_a_call_about_a_slot_without_an_answer_may_have_been_carried_out(request_: Request) -> None:
    async with a_world(others=OF_SLOTS) as world:
        await world.connect()
        world.eureka.behaviour = wait_for_the_caller_to_go
        world.eureka.health = None
        with world.waiting(HASTY):
            assert await world.failure(request_) in (TIMEOUT, Failure.SLOW)
        assert len(world.eureka.seen) == 1  # it was sent once


# Faults of the network: what is arranged before the call


async def refused(world: World) -> None:
    world.proxy.set(REFUSE)


async def refused_from_now_on(world: World) -> None:
    await world.connect()
    world.proxy.set(REFUSE)
    await world.peers.beat()  # the connection that stood is known to be gone


async def black_hole(world: World) -> None:
    world.proxy.set(BLACK_HOLE)


async def black_hole_from_now_on(world: World) -> None:
    await world.connect()
    world.proxy.set(BLACK_HOLE)


def carries_out(world: World, fault: Fault) -> None:
    """The peer does what it is asked, and the network has this fault before it answers."""

    async def carry_out(message: Message, context: grpc.aio.ServicerContext) -> Message:
        world.proxy.set(fault)
        return await answer(message, context)

    world.eureka.behaviour = carry_out


async def reply_lost(world: World) -> None:
    await world.connect()
    world.proxy.set(SWALLOW_REPLIES)
    carries_out(world, REFUSE)


async def reply_cut_off(world: World) -> None:
    await world.connect()
    carries_out(world, cut_after(1))


async def reply_late(world: World) -> None:
    await world.connect()
    world.proxy.set(delay_replies(PATIENT))


async def never_answered(world: World) -> None:
    """The peer is well, and has all the time that it needs to say so."""

    async def wait(*_: object) -> Message:
        world.peers._peers["eureka"]._timeout = PATIENT
        return await wait_for_the_caller_to_go()

    await world.connect()
    world.eureka.behaviour = wait


async def killed_during_the_call(world: World) -> None:
    async def die(*_: object) -> Message:
        world.eureka.stopping = asyncio.ensure_future(world.eureka.stop())
        return await wait_for_the_caller_to_go()

    await world.connect()
    world.eureka.behaviour = die


NETWORK_FAULTS = [
    # fault, seconds for the call, a question's failure, an order's failure
    (refused, PATIENT, UNREACHABLE, UNREACHABLE),
    (refused_from_now_on, PATIENT, UNREACHABLE, UNREACHABLE),
    (black_hole, HASTY, UNREACHABLE, UNREACHABLE),
    (black_hole_from_now_on, HASTY, UNREACHABLE, TIMEOUT),
    (reply_lost, PATIENT, UNREACHABLE, TIMEOUT),
    (reply_cut_off, PATIENT, UNREACHABLE, TIMEOUT),
    (reply_late, HASTY, UNREACHABLE, TIMEOUT),
    (killed_during_the_call, PATIENT, UNREACHABLE, TIMEOUT),
]


@pytest.mark.parametrize("request_", CALLS, ids=by_name)
@pytest.mark.parametrize(
    ("fault", "timeout", "question", "order"), NETWORK_FAULTS, ids=[fault.__name__ for fault, *_ in NETWORK_FAULTS]
)
async def test_a_fault_of_the_network(world: World, fault, timeout, question, order, request_):
    await fault(world)
    with world.waiting(timeout):
        assert await world.failure(request_) is (order if request_ in ORDERS else question)
    assert world.view().state == states.PEER_STATE_UNREACHABLE


@pytest.mark.parametrize("request_", CALLS, ids=by_name)
async def test_a_peer_that_does_not_answer_a_call_but_is_well_is_alive(world: World, request_: Request) -> None:
    await never_answered(world)
    with world.waiting(HASTY):
        assert await world.failure(request_) is (Failure.SLOW if request_ in ORDERS else Failure.BUSY)
    assert world.view().state == states.PEER_STATE_REACHABLE
    assert "DEADLINE_EXCEEDED" in world.view().problem


@pytest.mark.parametrize("order", ORDERS, ids=by_name[2:])
async def test_an_order_that_is_called_unreachable_never_arrives_later(world: World, order: Request) -> None:
    world.proxy.set(BLACK_HOLE)
    with world.waiting(HASTY):
        assert await world.failure(order) is UNREACHABLE
    world.proxy.set(PASS)  # what was sent into the hole arrives now
    await world.connect()
    await world.call(QUESTIONS[1])
    assert [type(message) for message in world.eureka.seen] == [wire.GetMateStatusRequest]


async def test_an_order_is_sent_once(world: World) -> None:
    await reply_lost(world)
    assert await world.failure(ORDERS[0]) is TIMEOUT
    assert len(world.eureka.seen) == 1


async def test_a_question_whose_connection_breaks_is_asked_again_on_a_new_one(world: World) -> None:
    async def cut_first(message: Message, context: grpc.aio.ServicerContext) -> Message:
        world.eureka.behaviour = answer
        world.proxy.cut()
        return await answer(message, context)

    await world.connect()
    world.eureka.behaviour = cut_first
    assert await world.call(QUESTIONS[1]) == MateStatus(Status.HOLDING, 3, None)
    assert len(world.eureka.seen) == 2
    assert world.told[-1].state == states.PEER_STATE_REACHABLE
    assert len(world.told) == 1


# A peer that comes back


@pytest.mark.parametrize("request_", CALLS, ids=by_name)
async def test_the_first_call_after_a_restart_succeeds(request_: Request) -> None:
    async with a_world(direct=True) as world:
        await world.call(request_)
        for _ in range(3):
            await world.eureka.stop()
            assert await world.failure(QUESTIONS[0]) is UNREACHABLE
            assert await world.failure(ORDERS[0]) is UNREACHABLE
            await world.eureka.start()
            await world.call(request_)  # although the channel that failed waits before it tries again


async def test_the_next_call_leaves_a_connection_that_has_gone_dead(world: World) -> None:
    await world.connect()
    connections = world.proxy.accepted
    world.proxy.set(BLACK_HOLE)
    with world.waiting(HASTY):
        assert await world.failure(ORDERS[0]) is TIMEOUT
    world.proxy.set(PASS)
    await world.connect()
    assert world.proxy.accepted > connections


async def test_calls_to_a_dead_peer_leave_nothing_open(world: World) -> None:
    world.proxy.set(REFUSE)
    await world.failure(QUESTIONS[0])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        await asyncio.gather(*(world.failure(request) for request in CALLS))
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before + 8)


# Limits


async def test_a_call_that_gets_no_turn_before_its_deadline_did_not_go_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_OPEN_CALLS", 1)
    async with a_world() as world:
        world.eureka.behaviour = wait_for_the_caller_to_go
        first = asyncio.ensure_future(world.failure(ORDERS[0]))
        await world.eureka.asked.wait()
        with world.waiting(HASTY):
            assert await world.failure(ORDERS[1]) is UNREACHABLE
        world.proxy.cut()
        assert await first is TIMEOUT
        assert len(world.eureka.seen) == 1
        world.eureka.behaviour = answer
        await world.peers.beat()  # the connection that was cut is known to be gone: an order is sent once
        await world.connect()
        assert await world.call(ORDERS[0]) == MateTried(True)


async def test_a_goodbye_that_nobody_hears_is_not_waited_for(world: World) -> None:
    """ "Must not delay a stop": every call may take PATIENT here."""
    goodbye = wire.TellPresenceRequest(domain="intrepid", presence=wire.PRESENCE_LEAVING)
    await world.connect()
    world.proxy.set(BLACK_HOLE)
    async with asyncio.timeout(PATIENT / 2):
        await world.peers.tell(goodbye, ["eureka"], HASTY)


async def test_a_peer_that_does_not_know_the_call_is_no_fault(world: World) -> None:
    hello = wire.TellPresenceRequest(domain="intrepid", presence=wire.PRESENCE_SERVING)
    await world.connect()
    await world.peers.tell(hello, ["eureka"], PATIENT)
    assert (world.view().state, world.view().problem) == (states.PEER_STATE_REACHABLE, "")


async def test_an_answer_that_is_too_long_is_not_read(world: World) -> None:
    world.eureka.behaviour = says(b"\x52\xff\xff\x03" + bytes(0xFFFF) + bytes(100))
    assert await world.failure(QUESTIONS[1]) is REFUSED
    assert "RESOURCE_EXHAUSTED" in world.view().problem


async def test_a_proxy_in_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with a_world(direct=True) as world:
        assert await world.call(ORDERS[1]) == MateStarted(False)


@pytest.mark.parametrize("request_", CALLS, ids=by_name)
async def test_close_cancels_the_open_calls_and_allows_no_more(world: World, request_: Request) -> None:
    world.eureka.behaviour = wait_for_the_caller_to_go
    open_call = asyncio.ensure_future(world.call(request_))
    await world.eureka.asked.wait()
    await world.peers.close()
    await asyncio.wait([open_call], timeout=PATIENT)
    assert open_call.cancelled()
    with pytest.raises(asyncio.CancelledError):
        await world.call(request_)
