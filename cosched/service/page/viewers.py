"""Who looks at the page, and which jobs they may see.

A name comes from a user's certificate, or from the header of a proxy that is believed: one of the configured addresses,
or whoever may open the page's socket. What anybody else says of himself counts for nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from cosched.service.configuration_sections import Page
from cosched.service.wire.callers import Holder

MAX_NAME = 256
SOCKET = "socket"  # the origin of connections through the page's socket


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks at the page; `key` is whose limits count."""

    name: str | None
    operator: bool
    key: str


class Viewers:
    """Tells who asks."""

    def __init__(self, page: Page, holder: Holder, operators: Collection[str]) -> None:
        self._known = page.knows_viewers
        self._header = page.user_header.lower().encode()
        self._proxies = [ip_network(proxy) for proxy in page.proxies]
        self._holder = holder
        self._operators = frozenset(operators)

    def believed(self, origin: str) -> bool:
        """Return whether connections from there are those of the site's proxy."""
        if origin == SOCKET:
            return True
        address = ip_address(origin.partition("%")[0])
        return any(address in network for network in self._proxies)

    def of(self, origin: str, uris: list[str], headers: Collection[tuple[bytes, bytes]]) -> Viewer | None:
        """Return who asks from an address, or SOCKET; None: somebody who must tell a name, and does not.

        `uris`: those in the caller's certificate.
        """
        name = self._holder(uris).user or self._told(origin, headers)
        if name is not None:
            return Viewer(name, name in self._operators, name)
        return None if self._known else Viewer(None, False, origin)

    def through_proxy(self, headers: Collection[tuple[bytes, bytes]]) -> bool:
        """Return whether a request carries the header with which a proxy names users."""
        return any(key == self._header for key, _ in headers)

    def _told(self, origin: str, headers: Collection[tuple[bytes, bytes]]) -> str | None:
        if not self.believed(origin):
            return None
        names = [value.decode("utf-8", "replace").strip() for key, value in headers if key == self._header]
        if len(names) != 1 or not names[0].isprintable() or not 1 <= len(names[0]) <= MAX_NAME:
            return None
        return names[0]


@dataclass(frozen=True, slots=True)
class Policy:
    """Who may see which jobs of this domain: `show` of [page]."""

    show: str

    def sees(self, viewer: Viewer, owner: str) -> bool:
        """Return whether a viewer of this domain's page may see the jobs of this owner, with their names."""
        return self.sees_all(viewer) or viewer.name == owner

    def sees_all(self, viewer: Viewer) -> bool:
        """Return whether a viewer of this domain's page may see all its jobs."""
        return self.show != "own" or viewer.operator

    def tells(self, viewer: str, owner: str) -> bool:
        """Return whether the pages of other domains may show their viewer of this name the jobs of this owner."""
        return self.show == "all" or (bool(viewer) and viewer == owner)
