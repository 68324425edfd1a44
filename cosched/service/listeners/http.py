"""/metrics and /healthz over plain HTTP, for Prometheus and health checks; nothing else.

Each connection gets one small answer, within a time limit. The number of connections is bounded: when there are too
many, the oldest is closed, so that clients that keep connections open cannot lock others out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from cosched.sockets.accepting import Acceptor, listen
from cosched.sockets.host_names import HostNames
from cosched.validation.addresses import parse_address

MAX_HEAD = 8192  # bytes of a request's line and headers
MAX_REASON = 500  # characters of the problem
PATIENCE = 5.0  # seconds for a whole connection
CONNECTIONS = 32
PLAIN = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    body: bytes
    kind: str = PLAIN
    headers: str = ""


class HttpServer:
    """Serves `metrics()`, in Prometheus' text format, and `health()`: None if healthy, else the problem."""

    def __init__(
        self,
        address: str,
        metrics: Callable[[], bytes],
        health: Callable[[], str | None],
        *,
        patience: float = PATIENCE,
        connections: int = CONNECTIONS,
    ) -> None:
        self._address = address
        self._names = HostNames(parse_address(address)[0].lower())
        self._metrics = metrics
        self._health = health
        self._patience = patience
        self._most = connections
        self._open: dict[asyncio.Task[None], None] = {}  # oldest first
        self._acceptors: list[Acceptor] = []
        self.port = 0  # set when it listens

    async def start(self) -> None:
        """Start listening; OSError if the address cannot be used."""
        listeners = listen(self._address)
        self.port = listeners[0].getsockname()[1]
        self._acceptors = [Acceptor(listener, self._accepted) for listener in listeners]

    async def stop(self) -> None:
        """Stop listening and close open connections."""
        while self._acceptors:
            self._acceptors.pop().close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accepted(self, accepted: socket.socket, _origin: str) -> None:
        if len(self._open) >= self._most:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.cancel()
        task = asyncio.get_running_loop().create_task(self._serve(accepted))
        self._open[task] = None
        task.add_done_callback(lambda done: self._closed(done, accepted))

    def _closed(self, task: asyncio.Task[None], accepted: socket.socket) -> None:
        self._open.pop(task, None)
        accepted.close()  # in case the task was cancelled before it began

    async def _serve(self, accepted: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=accepted, limit=MAX_HEAD)
        try:
            async with asyncio.timeout(self._patience):
                answer, body_wanted = await self._answer(reader)
                writer.write(_encoded(answer, body_wanted))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, EOFError):  # the client is too slow or gone: nobody to answer
            return
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[_Answer, bool]:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE), True
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _refusal(HTTPStatus.BAD_REQUEST), True
        method, target, _ = words
        lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        if b"transfer-encoding" in headers and b"content-length" in headers:
            return _refusal(HTTPStatus.BAD_REQUEST), True
        if not self._names.have(headers.get(b"host", b"localhost").decode("latin-1")):
            return _refusal(HTTPStatus.MISDIRECTED_REQUEST), True
        if method not in (b"GET", b"HEAD"):
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "Allow: GET, HEAD\r\n"), True
        return self._page(target.partition(b"?")[0]), method == b"GET"

    def _page(self, path: bytes) -> _Answer:
        try:
            if path == b"/metrics":
                return _Answer(HTTPStatus.OK, self._metrics(), METRICS)
            if path == b"/healthz":
                if (problem := self._health()) is None:
                    return _Answer(HTTPStatus.OK, b"ok\n")
                said = f"{problem[:MAX_REASON]}\n".encode(errors="replace")
                return _Answer(HTTPStatus.SERVICE_UNAVAILABLE, said)
        except Exception:
            _log.exception("/metrics or /healthz failed")
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR)
        return _refusal(HTTPStatus.NOT_FOUND)


def _refusal(status: HTTPStatus, headers: str = "") -> _Answer:
    return _Answer(status, f"{status.phrase}\n".encode(), headers=headers)


def _encoded(answer: _Answer, body_wanted: bool) -> bytes:
    head = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}\r\n"
        f"Content-Type: {answer.kind}\r\n"
        f"Content-Length: {len(answer.body)}\r\n"
        f"{answer.headers}"
        "X-Content-Type-Options: nosniff\r\n"
        "Cache-Control: no-store\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (answer.body if body_wanted else b"")
