"""Relays a connection: each end sends what the other receives, with flow control and half-closed ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast


class Relay:
    """Two connections joined into one: `near`, which came first, and `far`; both are asyncio protocols.

    `arrived` is called when the near connection is there; nothing is read from it before `resume_reading` of its
    transport. `ended` is called when both have ended.
    """

    def __init__(self, arrived: Callable[[Relay, asyncio.Transport], None], ended: Callable[[Relay], None]) -> None:
        self.near, self.far = _End(), _End()
        self.near.other, self.far.other = self.far, self.near
        self.near.made = self._made
        self._arrived = arrived
        self.near.lost = self.far.lost = self._lost
        self._ended = ended

    def abort(self) -> None:
        """Close both connections at once."""
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.abort()

    def _made(self, transport: asyncio.Transport) -> None:
        # Soon, not now: Python before 3.11.3 would still begin to read after this call.
        asyncio.get_running_loop().call_soon(transport.pause_reading)
        self._arrived(self, transport)

    def _lost(self) -> None:
        if self.near.transport is None and self.far.transport is None:
            self._ended(self)


class _End(asyncio.Protocol):
    """One of the two connections; `transport` is None before it is made and after it is lost."""

    other: _End
    made: Callable[[asyncio.Transport], None] | None = None
    lost: Callable[[], None]
    transport: asyncio.Transport | None = None
    _at_end = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        if self.made is not None:
            self.made(self.transport)

    def data_received(self, data: bytes) -> None:
        if self.other.transport is not None:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        """Keep the other direction open until it ends too."""
        self._at_end = True
        if self.other.transport is None or self.other._at_end:
            return False
        self.other.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        if self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self.transport = None
        if self.other.transport is not None:
            self.other.transport.close()
        self.lost()
