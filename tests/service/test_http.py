"""/metrics and /healthz, asked over real sockets."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from cosched.service.listeners.http import CONNECTIONS, HttpServer
from cosched.service.metrics import Metrics
from tests.service.page_clients import PATIENCE, Asker, ended
from tests.waiting import until


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

    @property
    def asker(self) -> Asker:
        return Asker(self.server.port, {"Host": "LocalHost:9100"})


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    here = Site()
    await here.server.start()
    yield here
    await here.server.stop()


async def test_metrics(site: Site) -> None:
    answer = await site.asker.get("/metrics?name[]=x")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert int(answer.headers["content-length"]) == len(answer.text)
    assert '\ncosched_build_info{version="1.2.3"} 1.0\n' in answer.text


async def test_health(site: Site) -> None:
    answer = await site.asker.get("/healthz")
    assert (answer.status, answer.text) == (200, "ok\n")
    site.problem = "the database cannot be written: No space left on device"
    answer = await site.asker.get("/healthz")
    assert (answer.status, answer.text) == (503, site.problem + "\n")
    site.problem = "x" * 10_000
    assert len((await site.asker.get("/healthz")).text) < 1000


async def test_head_has_no_body(site: Site) -> None:
    answer = await site.asker.ask(b"HEAD /healthz HTTP/1.0\r\n\r\n")
    assert (answer.status, answer.headers["content-length"], answer.text) == (200, "3", "")


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET / HTTP/1.1", 404),
        (b"GET /metrics/ HTTP/1.1", 404),
        (b"GET /healthz/../../etc/passwd HTTP/1.1", 404),
        (b"POST /metrics HTTP/1.1", 405),
        (b"get /metrics HTTP/1.1", 405),
        (b"GET /metrics", 400),
        (b"GET /metrics HTTP/2.0", 400),
        (b"", 400),
        (b"\x16\x03\x01\x00\xff\xfe", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example", 421),
        (b"GET /healthz HTTP/1.1\r\nhost : localhost.evil.example:80", 421),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked", 400),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1", 431),
        (b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 5000, 431),
    ],
)
async def test_what_is_refused(site: Site, request_line: bytes, status: int) -> None:
    answer = await site.asker.ask(request_line + b"\r\n\r\n")
    assert answer.status == status
    assert answer.headers.get("allow") == ("get, head" if status == 405 else None)


async def test_a_failure_is_logged_and_said(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.broken = True
    assert (await site.asker.get("/metrics")).status == 500
    assert "no metrics today" in caplog.text
    assert (await site.asker.get("/healthz")).status == 200


async def test_a_client_that_does_not_end_its_request_is_cut_off() -> None:
    site = Site(patience=0.2)
    await site.server.start()
    reader, writer = await site.asker.connect()
    writer.write(b"GET /metrics HT")
    await ended(reader, writer)
    await site.server.stop()


async def test_many_clients_that_keep_their_connections_do_not_lock_others_out(site: Site) -> None:
    before = len(os.listdir("/proc/self/fd"))
    idle = [await site.asker.connect() for _ in range(4 * CONNECTIONS)]
    for _, writer in idle:
        writer.write(b"GET /met")
    assert (await site.asker.get("/healthz")).status == 200
    assert len(os.listdir("/proc/self/fd")) <= before + len(idle) + CONNECTIONS
    assert (await site.asker.get("/metrics")).status == 200
    for _, writer in idle:
        writer.transport.abort()


async def test_no_descriptor_is_left_open(site: Site) -> None:
    await site.asker.get("/healthz")
    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*(site.asker.get("/healthz") for _ in range(20)))
    idle = [await site.asker.connect() for _ in range(2 * CONNECTIONS)]
    for _, writer in idle:
        writer.transport.abort()
    await until(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_stop_ends_what_is_open_and_frees_the_port() -> None:
    site = Site()
    await site.server.start()
    port = site.server.port
    reader, writer = await site.asker.connect()
    await site.asker.get("/healthz")
    await site.server.stop()
    await site.server.stop()
    await ended(reader, writer)
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
