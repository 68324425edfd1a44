"""What the page shows: one method for each address."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from cosched.service.configuration import Configuration
from cosched.service.domain.watching import Watcher, Watchers
from cosched.service.page.guard import too_many
from cosched.service.page.history import Histories
from cosched.service.page.job_list import ANY, LINES, Asked, JobLists
from cosched.service.page.job_story import Stories
from cosched.service.page.limits import Limits, TooManyError
from cosched.service.page.listing import Listing, Wait
from cosched.service.page.nodes import NodeMaps
from cosched.service.page.overview import ROWS, Overviews
from cosched.service.page.page_api import Described
from cosched.service.page.peers_told import PeersTold
from cosched.service.page.timeline import SPANS
from cosched.service.page.viewers import Viewer
from cosched.service.page.words import span
from cosched.service.wire.fields import number

LEAST = 2.0  # seconds between two renewals of one page
FOR_EACH = 0.05  # seconds more for each page that is live, so that many cost no more than a few
MOST = 15.0  # after which a page is renewed in any case: time goes on
CHANGED = b"event: changed\ndata: \n\n"
TEMPLATES = Path(__file__).with_name("templates")
MAX_FIND = 256
FILTERS = ("state", "user", "account", "queue", "pair", "sort")
MAX_FIRST = 1_000_000


class Site:
    """The pages of one domain."""

    def __init__(
        self,
        described: Described,
        told: PeersTold,
        watchers: Watchers,
        configuration: Configuration,
        limits: Limits,
        problem: Callable[[], str | None],
    ) -> None:
        self._here = configuration.domain.name
        self._show = configuration.shown_to
        self._described = described
        self._limits = limits
        self.listing = listing = Listing(described)
        self._overviews = Overviews(described, told, listing, configuration, problem)
        self._lists = JobLists(described, listing)
        self._stories = Stories(described, told)
        length = configuration.page.history if configuration.page is not None else 0
        self.histories = Histories(described, [peer.name for peer in configuration.peers], length)
        self._maps = NodeMaps(described)
        self._watchers = watchers
        self._live = 0  # pages
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip

    async def overview(self, request: Request) -> Response:
        """Show the domains, and the pairs and groups of this domain's jobs."""
        past, (find, first) = request.query_params.get("past", ""), _asked(request)
        found = await self._overviews.overview(request.state.viewer, past if past in SPANS else "", find, first)
        counted = _counted(first, len(found["rows"]), found["all_rows"])
        said: dict[str, Any] = {"counted": counted, "spans": list(SPANS), "words": _waiting, "span": span}
        return self._page("overview.html.j2", request, "", page_size=ROWS, **said, **found)

    async def jobs(self, request: Request) -> Response:
        """Show all jobs of this domain that have not ended, or go to the one that is looked for."""
        (said, first), asked = _asked(request), request.query_params
        wanted = {key: asked.get(key, "").strip()[:MAX_FIND] for key in FILTERS}
        find = said.removeprefix(f"{self._here}:")
        if find and not any(wanted.values()) and (hit := await self._lists.hit(request.state.viewer, find)) is not None:
            return RedirectResponse(f"jobs/{hit}", 303)
        found = await self._lists.jobs(request.state.viewer, Asked(find, **wanted, first=first))
        counted = _counted(first, len(found["lines"]), found["all_lines"])
        return self._page("jobs.html.j2", request, "", find=said, any=ANY, page_size=LINES, counted=counted, **found)

    async def nodes(self, request: Request) -> Response:
        """Show what each node does."""
        found = await self._maps.map(request.state.viewer)
        return self._page("nodes.html.j2", request, "", **found)

    async def job(self, request: Request) -> Response:
        """Show one job, and its story on all domains."""
        id = number(request.path_params["job"])
        whole = request.query_params.get("story") == "all"
        found = await self._stories.story(request.state.viewer, id, whole=whole) if id is not None else None
        if found is None:
            said = f"There is no job {request.path_params['job'][:40]} that you may see."
            return self._page("nothing.html.j2", request, "../", status=404, said=said)
        return self._page("job.html.j2", request, "../", **found)

    async def history(self, request: Request) -> Response:
        """Show the last days."""
        found = await self.histories.history(request.query_params.get("past", ""))
        used = await self.histories.usage(request.state.viewer, found["past"])
        return self._page("history.html.j2", request, "", used=used, **found)

    async def live(self, request: Request) -> Response:
        """Tell by server-sent events when the page should be renewed."""
        watching = self._limits.watching(request.state.viewer.key)
        try:
            watching.__enter__()
        except TooManyError as error:
            return too_many(error)

        async def stream() -> AsyncIterator[bytes]:
            try:
                self._live += 1
                yield b"retry: 5000\n\n"
                while True:
                    with self._watchers.watch() as watcher:
                        await self._beat(watcher)
                    yield CHANGED
            finally:
                self._live -= 1
                watching.__exit__(None, None, None)

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def _beat(self, watcher: Watcher) -> None:
        await asyncio.sleep(LEAST + FOR_EACH * self._live)
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST - LEAST):
                await watcher.queue.get()

    def _page(self, template: str, request: Request, root: str, status: int = 200, **values: Any) -> Response:
        viewer = request.state.viewer
        text = self._environment.get_template(template).render(
            here=self._here, viewer=viewer, sight=self._sight(viewer), root=root,
            current=template.partition(".")[0], **{"now": self._described.now(), "find": "", **values},
        )  # fmt: skip
        return HTMLResponse(text, status)

    def _sight(self, viewer: Viewer) -> str:
        if self._show != "own" or viewer.operator:
            return "sees all jobs here"
        return "sees own jobs" if viewer.name else "sees numbers, and no jobs"


def _asked(request: Request) -> tuple[str, int]:
    """Return what is looked for, and the first line that is asked for; what makes no sense counts as not said."""
    asked = request.query_params
    return asked.get("find", "").strip()[:MAX_FIND], min(number(asked.get("first", "")) or 0, MAX_FIRST)


def _counted(first: int, shown: int, everything: int) -> str:
    if shown == everything:
        return f"{everything} shown"
    return f"{first + 1} to {first + shown} of {everything}" if shown else f"none of {everything}"


def _waiting(wait: Wait) -> str:
    one = wait.jobs == 1
    forms = {"s": "s" if one else "", "be": "is" if one else "are", "has": "has" if one else "have"}
    return wait.kind.format(peer=wait.peer, **forms)
