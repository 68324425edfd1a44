"""The application that serves the page: its routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from cosched import look
from cosched.service.page.guard import Guard
from cosched.service.page.limits import Limits
from cosched.service.page.site import Site
from cosched.service.page.viewers import Viewers

METRICS = "text/plain; version=0.0.4; charset=utf-8"
FILES = {"page.css": "text/css", "page.js": "text/javascript"}
FOLDER = Path(__file__).with_name("static")


def application(
    site: Site, viewers: Viewers, limits: Limits, metrics: Callable[[], bytes], problem: Callable[[], str | None],
    api: Sequence[Route], *also: str,
) -> Guard:  # fmt: skip
    """Return the ASGI application; `api`: the routes of the JSON interface; `also`: see HostNames.

    Each connection is in the scope's state as `connection`: its `origin` and its certificate's `uris()`.
    """

    async def show_metrics(_: Request) -> Response:
        return Response(metrics(), media_type=METRICS)

    async def show_health(_: Request) -> Response:
        why = problem()
        return PlainTextResponse("ok\n") if why is None else PlainTextResponse(f"{why}\n", 503)

    routes = [
        Route("/", site.overview),
        Route("/jobs", site.jobs),
        Route("/jobs/{job}", site.job),
        Route("/nodes", site.nodes),
        Route("/history", site.history),
        Route("/live", site.live),
        Route("/metrics", show_metrics),
        Route("/healthz", show_health),
        *api,
        *(_file(name, kind) for name, kind in FILES.items()),
    ]
    return Guard(Starlette(routes=routes), viewers, limits, *also)


def _file(name: str, kind: str) -> Route:
    content = (FOLDER / name).read_text(encoding="utf-8")
    if kind == "text/css":
        content = look.style() + content

    async def show(_: Request) -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    return Route(f"/{name}", show)
