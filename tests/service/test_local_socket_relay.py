"""Connections that are passed on: all bytes arrive, no buffer grows without bound, an end reaches the other side."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from cosched.service.listeners.relay import Relay
from tests.waiting import until

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BIG = os.urandom(3 << 20)
PATIENCE = 300  # seconds; only a safety net


class Passing:
    """A socket whose connections are passed on to another."""

    def __init__(self) -> None:
        self.relays: list[Relay] = []
        self.ended = 0
        self._connecting: set[asyncio.Task[None]] = set()

    async def open(self, here: Path, there: Path) -> None:
        self._there = there
        self._server = await asyncio.get_running_loop().create_unix_server(self._relay, here)

    def _relay(self) -> asyncio.Protocol:
        return Relay(self._arrived, self._ended).near

    def _arrived(self, relay: Relay, transport: asyncio.Transport) -> None:
        self.relays.append(relay)
        self._connecting.add(asyncio.create_task(self._connect(relay, transport)))

    async def _connect(self, relay: Relay, transport: asyncio.Transport) -> None:
        await asyncio.get_running_loop().create_unix_connection(lambda: relay.far, self._there)
        transport.resume_reading()

    def _ended(self, relay: Relay) -> None:
        assert relay in self.relays
        self.ended += 1

    async def close(self) -> None:
        self._server.close()
        for relay in self.relays:
            relay.abort()
        await until(lambda: self.ended == len(self.relays))


@contextlib.asynccontextmanager
async def passing(folder: Path, handler: Handler) -> AsyncIterator[tuple[Passing, Any, Any]]:
    """A connection to `handler` that is passed on."""
    relays = Passing()
    async with asyncio.timeout(PATIENCE):
        server = await asyncio.start_unix_server(handler, folder / "far")
        await relays.open(folder / "near", folder / "far")
        reader, writer = await asyncio.open_unix_connection(folder / "near")
        try:
            yield relays, reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            await relays.close()
            server.close()


async def test_both_directions_pass_at_once(tmp_path: Path) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100_000):
            writer.write(data)
            await writer.drain()
        writer.close()

    async with passing(tmp_path, echo) as (relays, reader, writer):
        writer.write(BIG)
        assert await reader.readexactly(len(BIG)) == BIG
        writer.write_eof()
        assert await reader.read() == b""
        await until(lambda: relays.ended == 1)


async def test_answer_passes_after_the_questions_end(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read())[::-1])
        writer.close()

    async with passing(tmp_path, answer) as (relays, reader, writer):
        writer.write(BIG)
        writer.write_eof()
        assert await reader.read() == BIG[::-1]
        await until(lambda: relays.ended == 1)


async def test_sender_waits_for_a_slow_reader(tmp_path: Path) -> None:
    sent = 0

    async def pour(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        with contextlib.suppress(OSError):
            for _number in range(64):
                writer.write(BIG[: 1 << 20])
                await writer.drain()
                sent += 1
        writer.close()

    async with passing(tmp_path, pour) as (relays, reader, _):
        await until(lambda: bool(relays.relays) and relays.relays[0].far.transport is not None)
        far = relays.relays[0].far.transport
        await until(lambda: not far.is_reading())
        assert sent < 16  # MiB; far less than the whole
        assert await reader.readexactly(64 << 20) == BIG[: 1 << 20] * 64
        assert sent == 64


async def test_a_side_learns_that_the_other_has_died(tmp_path: Path) -> None:
    closed = asyncio.Event()

    async def end_if_told(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1) == b"x":
            writer.transport.abort()
        else:
            writer.close()
        closed.set()

    async with passing(tmp_path, end_if_told) as (relays, reader, writer):
        writer.write(b"x")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        await until(lambda: relays.ended == 1)
        closed.clear()
        _, other = await asyncio.open_unix_connection(tmp_path / "near")
        other.transport.abort()
        await closed.wait()
        await until(lambda: relays.ended == 2)
