"""A TCP proxy with the faults of networks, to be put between a client and a server, in one process or several.

    with FaultyProxy("127.0.0.1:7702") as proxy:
        ...                                # the client connects to proxy.address
        proxy.set(SWALLOW_REPLIES)         # requests pass, replies do not
        ...                                # wait until the server has carried the request out
        proxy.cut()                        # and now the connection is lost, and the reply with it
        proxy.set(PASS)

It lives in a thread of its own, so it goes on while the test blocks; its methods may be called from anywhere, and have
taken effect when they return. It keeps its port until its end, also while it refuses connections.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter


@dataclass(frozen=True)
class Fault:
    """What the proxy does wrong; PASS: nothing. It applies to the open connections too, from now on."""

    refuse: bool = False  # nobody listens, and the open connections are reset
    black_hole: bool = False  # nothing passes, either way, and nobody is told; what was sent arrives when it ends
    swallow_replies: bool = False  # what the server sends is lost
    cut_after: int | None = None  # bytes of replies, counted from now over all connections: then all are closed
    delay: float = 0.0  # seconds by which replies are late


PASS = Fault()
REFUSE = Fault(refuse=True)
BLACK_HOLE = Fault(black_hole=True)
SWALLOW_REPLIES = Fault(swallow_replies=True)


def cut_after(count: int) -> Fault:
    """All connections are closed when `count` more bytes of replies have passed."""
    return Fault(cut_after=count)


def delay_replies(seconds: float) -> Fault:
    """What the server sends is that late."""
    return Fault(delay=seconds)


class FaultyProxy:
    """Passes bytes on between whoever connects to `address` and `target` ("HOST:PORT"; may be changed)."""

    def __init__(self, target: str, fault: Fault = PASS) -> None:
        self.target = target
        self.accepted = 0  # connections so far
        self._fault = fault
        self._replied = 0  # bytes since the fault was set
        self._spoilt: set[Writer] = set()  # connections that lost bytes: they never carry any again
        self._writers: set[Writer] = set()
        self._listener: socket.socket | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._port = socket.socket()  # bound but not listening: it keeps the port ours
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._port.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._port.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="faulty proxy", daemon=True)
        self._thread.start()
        self.set(self._fault)
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._port.close()

    def set(self, fault: Fault) -> None:
        """Have this fault, and no other, from now on."""
        self._run(self._set(fault))

    def cut(self) -> None:
        """Reset all open connections; new ones are accepted as before."""
        self._run(self._cut(self._writers))

    @property
    def open(self) -> int:
        """How many connections are open, counted on both sides."""
        return len(self._writers)

    def _run(self, action: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(action, self._loop).result(timeout=600)

    # In the proxy's thread

    async def _set(self, fault: Fault) -> None:
        self._fault = fault
        self._replied = 0
        if fault.refuse:
            self._stop_listening()
        elif self._listener is None:
            self._listen()
        await self._cut(self._writers if fault.refuse else self._spoilt)

    def _listen(self) -> None:
        self._listener = socket.create_server(self._port.getsockname(), reuse_port=True)
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._accept, self._listener)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self, listener: socket.socket) -> None:
        with suppress(BlockingIOError, ConnectionAbortedError):  # the client has gone already
            client, _ = listener.accept()
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio does so for its own sockets only
            self.accepted += 1
            connection = self._loop.create_task(self._connected(client))
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)

    async def _cut(self, writers: set[Writer]) -> None:
        doomed = list(writers)
        for writer in doomed:
            _reset(writer)
        while not self._writers.isdisjoint(doomed):
            await asyncio.sleep(0.001)

    async def _end(self) -> None:
        self._stop_listening()
        while self._connections:
            await self._cut(self._writers)
            await asyncio.sleep(0.001)

    async def _connected(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        self._writers.add(writer)
        try:
            await self._out_of_the_hole(writer)
            host, _, port = self.target.rpartition(":")
            with suppress(OSError):  # the target does not listen, or one of them has gone
                await self._join(reader, writer, *await asyncio.open_connection(host, int(port)))
        finally:
            await self._forget(writer)

    async def _join(self, reader: Reader, writer: Writer, upstream_reader: Reader, upstream: Writer) -> None:
        self._writers.add(upstream)
        pumps = [
            asyncio.ensure_future(self._pass_requests(reader, upstream, writer)),
            asyncio.ensure_future(self._pass_replies(upstream_reader, writer, upstream)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            await self._forget(upstream)

    async def _pass_requests(self, reader: Reader, writer: Writer, back: Writer) -> None:
        while data := await reader.read(65536):
            await self._out_of_the_hole(writer, back)
            writer.write(data)
            await writer.drain()

    async def _pass_replies(self, reader: Reader, writer: Writer, back: Writer) -> None:
        while data := await reader.read(65536):
            await self._out_of_the_hole(writer, back)
            await asyncio.sleep(self._fault.delay)
            if self._fault.swallow_replies:
                self._spoilt.add(writer)
                continue
            writer.write(data[: self._allowance()])
            await writer.drain()
            self._replied += len(data)
            if self._allowance() == 0:
                for other in self._writers:
                    other.close()

    def _allowance(self) -> int | None:
        """How many bytes of replies may pass yet; None: any number."""
        limit = self._fault.cut_after
        return None if limit is None else max(0, limit - self._replied)

    async def _out_of_the_hole(self, *ends: Writer) -> None:
        """Wait for the end of a black hole, or of this connection."""
        while self._fault.black_hole and not any(end.transport.is_closing() for end in ends):
            await asyncio.sleep(0.01)

    async def _forget(self, writer: Writer) -> None:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        self._writers.discard(writer)
        self._spoilt.discard(writer)


def _reset(writer: Writer) -> None:
    """Close it at once and impolitely, as if the other host had crashed and come back."""
    with suppress(OSError):  # it is closed already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
