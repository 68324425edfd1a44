"""Puts the page together, and opens it where the configuration says."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

from cosched.service.configuration import Configuration
from cosched.service.configuration_sections import Page
from cosched.service.domain.watching import Watchers
from cosched.service.listeners.local_socket import listen_at
from cosched.service.listeners.page_server import PageServer
from cosched.service.page.application import application
from cosched.service.page.json_routes import JsonApi
from cosched.service.page.limits import Limits
from cosched.service.page.page_api import Described
from cosched.service.page.peers_told import PeersTold
from cosched.service.page.site import Site
from cosched.service.page.viewers import Viewers
from cosched.service.peers.peers import PeerClients
from cosched.service.preparing import not_bound
from cosched.service.wire.callers import certificate_holders
from cosched.service.wire.tls_files import TlsFiles
from cosched.sockets.accepting import listen
from cosched.validation.addresses import parse_address

OF_GROUP = 0o660  # mode of the page's socket: the service's own user, and the group, as which the proxy comes


def open_page(
    configuration: Configuration,
    described: Described,
    peers: PeerClients,
    watchers: Watchers,
    tls: TlsFiles | None,
    metrics: Callable[[], bytes],
    problem: Callable[[], str | None],
) -> PageServer:
    """Serve the page, metrics and health; InputError names an address that cannot be used."""
    page, operators = configuration.page, configuration.domain.operators
    assert page is not None
    prefix = configuration.tls.user_identity if configuration.tls and page.tls else None
    viewers = Viewers(page, certificate_holders({}, prefix, operators), operators)
    limits = Limits(page)
    patience = float(configuration.coscheduling.peer_timeout)
    told = PeersTold(configuration.domain.name, peers, patience, described.domain.presence.silent)
    site = Site(described, told, watchers, configuration, limits, problem)
    also = () if configuration.domain.http is None else (parse_address(configuration.domain.http)[0].lower(),)
    app = application(site, viewers, limits, metrics, problem, JsonApi(described, told).routes(), *also)
    server = PageServer(app, viewers, page.max_connections, tls if page.tls else None)
    server.start(list(_sockets(configuration, page)))
    return server


def _sockets(configuration: Configuration, page: Page) -> Iterator[socket.socket]:
    if configuration.domain.http is not None:
        try:
            yield from listen(configuration.domain.http)
        except OSError:
            raise not_bound("domain", "http", configuration.domain.http) from None
    if page.socket is not None:
        yield listen_at(page.socket, OF_GROUP)
