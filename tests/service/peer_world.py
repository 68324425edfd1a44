"""A domain that calls a peer, Eureka, over a real network with faults: what the tests of the peers' clients share."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health

from cosched.core.protocol import (
    FOREVER,
    Failure,
    GetMateJobId,
    GetMateStatus,
    ProposeGroupStart,
    Request,
    SettleGroupStart,
    StartJob,
    TryStartMate,
)
from cosched.service.configuration_sections import Peer
from cosched.service.peers.peer_view import PeerView
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.wire.errors import Refusal, abort
from cosched.service.wire.tls import PeerCredentials
from cosched.v1 import cluster_pb2 as states
from cosched.v1 import coscheduling_pb2 as wire
from tests.service.faulty_proxy import FaultyProxy
from tests.service.pki import EUREKA

UNREACHABLE, TIMEOUT, REFUSED = Failure.UNREACHABLE, Failure.TIMEOUT, Failure.REFUSED
PATIENT = 60.0  # seconds for calls that are to be answered
HASTY = 0.25  # for those that are not

QUESTIONS: tuple[Request, ...] = (GetMateJobId("17", "climate", None, "ann"), GetMateStatus("4", "17"))
ORDERS = (TryStartMate("intrepid/17/1", "4", "17", FOREVER), StartJob("intrepid/17/2", "4", "17", 3))
ABOUT_SLOTS: tuple[Request, ...] = (
    ProposeGroupStart("intrepid/17/3", "4", "17", 0, 60, None, 1_800_000_000, 1_800_000_060, True),
    SettleGroupStart("intrepid/17/4", "4", "17", start=False, keep=True),
)
CALLS = (*QUESTIONS, *ORDERS)
by_name = [type(call).__name__ for call in CALLS]

Behaviour = Callable[[Message, grpc.aio.ServicerContext], Awaitable[Message | bytes]]
ANSWERS: dict[type, Message] = {
    wire.GetMateJobIdRequest: wire.GetMateJobIdResponse(
        lookup=wire.MATE_LOOKUP_FOUND, mate=wire.JobRef(domain="eureka", job_id="4")
    ),
    wire.GetMateStatusRequest: wire.GetMateStatusResponse(status=wire.MATE_STATUS_HOLDING, hold_generation=3),
    wire.TryStartMateRequest: wire.TryStartMateResponse(started=True),
    wire.StartJobRequest: wire.StartJobResponse(started=False),
}
OF_SLOTS: dict[type, Message] = {
    wire.ProposeGroupStartRequest: wire.ProposeGroupStartResponse(
        vote=wire.GROUP_VOTE_BOOKED, earliest=Timestamp(seconds=1_800_000_000)
    ),
    wire.SettleGroupStartRequest: wire.SettleGroupStartResponse(current=True),
}


async def answer(message: Message, _: grpc.aio.ServicerContext) -> Message:
    return ANSWERS[type(message)]


async def wait_for_the_caller_to_go(*_: object) -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def says(reply: Message | bytes) -> Behaviour:
    """Answer so, whatever is asked."""

    async def behave(*_: object) -> Message | bytes:
        return reply

    return behave


def refuses(code: grpc.StatusCode, reason: str, text: str, **metadata: str) -> Behaviour:
    async def behave(_: Message, context: grpc.aio.ServicerContext) -> Message:
        await abort(context, Refusal(code, reason, text, metadata))

    return behave


class Eureka:
    """The peer: a real server, on the same port each time, that behaves as it is told."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self.behaviour: Behaviour = answer
        self.seen: list[Message] = []
        self.asked = asyncio.Event()
        self.health: health.HealthServicer | None = health.HealthServicer()
        self.others: dict[type, Message] = {}  # what it answers to more calls
        self.clock: Behaviour | None = None  # without it, it is of a version that does not know CompareClocks
        self.credentials = credentials
        self.stopping: asyncio.Future[None] | None = None
        self._kept = socket.socket()  # keeps the port ours
        self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._kept.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._kept.getsockname()[1]}"

    async def start(self) -> None:
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((self._calls(),))
        if self.health is not None:
            health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
            await self.health.set("", health_pb2.HealthCheckResponse.SERVING)
        if self.credentials is None:
            self._server.add_insecure_port(self.address)
        else:
            self._server.add_secure_port(self.address, self.credentials)
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def end(self) -> None:
        await (self.stopping or self.stop())
        self._kept.close()

    def _calls(self) -> grpc.GenericRpcHandler:
        behaviours = dict.fromkeys((*ANSWERS, *self.others), self._handle)
        if self.clock is not None:
            behaviours[wire.CompareClocksRequest] = self.clock
        handlers = {
            request.DESCRIPTOR.name.removesuffix("Request"): grpc.unary_unary_rpc_method_handler(
                behaviour,
                request.FromString,
                lambda reply: reply if type(reply) is bytes else reply.SerializeToString(),
            )
            for request, behaviour in behaviours.items()
        }
        return grpc.method_handlers_generic_handler("cosched.v1.CoschedulingService", handlers)

    async def _handle(self, message: Message, context: grpc.aio.ServicerContext) -> Message | bytes:
        self.seen.append(message)
        self.asked.set()
        if self.behaviour is answer and type(message) in self.others:
            return self.others[type(message)]
        return await self.behaviour(message, context)


class World:
    """This domain's view of Eureka, with a network in between."""

    def __init__(self, eureka: Eureka, proxy: FaultyProxy, address: str, client: PeerCredentials | None) -> None:
        self.eureka = eureka
        self.proxy = proxy
        self.told: list[PeerView] = []
        peer = Peer(name="eureka", address=address, identity=EUREKA if client else None)
        self.peers = PeerClients("intrepid", [peer], PATIENT, client, self.told.append)

    async def call(self, request: Request) -> object:
        return await self.peers.call("eureka", request)

    async def failure(self, request: Request) -> Failure:
        with pytest.raises(CallError) as caught:
            await self.call(request)
        assert caught.value.problem
        return caught.value.failure

    @contextmanager
    def waiting(self, seconds: float) -> Iterator[None]:
        """Calls made in here may take so long; those before and after it have all the time that they need."""
        peer = self.peers._peers["eureka"]
        peer._timeout = seconds
        try:
            yield
        finally:
            peer._timeout = PATIENT

    def view(self) -> PeerView:
        return self.peers.view("eureka")

    async def connect(self) -> None:
        """Have a connection that stands."""
        async with asyncio.timeout(PATIENT):
            while self.view().state != states.PEER_STATE_REACHABLE:
                await self.peers.beat()


@asynccontextmanager
async def a_world(direct: bool = False, others=None, client=None, server=None) -> AsyncIterator[World]:
    """`direct`: without the proxy; `others`: see Eureka; plaintext unless there are credentials."""
    eureka = Eureka(server)
    eureka.others |= others or {}
    await eureka.start()
    try:
        with FaultyProxy(eureka.address) as proxy:
            world = World(eureka, proxy, eureka.address if direct else proxy.address, client)
            yield world
            await world.peers.close()
    finally:
        await eureka.end()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Domains that speak plaintext, with the proxy."""
    async with a_world() as made:
        yield made
