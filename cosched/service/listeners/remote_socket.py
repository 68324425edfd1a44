"""The listener for other hosts: other domains, and users with certificates.

gRPC checks certificates when a connection begins. So a connection ends when the caller's certificate or ours has
expired, and when the files of [tls] have changed: the next one is checked anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import grpc

from cosched.service.api.answering import Context
from cosched.service.listeners.front import Front, Passed
from cosched.service.wire.callers import Caller
from cosched.service.wire.tls import expiry
from cosched.service.wire.tls_files import TlsFiles
from cosched.sockets.accepting import listen
from cosched.sockets.connections import Room

LOOK = 5.0  # seconds between two looks at certificates


class RemoteSocket(Front):
    """A gRPC server on an address HOST:PORT; port 0 is any free one."""

    def __init__(self, address: str, private: Path, room: Room, files: TlsFiles | None = None) -> None:
        """`files`: those of the server's TLS; None: it has none."""
        super().__init__(address, private, room)
        self._address = address
        self._files = files
        self._next: asyncio.TimerHandle | None = None
        self.port = 0  # set by `open`

    async def open(self, server: grpc.aio.Server, add_port: Callable[[str], object]) -> None:
        """Start listening; OSError if the address cannot be used, InputError if the private folder cannot."""
        listeners = listen(self._address)
        self.port = listeners[0].getsockname()[1]
        try:
            await self.start(listeners, server, add_port)
        except BaseException:
            for listener in listeners:
                listener.close()
            raise
        if self._files is not None:
            self._look(self._files)

    async def close(self, grace: float | None = None) -> None:
        """See Front."""
        if self._next is not None:
            self._next.cancel()
        await super().close(grace)

    def keep(self, context: Context, caller: Caller) -> None:
        """See Front; note until when the caller's certificate is valid."""
        super().keep(context, caller)
        if self._files is not None and (passed := self.passed(context)) is not None and passed.expires is None:
            passed.expires = expiry(context.auth_context())

    def _generation(self) -> int:
        return self._files.current()[0] if self._files is not None else 0

    def _look(self, files: TlsFiles) -> None:
        """End connections whose certificates would be refused now."""
        generation, material = files.current()
        now, problem = datetime.now(UTC), material.problem()
        for relay, passed in list(self._passed.items()):
            if problem is not None:
                self._log.warning("ours", "connections end: our certificate %s", problem)
            elif _has_expired(passed, now):
                origin = passed.connection.origin
                self._log.warning(origin, "the certificate of %s has expired: its connection ends", origin)
            elif passed.generation == generation:
                continue
            relay.abort()
        self._next = asyncio.get_running_loop().call_later(LOOK, self._look, files)


def _has_expired(passed: Passed, now: datetime) -> bool:
    return passed.expires is not None and passed.expires < now
