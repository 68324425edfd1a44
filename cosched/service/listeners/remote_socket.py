"""The listener for other hosts: other domains, and users with certificates.

gRPC checks certificates when a connection begins. So a connection ends when the caller's certificate or ours has
expired, and when the files of [tls] have changed: the next one is checked anew. Whether the caller's certificate is
revoked is checked at each call, so that the caller is told; what it still receives ends with its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import grpc
from cryptography import x509

from cosched.service.api.answering import Context
from cosched.service.listeners.front import Front, Passed
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.tls import certificate
from cosched.service.wire.tls_files import Material, TlsFiles
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

    async def keep(self, context: Context, caller: Caller) -> None:
        """See Front; note the caller's certificate. Refusal: it is revoked."""
        if self._files is not None:
            passed = self.passed(context)
            shown = passed.certificate if passed is not None else None
            if (shown := shown or certificate(context.auth_context())) is not None:
                if self._files.current()[1].revokes(shown):
                    raise self._revoked(shown, caller, self.origin(context))
                if passed is not None:
                    passed.certificate = shown
        await super().keep(context, caller)

    def _revoked(self, of_caller: x509.Certificate, caller: Caller, origin: str) -> Refusal:
        which = f"{caller.via} (serial number {of_caller.serial_number:x})"
        self._log.warning((origin, which), "refused: %s of %s is revoked", which, origin)
        return Refusal(grpc.StatusCode.PERMISSION_DENIED, "CERTIFICATE_REVOKED", f"the {which} is revoked")

    def _generation(self) -> int:
        return self._files.current()[0] if self._files is not None else 0

    def _look(self, files: TlsFiles) -> None:
        """End connections whose certificates would be refused now."""
        generation, material = self._generation(), files.current()[1]
        now, problem = datetime.now(UTC), material.problem()
        if material.revocations is not None and (old := material.revocations.problem()):
            self._log.warning("list", "%s %s", material.revocations.path, old)
        for relay, passed in list(self._passed.items()):
            if problem is not None:
                self._log.warning("ours", "connections end: our certificate %s", problem)
            elif why := _void(passed, material, now):
                origin = passed.connection.origin
                self._log.warning((origin, why), "the certificate of %s %s: its connection ends", origin, why)
            elif passed.generation == generation and now.timestamp() < passed.until:
                continue
            relay.abort()
        self._next = asyncio.get_running_loop().call_later(LOOK, self._look, files)


def _void(passed: Passed, material: Material, now: datetime) -> str | None:
    """Return why the certificate of a caller is void now; None: it is not, or not known yet."""
    if passed.certificate is None:
        return None
    if passed.certificate.not_valid_after_utc < now:
        return "has expired"
    return "is revoked" if material.revokes(passed.certificate) else None
