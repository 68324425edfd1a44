"""/metrics and /healthz, asked over real sockets."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from cosched.service.listeners.http import CONNECTIONS, HttpServer
from cosched.service.metrics import Metrics
from tests.waiting import until

PATIENCE = 300.0


class Site:
    """A server and its health."""

    def __init__(self, **limits: float) -> None:
        self.problem: str | None = None
        limits = {"patience": PATIENCE, **limits}
        self.server = HttpServer("127.0.0.1:0", self.metrics, lambda: self.problem, **limits)
        self.broken = False

    def metrics(self) -> bytes:
        if self.broken:
            raise RuntimeError("no metrics today")
        return Metrics("1.2.3").text()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.server.port)

    async def ask(self, request: bytes) -> tuple[str, dict[str, str], bytes]:
        """Status line, headers and body of the answer."""
        reader, writer = await self.connect()
        writer.write(request)
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *headers = head.decode().split("\r\n")
        return status, dict(line.split(": ", 1) for line in headers), body

    async def get(self, path: str) -> tuple[str, dict[str, str], bytes]:
        return await self.ask(f"GET {path} HTTP/1.1\r\nHost: LocalHost:9100\r\n\r\n".encode())


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    here = Site()
    await here.server.start()
    yield here
    await here.server.stop()


async def test_metrics(site: Site) -> None:
    status, headers, body = await site.get("/metrics?name[]=x")
    assert status == "HTTP/1.1 200 OK"
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert int(headers["Content-Length"]) == len(body)
    assert b'\ncosched_build_info{version="1.2.3"} 1.0\n' in body


async def test_health(site: Site) -> None:
    assert (await site.get("/healthz"))[::2] == ("HTTP/1.1 200 OK", b"ok\n")
    site.problem = "the database cannot be written: No space left on device"
    status, _, body = await site.get("/healthz")
    assert status == "HTTP/1.1 503 Service Unavailable"
    assert body.decode() == site.problem + "\n"
    site.problem = "x" * 10_000
    assert len((await site.get("/healthz"))[2]) < 1000


async def test_head_has_no_body(site: Site) -> None:
    status, headers, body = await site.ask(b"HEAD /healthz HTTP/1.0\r\n\r\n")
    assert (status, headers["Content-Length"], body) == ("HTTP/1.1 200 OK", "3", b"")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET / HTTP/1.1", "404 Not Found"),
        (b"GET /metrics/ HTTP/1.1", "404 Not Found"),
        (b"GET /healthz/../../etc/passwd HTTP/1.1", "404 Not Found"),
        (b"POST /metrics HTTP/1.1", "405 Method Not Allowed"),
        (b"get /metrics HTTP/1.1", "405 Method Not Allowed"),
        (b"GET /metrics", "400 Bad Request"),
        (b"GET /metrics HTTP/2.0", "400 Bad Request"),
        (b"", "400 Bad Request"),
        (b"\x16\x03\x01\x00\xff\xfe", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example", "421 Misdirected Request"),
        (b"GET /healthz HTTP/1.1\r\nhost : localhost.evil.example:80", "421 Misdirected Request"),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked", "400 Bad Request"),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1", "431 Request Header Fields Too Large"),
    ],
)
async def test_what_is_refused(site: Site, request_line: bytes, status: str) -> None:
    answer = await site.ask(request_line + b"\r\n\r\n")
    assert answer[0] == f"HTTP/1.1 {status}"
    assert answer[1].get("Allow") == ("GET, HEAD" if status.startswith("405") else None)


async def test_headers_without_end_are_refused(site: Site) -> None:
    status, _, _ = await site.ask(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 5000)
    assert status.startswith("HTTP/1.1 431 ")


async def test_a_failure_is_logged_and_said(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.broken = True
    assert (await site.get("/metrics"))[0] == "HTTP/1.1 500 Internal Server Error"
    assert "no metrics today" in caplog.text
    assert (await site.get("/healthz"))[0] == "HTTP/1.1 200 OK"


async def test_a_client_that_does_not_end_its_request_is_cut_off() -> None:
    site = Site(patience=0.2)
    await site.server.start()
    reader, writer = await site.connect()
    writer.write(b"GET /metrics HT")
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ConnectionError):
            await _read_or_reset(reader)
    writer.close()
    await site.server.stop()


async def _read_or_reset(reader: asyncio.StreamReader) -> None:
    if await reader.read() == b"":
        raise ConnectionResetError


async def test_many_clients_that_keep_their_connections_do_not_lock_others_out(site: Site) -> None:
    before = len(os.listdir("/proc/self/fd"))
    idle = [await site.connect() for _ in range(4 * CONNECTIONS)]
    for _, writer in idle:
        writer.write(b"GET /met")
    assert (await site.get("/healthz"))[0] == "HTTP/1.1 200 OK"
    assert len(os.listdir("/proc/self/fd")) <= before + len(idle) + CONNECTIONS
    assert (await site.get("/metrics"))[0] == "HTTP/1.1 200 OK"
    for _, writer in idle:
        writer.transport.abort()


async def test_no_descriptor_is_left_open(site: Site) -> None:
    await site.get("/healthz")
    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*(site.get("/healthz") for _ in range(20)))
    idle = [await site.connect() for _ in range(2 * CONNECTIONS)]
    for _, writer in idle:
        writer.transport.abort()
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_stop_ends_what_is_open_and_frees_the_port() -> None:
    site = Site()
    await site.server.start()
    port = site.server.port
    reader, writer = await site.connect()
    await site.get("/healthz")
    await site.server.stop()
    await site.server.stop()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ConnectionError):
            await _read_or_reset(reader)
    writer.close()
    again = HttpServer(f"127.0.0.1:{port}", site.metrics, lambda: None)
    await again.start()
    with pytest.raises(OSError, match="Address already in use"):
        await HttpServer(f"127.0.0.1:{port}", site.metrics, lambda: None).start()
    await again.stop()


async def test_ipv6_loopback() -> None:
    site = Site()
    site.server = HttpServer("[::1]:0", site.metrics, lambda: None)
    try:
        await site.server.start()
    except OSError:
        pytest.skip("this host has no IPv6")
    reader, writer = await asyncio.open_connection("::1", site.server.port)
    writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
    assert (await reader.read()).endswith(b"ok\n")
    writer.close()
    await site.server.stop()
