"""Stands before every request to the page: who asks, limits, and the headers of all answers."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response

from cosched.service.page.limits import Limits, TooManyError
from cosched.service.page.viewers import Viewers
from cosched.sockets.host_names import HostNames

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
FOR_MONITORING = ("/metrics", "/healthz")
ELSEWHERE = "this page is not at that host"
MAX_URL = 2048
MAX_HEADERS = 16 << 10  # bytes


class Guard:
    """Lets through what may pass; the inner application finds the viewer in `request.state.viewer`."""

    def __init__(self, app: Any, viewers: Viewers, limits: Limits, *also: str) -> None:
        """`also`: see HostNames."""
        self._app = app
        self._viewers = viewers
        self._limits = limits
        self._names = HostNames(*also)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, as an ASGI application."""

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Any) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            return _refused("this page only shows: nothing can be changed here", 405, {"Allow": "GET, HEAD"})
        if len(scope["raw_path"]) + len(scope["query_string"]) > MAX_URL:
            return _refused("the address is too long", 414)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADERS:
            return _refused("the request's headers are too long", 431)
        headers, connection = Headers(scope=scope), scope["state"]["connection"]
        if "transfer-encoding" in headers and "content-length" in headers:  # where it ends, others may see otherwise
            return _refused("a request has one length", 400, {"Connection": "close"})
        is_here = self._names.have(headers.get("host", ""))
        if scope["path"] in FOR_MONITORING:
            if self._viewers.through_proxy(scope["headers"]):
                return _refused("there is no such page", 404)
            return None if is_here else _refused(ELSEWHERE, 421)
        viewer = self._viewers.of(connection.origin, connection.uris(), scope["headers"])
        if viewer is None:
            return _refused("who are you? Come through the site's proxy, or show a user's certificate", 403)
        if viewer.name is None and not is_here:
            return _refused(ELSEWHERE, 421)
        scope["state"]["viewer"] = viewer
        try:
            self._limits.count_request(viewer.key)
        except TooManyError as error:
            return too_many(error)
        return None


def too_many(error: TooManyError) -> Response:
    """Return the answer to a request beyond a limit."""
    return _refused(str(error), 429, {"Retry-After": str(error.wait)})


def _refused(why: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"{why}\n", status, headers)
