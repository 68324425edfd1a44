"""Who may look at a page, how much, and what all answers have in common: the real server, with a small application."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from cosched.service.configuration_sections import Page
from cosched.service.listeners import page_server
from cosched.service.listeners.local_socket import listen_at
from cosched.service.listeners.page_server import PageServer
from cosched.service.page.guard import Guard
from cosched.service.page.limits import Limits, TooManyError
from cosched.service.page.viewers import Policy, Viewer, Viewers
from cosched.service.wire.callers import certificate_holders
from cosched.sockets.accepting import listen
from tests.service.page_clients import PATIENCE, Asker, ended
from tests.service.pki import USERS, Pki
from tests.waiting import until

PROXY = {"proxies": ["127.0.0.1"]}


async def who_is_it(scope: Any, receive: Any, send: Any) -> None:
    viewer = Request(scope).state.viewer
    await PlainTextResponse(f"{viewer.name} {viewer.operator}")(scope, receive, send)


class Site:
    """A server with this page's settings."""

    def __init__(self, folder: Path, app: Any = who_is_it, **settings: Any) -> None:
        self.socket = folder / "page.sock"
        page = Page.model_validate({**settings, "socket": self.socket} if settings.pop("at_socket", 0) else settings)
        viewers = Viewers(page, certificate_holders({}, None), ["op"])
        self.server = PageServer(Guard(app, viewers, Limits(page)), viewers, page.max_connections, None)
        listeners = listen("127.0.0.1:0")
        self.port = listeners[0].getsockname()[1]
        self.server.start([*listeners, listen_at(self.socket)])

    def asker(self, **headers: str) -> Asker:
        return Asker(self.port, headers)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Site]]:
    made: list[Site] = []

    def new(**settings: Any) -> Site:
        made.append(Site(tmp_path, **settings))
        return made[-1]

    yield new
    for site in made:
        await site.server.stop()


async def test_without_a_proxy_nobody_has_a_name(make: Callable[..., Site]) -> None:
    answer = await make().asker().get("/", X_Remote_User="ann")
    assert (answer.status, answer.text) == (200, "None False")


async def test_a_proxy_names_users(make: Callable[..., Site]) -> None:
    site = make(**PROXY)
    assert (await site.asker().get("/", X_Remote_User="ann")).text == "ann False"
    assert (await site.asker().get("/", X_Remote_User="op")).text == "op True"
    for wrong in ({}, {"X_Remote_User": ""}, {"X_Remote_User": "a\tb"}, {"X_Remote_User": "x" * 300}):
        answer = await site.asker().get("/", **wrong)
        assert answer.status == 403, wrong
        assert answer.text.startswith("who are you?")
    twice = b"GET / HTTP/1.1\r\nHost: x\r\nX-Remote-User: ann\r\nX-Remote-User: bob\r\nConnection: close\r\n\r\n"
    assert (await site.asker().ask(twice)).status == 403


async def test_the_header_of_others_is_not_believed(make: Callable[..., Site]) -> None:
    assert (await make(proxies=["10.0.0.0/8"]).asker().get("/", X_Remote_User="op")).status == 403


async def test_who_may_open_the_socket_is_a_proxy(make: Callable[..., Site]) -> None:
    site = make(at_socket=1, user_header="Remote-Name")
    assert (await Asker(site.socket).get("/", Remote_Name="ann")).text == "ann False"
    assert (await Asker(site.socket).get("/")).status == 403
    assert (await site.asker().get("/", Remote_Name="ann")).status == 403  # not by the socket


async def test_monitoring_needs_no_name_and_is_not_for_users(make: Callable[..., Site]) -> None:
    async def fine(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("fine")(scope, receive, send)

    site = make(app=fine, **PROXY)
    for path in ("/metrics", "/healthz"):
        assert (await site.asker().get(path)).text == "fine"
        assert (await site.asker().get(path, X_Remote_User="ann")).status == 404
        assert (await site.asker().get(path, Host="evil.example")).status == 421


async def test_every_answer_has_the_headers(make: Callable[..., Site]) -> None:
    site = make(**PROXY)
    for headers in ({}, {"X_Remote_User": "ann"}):
        answer = await site.asker().get("/", **headers)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


async def test_nothing_can_be_changed_and_long_requests_are_refused(make: Callable[..., Site]) -> None:
    site = make()
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert (await site.asker().get("/", method)).status == 405
    assert (await site.asker().get("/" + "x" * 3000)).status == 414
    assert (await site.asker().get("/", X_Much="x" * 70_000)).status == 431
    assert (await site.asker().ask(b"hello\r\n\r\n")).status == 400


async def test_a_request_of_two_lengths_is_refused_and_nothing_is_read_after_it(make: Callable[..., Site]) -> None:
    site = make()
    two = b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
    writer.write(request + two + b"\r\n0\r\n\r\n" + request + b"\r\n")
    answer = await asyncio.wait_for(reader.read(), PATIENCE)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    writer.close()


async def test_a_foreign_web_site_cannot_lead_browsers_here_by_its_own_name(make: Callable[..., Site]) -> None:
    site = make()
    for host in ("localhost:7781", "127.0.0.1", "[::1]:7781"):
        assert (await site.asker().get("/", Host=host)).status == 200
    for host in ("evil.example", "localhost.evil.example:80", ""):
        assert (await site.asker().get("/", Host=host)).status == 421


async def test_requests_are_limited_for_each_user(make: Callable[..., Site]) -> None:
    site = make(max_requests_per_minute=3, **PROXY)
    ann, bob = site.asker(**{"X-Remote-User": "ann"}), site.asker(**{"X-Remote-User": "bob"})
    statuses = [(await ann.get("/")).status for _ in range(5)]
    assert statuses[:3] == [200, 200, 200]
    assert statuses[-1] == 429
    assert (await ann.get("/")).headers["retry-after"] == "5"
    assert (await bob.get("/")).status == 200


def test_what_was_asked_fades_away() -> None:
    now = 0.0
    limits = Limits(Page(max_requests_per_minute=60), lambda: now)
    for _ in range(60):
        limits.count_request("ann")
    with pytest.raises(TooManyError):
        limits.count_request("ann")
    now = 2.0
    limits.count_request("ann")
    limits.count_request("ann")
    with pytest.raises(TooManyError):
        limits.count_request("ann")


def test_watchers_are_limited_in_all_and_for_each_user() -> None:
    limits = Limits(Page(max_watchers=2, max_watchers_per_user=1))
    with limits.watching("ann"), limits.watching("bob"):
        for who, why in (("ann", "1 pages of yours"), ("cyd", "too many pages")):
            with pytest.raises(TooManyError, match=why), limits.watching(who):
                pass
    with limits.watching("cyd"):
        pass


async def test_idle_connections_end_for_new_ones(make: Callable[..., Site]) -> None:
    site = make(max_connections=8)
    silent = [await site.asker().connect() for _ in range(5)]  # more than a quarter
    assert (await site.asker().get("/")).status == 200
    async with asyncio.timeout(PATIENCE):
        assert await silent[0][0].read() == b""  # the oldest
    for _, writer in silent:
        writer.close()


async def test_a_silent_connection_ends(make: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_server, "PATIENCE", 0.05)
    reader, writer = await make().asker().connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: localh")  # and no more
    await ended(reader, writer)


async def test_connections_in_use_are_not_ended(make: Callable[..., Site]) -> None:
    go = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        await PlainTextResponse("done")(scope, receive, send)

    site = make(app=slow, max_connections=4)
    asked = [asyncio.create_task(site.asker().get("/")) for _ in range(4)]
    await until(lambda: len(site.server._state.tasks) == 4)
    _, writer = await site.asker().connect()  # is refused
    writer.close()
    go.set()
    assert {(await answer).text for answer in asked} == {"done"}


def test_who_sees_what() -> None:
    ann, op, nobody = Viewer("ann", False, ""), Viewer("op", True, ""), Viewer(None, False, "")
    own, domain, everybody = Policy("own"), Policy("domain"), Policy("all")
    assert [own.sees(who, "ann") for who in (ann, op, nobody)] == [True, True, False]
    assert not own.sees(ann, "bob")
    assert all(policy.sees(who, "bob") for policy in (domain, everybody) for who in (ann, op, nobody))
    assert [policy.tells("ann", "ann") for policy in (own, domain, everybody)] == [True, True, True]
    assert [policy.tells("ann", "bob") for policy in (own, domain, everybody)] == [False, False, True]
    assert [policy.tells("", "") for policy in (own, domain, everybody)] == [False, False, True]


async def test_a_certificate_names_its_user(tmp_path: Path) -> None:
    pki = Pki(tmp_path)
    server_files, alice = pki.with_list("intrepid"), pki.files("alice", user=True)
    stranger = pki.made("stranger", ["spiffe://site/printer"])
    page = Page(tls=True)
    viewers = Viewers(page, certificate_holders({}, USERS), ["alice"])
    server = PageServer(Guard(who_is_it, viewers, Limits(page)), viewers, page.max_connections, server_files)
    (listener,) = listen("127.0.0.1:0")
    port = listener.getsockname()[1]
    server.start([listener])

    async def ask(context: ssl.SSLContext) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(b"GET / HTTP/1.1\r\nHost: intrepid\r\nX-Remote-User: bob\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        writer.close()
        return answer.decode().partition("\r\n\r\n")[2]

    without = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    without.check_hostname = False
    try:
        assert await ask(alice.current()[1].client_context()) == "alice True"
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=alice.current()[1].client_context())
        pki.files("intrepid", force=True)
        await until(lambda: server._connections)
        server._look()
        await ended(reader, writer)  # the certificates are checked anew
        for context in (stranger.current()[1].client_context(), without):
            assert (await ask(context)).startswith("who are you?")
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=alice.current()[1].client_context())
        await until(lambda: any(one.uris() for one in server._connections if one.protocol.transport is not None))
        pki.revoke("alice")
        server._look()
        await ended(reader, writer)
        assert (await ask(alice.current()[1].client_context())).startswith("who are you?")
        plain = await Asker(port).connect()
        plain[1].write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            assert b"200" not in await plain[0].read()
        plain[1].close()
    finally:
        await server.stop()
