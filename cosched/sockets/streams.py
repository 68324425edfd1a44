"""Many connections over one stream of bytes, such as the standard input and output of `ssh HOST PROGRAM`.

A frame is a head (number of the connection, kind, length) and data. Each end numbers the connections that it opens: one
the even numbers, the other the odd ones. There is no flow control of our own: what is on the way is bounded by that of
the connections themselves, which speak HTTP/2. Each end says now and then that it lives: an ssh that is stopped, or
whose network has gone silent, would keep a dead stream open.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

_HEAD = struct.Struct("!IBI")
_OPEN, _DATA, _END, _BEAT = range(4)
BEAT = 5.0  # seconds between two signs of life
SILENT = 20.0  # seconds without any, after which the stream has ended
_MOST = 1 << 16  # bytes of data in a frame
_ONLY_OURS, _ANYBODY = 0o600, 0o666  # modes of the socket
_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_Arrive = Callable[[], Awaitable[_Connection]]


class StreamError(Exception):
    """The other end does not speak this protocol, or is silent."""


class Streams:
    """One end. `arrive` connects what the other end opens; OSError: it cannot, so that connection ends at once."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, arrive: _Arrive, *, first: bool
    ) -> None:
        self._reader, self._writer = reader, writer
        self._arrive = arrive
        self._numbers = itertools.count(1 if first else 2, 2)
        self._open: dict[int, asyncio.StreamWriter] = {}
        self._pumps: set[asyncio.Task[None]] = set()

    async def join(self, path: Path, *, others: bool = False) -> None:
        """Open a connection at the other end for each one made at the Unix socket `path`, until the stream ends.

        `others`: all who may enter its folder may connect, not only this user. OSError: the path cannot be used;
        StreamError.
        """
        path.unlink(missing_ok=True)  # an earlier stream has left it, or is about to end
        before = os.umask(0o777 & ~(_ANYBODY if others else _ONLY_OURS))
        try:
            server = await asyncio.start_unix_server(self._connected, path)
        finally:
            os.umask(before)
        ours = path.stat().st_ino
        beating = asyncio.create_task(self._beat())
        try:
            await self._read()
        finally:
            beating.cancel()
            server.close()
            with suppress(OSError):
                if path.stat().st_ino == ours:
                    path.unlink()
            for pump in self._pumps:
                pump.cancel()
            for connection in self._open.values():
                connection.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(self._numbers)
        self._send(number, _OPEN)
        await self._begin(number, (reader, writer))

    async def _begin(self, number: int, connection: _Connection) -> None:
        reader, self._open[number] = connection
        task = asyncio.create_task(self._pump(number, reader))
        self._pumps.add(task)
        task.add_done_callback(self._pumps.discard)

    async def _pump(self, number: int, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(_MOST):
                self._send(number, _DATA, data)
                await self._writer.drain()
        if (writer := self._open.pop(number, None)) is not None:
            writer.close()
            with suppress(OSError):
                self._send(number, _END)

    def _send(self, number: int, kind: int, data: bytes = b"") -> None:
        self._writer.write(_HEAD.pack(number, kind, len(data)) + data)

    async def _read(self) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                try:
                    async with asyncio.timeout(SILENT):
                        number, kind, length = _HEAD.unpack(await self._reader.readexactly(_HEAD.size))
                        if length > _MOST or kind > _BEAT:
                            raise StreamError("what comes over the stream is not of cosched")
                        data = await self._reader.readexactly(length)
                except TimeoutError:
                    raise StreamError(f"nothing has come for {SILENT:g} s: ssh, or the network, hangs") from None
                await self._take(number, kind, data)

    async def _beat(self) -> None:
        while True:
            self._send(0, _BEAT)
            await asyncio.sleep(BEAT)

    async def _take(self, number: int, kind: int, data: bytes) -> None:
        if kind == _OPEN:
            try:
                await self._begin(number, await self._arrive())
            except OSError:
                self._send(number, _END)
        elif kind == _DATA and number in self._open:
            self._open[number].write(data)
        elif kind == _END and (writer := self._open.pop(number, None)) is not None:
            writer.close()
