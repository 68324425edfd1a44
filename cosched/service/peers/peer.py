"""The client that calls one other domain, and what is known of it.

A call may take `timeout` seconds in all. We never guess from an error text whether a call that must not be repeated was
sent: it is sent only on a connection that stands. If there is none, a harmless question makes one first. So we know
that a peer that is down, or that drops every packet, did not get the call.
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from grpc import StatusCode
from grpc.aio import AioRpcError
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from cosched.core.protocol import Domain, Failure, GroupOrder, MemberTold, MutatingRequest, Reply, Request, TellMember
from cosched.service.configuration_sections import Peer
from cosched.service.peers.clock_offset import ClockOffset
from cosched.service.peers.outcomes import OF_PAIRS_ONLY, CallError, failure, is_lost, one_line
from cosched.service.peers.peer_line import Line
from cosched.service.peers.peer_view import PeerView
from cosched.service.wire.fields import FieldError
from cosched.service.wire.news_messages import read_heard, write_news
from cosched.service.wire.tls import PeerCredentials
from cosched.service.wire.tls_probe import speaks_tls
from cosched.service.wire.translation import ON_WIRE, read_clock
from cosched.v1 import cluster_pb2 as states
from cosched.v1.coscheduling_pb2 import CompareClocksRequest, TellPresenceRequest

_LOG = logging.getLogger(__name__)
Told = TypeVar("Told")
MAX_OPEN_CALLS = 256  # to one peer; more wait for room
OLDEST_LINE = 3600.0  # seconds until a line with TLS is replaced
_STATES: dict[Failure, int] = {
    Failure.REFUSED: states.PEER_STATE_REFUSED,
    Failure.BUSY: states.PEER_STATE_REACHABLE,
    Failure.SLOW: states.PEER_STATE_REACHABLE,
}  # a peer's state after these failures; after others it is unreachable
_ANSWERS = (StatusCode.UNIMPLEMENTED, StatusCode.NOT_FOUND)  # to a health check: a live peer without it


class PeerClient:
    """The client of one peer."""

    def __init__(
        self,
        here: Domain,
        peer: Peer,
        timeout: float,
        credentials: PeerCredentials | None,
        told: Callable[[PeerView], None],
        health: Callable[[Domain, bool], None],
    ) -> None:
        self._here = here
        self._peer = peer
        self._timeout = timeout
        credentials = None if peer.is_local else credentials
        self._credentials = credentials
        self._told = told
        self._health = health
        self._beating = False
        self._loop = asyncio.get_running_loop()
        self._options = credentials.options(peer.identity or "") if credentials else ()
        self._line: Line | None = None
        self._generation = 0  # the generation of the certificates that the line uses
        self._made_at = 0.0  # by the loop's clock
        self._lines: weakref.WeakSet[Line] = weakref.WeakSet()  # including retired ones while they have calls
        self._closed = False
        self._room = asyncio.Semaphore(MAX_OPEN_CALLS)
        self._state: int = states.PEER_STATE_UNKNOWN
        self._since = time.time()
        self._round_trip: float | None = None
        self._problem = ""
        self._refuses_calls = False  # heartbeats succeed all the same
        self.takes_groups: bool | None = None  # None: it has not said so
        self.waits_for_starts = False
        self._takes_news = True  # as far as is known since the connection was made
        self.clocks = ClockOffset()

    def view(self) -> PeerView:
        """Return what is known of it."""
        peer, (ahead, uncertainty) = self._peer, self.clocks.now or (None, None)
        return PeerView(
            peer.name, peer.address, self._state, self._since, self._round_trip, self._problem,
            ahead, uncertainty, self.takes_groups,
        )  # fmt: skip

    async def close(self) -> None:
        """Close the connections and cancel open calls; no call may follow."""
        self._closed = True
        for line in list(self._lines):
            await line.close()

    async def call(self, request: Request) -> Reply:
        """See PeerClients."""
        if isinstance(request, TellMember):
            [told] = await self.tell_members([request])
            return told
        return await self._made(lambda deadline: self._call(request, deadline))

    async def tell_members(self, news: Sequence[TellMember]) -> Sequence[MemberTold]:
        """See PeerClients. A peer that does not know the call is not told: its jobs learn by their questions."""
        if not self._takes_news:
            return [MemberTold(True)] * len(news)
        return await self._made(lambda deadline: self._tell_members(news, deadline))

    async def _made(self, call: Callable[[float], Awaitable[Told]]) -> Told:
        """Make a call, until its deadline, and note whether there is an answer."""
        deadline = self._loop.time() + self._timeout
        try:
            await self._take_room(deadline)
            try:
                reply = await call(deadline)
            finally:
                self._room.release()
        except CallError as error:
            self._failed(error)
            raise
        self._refuses_calls = False
        self._is(states.PEER_STATE_REACHABLE, "")
        return reply

    async def _take_room(self, deadline: float) -> None:
        """Wait while there are too many open calls."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._room.acquire()
        except TimeoutError:
            raise CallError(Failure.UNREACHABLE, f"{MAX_OPEN_CALLS} calls to it are open") from None

    async def _call(self, request: Request, deadline: float) -> Reply:
        once, mutating = isinstance(request, MutatingRequest), isinstance(request, MutatingRequest | GroupOrder)
        call = ON_WIRE[type(request)]
        message = call.write_request(request, self._here, self._peer.name)

        def read(answer: Any) -> Reply:
            reply: Reply = call.read_reply(answer, self._peer.name)
            call.check(request, reply)
            return reply

        answer = (self._order if once else self._ask)(message, deadline)
        return await self._read(answer, read, OF_PAIRS_ONLY.get(type(request)), mutating=mutating)

    async def _tell_members(self, news: Sequence[TellMember], deadline: float) -> Sequence[MemberTold]:
        told: list[MemberTold] = []
        for message in write_news(news, self._here, self._peer.name):
            untold = [MemberTold(True)] * len(message.news)
            read = partial(read_heard, number=len(message.news))
            heard = await self._read(self._ask(message, deadline), read, untold, mutating=False)
            self._takes_news = heard is not untold
            told += heard
        return told

    async def _read(
        self, answer: Awaitable[Any], read: Callable[[Any], Told], if_unknown: Told | None, *, mutating: bool
    ) -> Told:
        """Return the answer as it is read; `if_unknown`: that of a peer that does not know the call. CallError."""
        try:
            if (message := await answer) is None:
                raise FieldError("the message", "cannot be read")
            return read(message)
        except AioRpcError as error:
            if error.code() is StatusCode.UNIMPLEMENTED and if_unknown is not None:
                return if_unknown
            failed = failure(error, mutating)
            if error.code() is StatusCode.DEADLINE_EXCEEDED and await self._is_alive():
                failed = CallError(Failure.SLOW if mutating else Failure.BUSY, failed.problem)
        except FieldError as error:
            failed = CallError(Failure.REFUSED, f"its answer breaks the protocol: {error}")
        self._refuses_calls = failed.failure is Failure.REFUSED
        raise failed

    async def _order(self, message: Any, deadline: float) -> Any:
        """Send a call that must not be repeated, once, on a connection that stands. AioRpcError: it was sent, or may
        have been; CallError: it was not sent.
        """
        line = await self._usable_line()
        if not line.stands:
            line = await self._connected_line(deadline)
        return await self._send(line, message, deadline)

    async def _connected_line(self, deadline: float) -> Line:
        """Return a line that stands, if need be after a harmless question on it; CallError."""
        failed = CallError(Failure.UNREACHABLE, "the connection broke at once")
        try:
            await self._ask(HealthCheckRequest(), deadline)
        except AioRpcError as error:  # it may be an answer, which proves a connection too
            failed = failure(error, mutating=False)
        line = await self._usable_line()
        if not line.stands or self._loop.time() >= deadline:
            raise failed
        return line

    async def _ask(self, message: Any, deadline: float) -> Any:
        """Send a call that may be repeated; AioRpcError; CallError: the certificates are at fault.

        A connection may be dead although the peer is up (because it was restarted). So repeat the call on a new one.
        """
        line = await self._usable_line()
        if line.stands:
            try:
                return await self._send(line, message, deadline)
            except AioRpcError as error:
                if not is_lost(error):
                    raise
            await self._drop(line)
            line = await self._usable_line()
        try:
            return await self._send(line, message, deadline)
        except AioRpcError as error:
            if not is_lost(error) or not await self._is_up(deadline):
                raise
        return await self._send(await self._usable_line(), message, deadline)  # a certificate was just replaced

    async def _send(self, line: Line, message: Any, deadline: float) -> Any:
        sent_at = self._loop.time()
        self._takes_news |= not line.stands  # the connection is made anew: perhaps to a newer version
        try:
            answer = await line.ask(message, deadline - sent_at)
        except AioRpcError as error:
            if error.code() is StatusCode.DEADLINE_EXCEEDED:  # the connection may be dead
                await self._drop(line)
            raise
        self._round_trip = self._loop.time() - sent_at
        return answer

    async def _is_up(self, deadline: float) -> bool:
        """Whether the peer can be reached after all. CallError if a problem with TLS prevents the connection: the peer
        then looks as if it were down.
        """
        remaining, address, problem = deadline - self._loop.time(), self._peer.address, None
        if remaining > 0 and self._credentials is not None:
            problem = await self._credentials.probe(address, remaining, self._peer.identity)
        elif remaining > 0 and not self._peer.is_local and await speaks_tls(address, remaining):
            problem = "the peer speaks TLS, but this domain is configured to speak without (domain.plaintext)"
        if problem:
            raise CallError(Failure.REFUSED, one_line(problem))
        return problem is not None

    async def _usable_line(self) -> Line:
        """Return the line for a new call: a new one if the certificates have changed, or if the last attempt to connect
        has failed, so as to try again at once. After some time it is a new one in any case, since gRPC does not tell
        when the peer's certificate expires, and checks it when a connection begins.
        """
        if self._closed:
            raise asyncio.CancelledError
        generation, credentials = self._credentials.current() if self._credentials else (0, None)
        line = self._line
        old = line is not None and credentials is not None and self._loop.time() > self._made_at + OLDEST_LINE
        if line is not None and (generation != self._generation or line.failed or old):
            await self._drop(line)
        if self._line is None:
            self._line = Line(self._peer.address, credentials, self._options, self._timeout)
            self._lines.add(self._line)
            self._generation, self._made_at = generation, self._loop.time()
        return self._line

    async def _drop(self, line: Line) -> None:
        """Stop using this line for new calls."""
        if self._line is line:
            self._line = None
            await line.retire()

    async def beat(self) -> None:
        """Ask for its health, and for its time if it is well. Do nothing if this is under way."""
        if self._beating:
            return
        self._beating = True
        try:
            if not await self._is_serving():
                self._failed(CallError(Failure.BUSY, "it says that it does not serve now"))
                return
            if not self._refuses_calls:
                self._is(states.PEER_STATE_REACHABLE, "")
            self._health(self._peer.name, True)
            await self.compare_clocks()
        except CallError as error:
            self._failed(error)
            if error.failure is not Failure.REFUSED:
                self._health(self._peer.name, error.failure is Failure.BUSY)
        finally:
            self._beating = False

    async def tell(self, presence: TellPresenceRequest, timeout: float) -> None:
        """See PeerClients."""
        with suppress(AioRpcError, CallError, TimeoutError):  # not all peers know it
            async with asyncio.timeout(timeout):
                await self._ask(presence, self._loop.time() + timeout)

    async def ask(self, question: Any, kind: type[Told], lacks: str) -> Told:
        """Ask what changes nothing; `kind`: of its answer; `lacks`: what one does that does not know it. CallError."""
        try:
            answer = await self._ask(question, self._loop.time() + self._timeout)
        except AioRpcError as error:
            if error.code() is StatusCode.UNIMPLEMENTED:
                raise CallError(Failure.REFUSED, f"its version {lacks}") from error
            raise failure(error, mutating=False) from error
        if not isinstance(answer, kind):
            raise CallError(Failure.REFUSED, "its answer cannot be read")
        return answer

    async def _is_alive(self) -> bool:
        """Return whether it answers health checks, even though it has not answered a call."""
        try:
            await self._is_serving()
        except CallError as error:
            return error.failure is not Failure.UNREACHABLE
        return True

    async def _is_serving(self) -> bool:
        """Return whether it says that it serves, and is neither stopping nor stalled; CallError."""
        try:
            answer = await self._ask(HealthCheckRequest(), self._loop.time() + self._timeout)
        except AioRpcError as error:
            if error.code() not in _ANSWERS:
                raise failure(error, mutating=False) from error
            return True
        return answer is not None and bool(answer.status == HealthCheckResponse.SERVING)

    async def compare_clocks(self) -> None:
        """Compare clocks. It is no fault if there is no answer: not all peers know the call, nor groups."""
        asked = self.clocks.steady()
        try:
            answer = await self._ask(CompareClocksRequest(), self._loop.time() + self._timeout)
        except AioRpcError as error:
            if error.code() is StatusCode.UNIMPLEMENTED:
                self.takes_groups = False
        except CallError:
            pass
        else:
            if answer is not None:
                self.takes_groups, self.waits_for_starts = answer.takes_groups, answer.waits_for_starts
                with suppress(FieldError):
                    self.clocks.add(asked, *read_clock(answer))

    def _failed(self, error: CallError) -> None:
        self._is(_STATES.get(error.failure, states.PEER_STATE_UNREACHABLE), error.problem)

    def _is(self, state: int, problem: str) -> None:
        self._problem = problem
        if state != self._state:
            self._state = state
            self._since = time.time()
            self._told(self.view())
