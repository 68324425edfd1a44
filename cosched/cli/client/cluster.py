"""`cosched nodes` and `cosched domains`: the machine, and the domains it is coupled with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.wording import local_time
from cosched.cli.output.plain_text import printable, table
from cosched.cli.output.terminal import show_json, show_table, show_text
from cosched.client.node_names import fold

if TYPE_CHECKING:
    from datetime import timedelta

    from cosched.client import Domain, Peer

NODES_HEADER = ("STATE", "NODES", "NODELIST", "JOB", "REASON")
DOMAINS_HEADER = ("DOMAIN", "STATE", "SINCE", "ROUND TRIP", "CLOCK", "ADDRESS", "PROBLEM")


@click.command()
@json_option
@server_option
def nodes(as_json: bool, server: str | None) -> None:
    """Show the nodes of the domain, in groups of equal state and job."""
    with connected(server) as client:
        groups = client.nodes()
    rows = [
        (group.state, str(group.count), *map(printable, (fold(group.names), group.job or "", group.reason)))
        for group in groups
    ]
    show_table(NODES_HEADER, rows, ("NODES",), groups if as_json else None)


@click.command()
@json_option
@server_option
def domains(as_json: bool, server: str | None) -> None:
    """Show this domain and its peers: which answer, how fast, how far ahead their clocks are, and what is wrong."""
    with connected(server) as client:
        domain = client.domain()
    if as_json:
        show_json(domain)
        return
    lines = [printable(line) for line in _about(domain)]
    rows = [[printable(cell) for cell in row] for row in _rows(domain)]
    show_text("\n".join([*lines, "", table(DOMAINS_HEADER, rows, numbers=("ROUND TRIP", "CLOCK"))]))


def _about(domain: Domain) -> Iterator[str]:
    yield f"{domain.name}: {domain.version}, {domain.manager} manager, {domain.scheme_in_words()}"
    yield f"nodes: {_counts(domain.nodes)}"
    yield f"jobs: {_counts(domain.jobs)}"
    if domain.drain is not None:
        yield f"drains since {local_time(domain.drain.since)}, until about {local_time(domain.drain.until)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "none"


def _rows(domain: Domain) -> Iterator[tuple[str, ...]]:
    yield domain.name, "serving", local_time(domain.serving_since), "", "", "", ""
    for peer in domain.peers:
        round_trip = "" if peer.round_trip is None else _length(peer.round_trip)
        state, since = (peer.state, peer.since) if peer.stopped_at is None else ("stopped", peer.stopped_at)
        yield peer.name, state, local_time(since), round_trip, _clock(peer), peer.address, peer.problem


def _clock(peer: Peer) -> str:
    """Return how far the peer's clock is ahead, as `+1.2 ms ± 0.3 ms`."""
    if peer.clock_offset is None or peer.clock_uncertainty is None:
        return "unknown"
    return f"{_length(peer.clock_offset, '+')} ± {_length(peer.clock_uncertainty)}"


def _length(span: timedelta, sign: str = "") -> str:
    """Return the time in milliseconds, or in seconds if it is long."""
    seconds = span.total_seconds()
    return f"{seconds * 1000:{sign}.1f} ms" if abs(seconds) < 1 else f"{seconds:{sign},.3f} s"
