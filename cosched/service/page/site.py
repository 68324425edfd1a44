"""What the page shows: one method for each address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from cosched.service.configuration import Configuration
from cosched.service.domain.watching import Watchers
from cosched.service.page.limits import Limits
from cosched.service.page.page_api import Described
from cosched.service.peers.peers import PeerClients

TEMPLATES = Path(__file__).with_name("templates")


class Site:
    """The pages of one domain."""

    def __init__(
        self,
        described: Described,
        peers: PeerClients,
        watchers: Watchers,
        configuration: Configuration,
        limits: Limits,
        problem: Callable[[], str | None],
    ) -> None:
        self._described = described
        self._peers = peers
        self._watchers = watchers
        self._configuration = configuration
        self._limits = limits
        self._problem = problem
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True,
        )  # fmt: skip

    async def overview(self, request: Request) -> Response:
        """Show the domains, and the pairs and groups of this domain's jobs."""
        return self._page("overview.html.j2", request, domain=self._described.about())

    def _page(self, template: str, request: Request, **values: Any) -> Response:
        found = self._environment.get_template(template)
        return HTMLResponse(found.render(viewer=request.state.viewer, show=self._described.policy.show, **values))
