"""Checks that each peer can be called with this domain's certificate, knows this domain, and has the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from cosched.core.protocol import GetMateStatus
from cosched.doctor.remedies import Ends, remedy
from cosched.service.configuration import Configuration
from cosched.service.peers.outcomes import CallError
from cosched.service.peers.peer_view import PeerView
from cosched.service.peers.peers import PeerClients
from cosched.service.wire.fields import PROBE
from cosched.service.wire.tls import PeerCredentials
from cosched.service.wire.tls_files import TlsFiles
from cosched.v1.cluster_pb2 import PEER_STATE_REACHABLE, PEER_STATE_REFUSED
from cosched.validation.addresses import socket_path
from cosched.words.errors import InputError
from cosched_adapters.findings import SHELL, Finding, ok, problem, section, warning

if TYPE_CHECKING:
    from cosched.client import Domain

_AT_ONCE = "pairs start at once, not at an agreed instant"


async def check_peers(configuration: Configuration, serving: Domain | None) -> list[Finding]:
    """Call each peer as the service does; `serving`: the answer of the running service, if any."""
    tls = None if configuration.domain.plaintext else configuration.tls
    try:
        files = None if tls is None else TlsFiles(tls.ca, tls.certificate, tls.key, tls.crl)
    except InputError:  # the checks of the certificates report it
        return [problem("peers", "not called: the files of [tls] cannot be used", "correct those first")]
    views = await _views(configuration, PeerCredentials(files) if files else None)
    most = float(configuration.coscheduling.max_clock_offset)
    named = ["[[peer]]", f'name = "{configuration.domain.name}"']  # what a peer needs for this domain but its address
    named += [f'identity = "{files.current()[1].identity}"'] if files else []
    ca = configuration.tls.ca if configuration.tls else None
    ends = {view.name: Ends(configuration.domain.name, view.name, ca, tuple(named)) for view in views}
    return [found for view in views for found in _judged(view, ends[view.name], serving, most)]


async def _views(configuration: Configuration, credentials: PeerCredentials | None) -> list[PeerView]:
    """Ask all peers; return what is then known of them."""
    timeout = float(configuration.coscheduling.peer_timeout)
    peers = PeerClients(configuration.domain.name, configuration.peers, timeout, credentials, lambda view: None)  # noqa: ARG005
    try:
        await peers.beat()
        for view in peers.views():
            if view.state == PEER_STATE_REACHABLE:
                with suppress(CallError):  # the view shows it
                    await peers.call(view.name, GetMateStatus(PROBE, PROBE))  # only peers may; it changes nothing
        return peers.views()
    finally:
        await peers.close()


def _judged(view: PeerView, ends: Ends, serving: Domain | None, most: float) -> Iterator[Finding]:
    yield check_answer(view, ends)
    if view.state == PEER_STATE_REACHABLE:
        yield from check_serving(ends.here, view.name, serving)
        yield check_clock(view, most)


def check_answer(view: PeerView, ends: Ends) -> Finding:
    """Check whether a peer has answered this domain."""
    if view.state == PEER_STATE_REACHABLE:
        trip = "" if view.round_trip is None else f" within {view.round_trip * 1000:.1f} ms"
        return ok(view.name, f"{view.address} answers{trip}")
    if view.state == PEER_STATE_REFUSED:
        change, where, lines = remedy(view.problem, ends)
        return problem(view.name, f"{view.address}: {view.problem}", change, where, *lines)
    found = f"{view.address} does not answer: {view.problem}"
    if socket_path(view.address) is not None:
        return problem(view.name, found, "let both services run, on their hosts", SHELL, "cosched up")
    change = "start its service, open its port to this host, or correct the address"
    return problem(view.name, found, change, "[[peer]] of the domain's file", 'address = "HOST:PORT"')


def check_serving(here: str, peer: str, serving: Domain | None) -> Iterator[Finding]:
    """Check that the running service reaches the peer too; it may still use an older configuration."""
    for seen in serving.peers if serving else ():
        if seen.name == peer and seen.state in ("refused", "unreachable"):
            found = f"the running service says: {seen.state}: {seen.problem}"
            change = "check again after a heartbeat; if nothing has changed, restart the service"
            yield warning(peer, found, change, SHELL, f"systemctl restart cosched@{here}")


def check_clock(view: PeerView, most: float) -> Finding:
    """Check whether clocks allow agreed starts; `most`: max_clock_offset, in seconds."""
    subject, offset, doubt = f"{view.name} clock", view.clock_offset, view.clock_uncertainty
    if offset is None or doubt is None:
        return warning(subject, f"not known: {_AT_ONCE}", "serve the same version there")
    found = f"{abs(offset) * 1000:.1f} ms {'ahead' if offset >= 0 else 'behind'}, give or take {doubt * 1000:.1f}"
    if not most:
        found = f"{found}; max_clock_offset is 0: {_AT_ONCE}"
        return warning(subject, found, "permit an offset", section("coscheduling"), "max_clock_offset = 0.5")
    if max(abs(offset), doubt) > most:
        found = f"{found}, more than max_clock_offset, {most:g} s: {_AT_ONCE}"
        change = "let a time service keep the clocks of both hosts"
        return problem(subject, found, change, SHELL, "timedatectl set-ntp true")
    return ok(subject, found)
