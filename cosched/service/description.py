"""Describes in lines for people what `cosched serve` would do with a configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import SupportsFloat

from cosched.core.settings import CoschedulingSettings, OnMateUnknown, OnMemberLost, OnMemberRequeued, Scheme
from cosched.service.configuration import Configuration
from cosched.service.configuration_sections import Coscheduling, Page, Peer
from cosched.validation.addresses import is_loopback
from cosched.validation.schemes import NO_BOUND

_OTHERS_MAY_READ = 0o004


def describe(configuration: Configuration, doubts: Iterable[str] = ()) -> list[str]:
    """Return aligned lines `KEY  VALUE`, then a `warning` line for each setting that is valid but seldom intended."""
    warnings = (("warning", text) for text in (*doubts, *_warnings(configuration)))
    lines = [*_domain(configuration), *_coscheduling(configuration), *_peers(configuration), *warnings]
    width = max(len(key) for key, _ in lines)
    return [f"{key:<{width}}  {value}" for key, value in lines]


def _domain(configuration: Configuration) -> Iterator[tuple[str, str]]:
    domain, tls, manager = configuration.domain, configuration.tls, configuration.manager
    yield "domain", domain.name
    secured = "without TLS" if domain.plaintext or tls is None else f"mutual TLS, certificate {_path(tls.certificate)}"
    yield "listens on", f"{domain.listen} ({secured})" if domain.listen else "Unix sockets only"
    yield "users of this host", f"unix:{domain.socket}" if domain.socket else "no socket: no local users"
    if tls and tls.user_identity and not domain.plaintext:
        yield "other users", f"certificates {tls.user_identity}NAME"
    if (tokens := configuration.tokens) is not None:
        yield "users with tokens", f"{tokens.listen} (TLS), tokens of {tokens.issuer} for {tokens.audience}"
    yield "operators", ", ".join(("root", "the service's own user", *domain.operators))
    yield "metrics", f"http://{domain.http}/metrics and /healthz" if domain.http else "none"
    if configuration.page is not None:
        yield "page", _page(configuration.page, domain.http)
    yield "database", f"{_path(domain.state)}, keeps ended jobs for {_duration(domain.retention)}"
    yield "manager", manager.kind
    if manager.schedules:
        yield "queue", f"in {manager.kind}, which schedules all jobs and offers those that name a mate"
        return
    kind = manager.scheduler_kind
    rules = ((key.replace("_", " "), getattr(manager, key)) for key in kind.keys.model_fields)
    yield "queue", f"{kind.name}: {', '.join(f'{key} {value}' for key, value in rules if value is not None)}"
    every = domain.schedule_interval
    yield "schedules", "at every event" + (f", and every {_duration(every)}" if every else "")
    yield "jobs", f"at most {domain.max_jobs_per_user:,} of a user at once"
    yield "scripts", f"at most {_bytes(domain.max_script_bytes_per_user)} of a user's jobs"


def _page(page: Page, http: str | None) -> str:
    address = f"{'https' if page.tls else 'http'}://{http}/" if http else ""
    where = " and ".join(filter(None, (address, f"unix:{page.socket}" if page.socket else "")))
    sees = {"own": "their own jobs", "domain": "all jobs", "all": "all jobs, also on peers' pages"}[page.show]
    return f"{where}: people see {sees}; {_named_by(page)}"


def _named_by(page: Page) -> str:
    ways = [*page.proxies, *(["whoever opens the socket"] if page.socket else [])]
    proxied = f"{' and '.join(ways)} by {page.user_header}" if ways else ""
    certified = "users' certificates" if page.tls else ""
    return "named by " + " or ".join(filter(None, (certified, proxied))) if page.knows_viewers else "nobody has a name"


def _coscheduling(configuration: Configuration) -> Iterator[tuple[str, str]]:
    section, settings = configuration.coscheduling, configuration.coscheduling_settings()
    if not settings.enabled:
        yield "coscheduling", "off: jobs start alone"
        return
    yield "scheme", _scheme(section, settings.max_yields)
    if section.meeting.mate_budget:
        delay = f"{_percent(section.meeting.mate_budget)} of its wait"
        yield "mate budget", f"jobs whose mates have asked for them may delay the first job by at most {delay}"
    if (share := section.meeting.mate_budget_share) != NO_BOUND:
        yield "of a user", f"at most {_percent(share)} of the jobs of a week may start so before their turn"
    if settings.slots:
        yield "slots", "two jobs that cannot start together now agree on an instant; none of them holds"
    if settings.release_interval:
        longer = f", or up to {_percent(settings.release_jitter)} later" if settings.release_jitter else ""
        yield "holds", f"released after {_duration(settings.release_interval)}{longer}"
    yield "held nodes", f"at most {_percent(settings.max_held_fraction)} of the machine"
    if settings.yield_boost:
        yield "each yield", f"raises the job's score by {_percent(settings.yield_boost)}"
    patience = "no end" if section.mate_patience is None else _duration(section.mate_patience)
    yield "patience", f"{patience} for a mate that is not submitted"
    waits = settings.on_mate_unknown is not OnMateUnknown.START
    yield "unknown mate", f"jobs {'wait for another, unless submitted with --or-alone' if waits else 'start alone'}"
    yield "lost member", LOST_MEMBER[settings.on_member_lost] + _successor(settings)
    yield "requeued member", _requeued_member(settings)
    if settings.hold_check:
        yield "who holds", f"asks every {_duration(settings.hold_check)} whether its mates still wait"
    yield "calls to peers", f"{section.peer_timeout} s each, repeated for {_duration(section.peer_patience)}"
    agreed = f"if the manager can, and a peer's clock differs by at most {section.max_clock_offset} s"
    yield "agreed starts", agreed if section.max_clock_offset else "none: pairs start at once"
    grace = f", once it has been away for {_duration(settings.peer_grace)}" if settings.peer_grace else ""
    yield "unreachable peer", f"jobs {settings.on_peer_unreachable.value}{grace}"


LOST_MEMBER = {
    OnMemberLost.START: "the others start without it",
    OnMemberLost.WAIT: "jobs wait until they are unlinked, unless submitted with --or-alone",
    OnMemberLost.CANCEL: "jobs are cancelled, unless submitted with --or-alone",
}


def _successor(settings: CoschedulingSettings) -> str:
    if not settings.successor_patience:
        return ""
    held = min(settings.successor_hold, settings.successor_patience)
    nodes = f", with nodes {_duration(held)}" if held else ", without nodes"
    return f"; one that its owner cancels may be replaced for {_duration(settings.successor_patience)}{nodes}"


def _requeued_member(settings: CoschedulingSettings) -> str:
    if settings.on_member_requeued is OnMemberRequeued.REQUEUE:
        return f"the others are queued again, too, at most {settings.max_requeues} times"
    return "the others end" if settings.on_member_requeued is OnMemberRequeued.END else "the others run on"


def _scheme(section: Coscheduling, max_yields: int) -> str:
    if section.scheme.core is Scheme.YIELD and max_yields and not section.meeting.slots:
        return f"{section.scheme}; a job that has yielded {max_yields} times holds"
    return section.scheme.value


def _peers(configuration: Configuration) -> Iterator[tuple[str, str]]:
    default = configuration.coscheduling.default_peer
    for peer in configuration.peers:
        meant = "; meant where a pair is named without a domain" if peer.name == default else ""
        yield "peer", f"{peer.name} at {peer.address}{_identity(configuration, peer)}{_owners(peer)}{meant}"


def _identity(configuration: Configuration, peer: Peer) -> str:
    if peer.is_local:
        return ""
    return " (without TLS)" if configuration.domain.plaintext else f" as {peer.identity}"


def _owners(peer: Peer) -> str:
    names = ", ".join(f"{there} = {here}" for there, here in sorted(peer.owners.items()))
    others = "all others: nobody" if peer.other_owners == "nobody" else ""
    said = ", ".join(filter(None, (names, others)))
    adopts = "; its jobs may adopt any of their owners'" if peer.adopt else ""
    return (f"; its users here: {said}" if said else "") + adopts


def _warnings(configuration: Configuration) -> Iterator[str]:
    domain, tls, settings = configuration.domain, configuration.tls, configuration.coscheduling_settings()
    if settings.enabled and not configuration.peers:
        yield "no [[peer]]: no job here can have a mate"
    unclear = len(configuration.peers) > 1 and configuration.coscheduling.default_peer is None
    if settings.enabled and unclear and configuration.manager.schedules:
        yield "several peers and no default_peer: a job that names a pair without a domain waits until it names one"
    if settings.enabled and not settings.release_interval:
        yield "release_interval is 0: holds are never released, so deadlocks stay"
    if settings.scheme is Scheme.HOLD and not settings.max_held_fraction:
        yield "max_held_fraction is 0: no job can hold, all yield"
    if domain.http and not is_loopback(domain.http):
        yield f"http on {domain.http}: everybody who reaches it can read the metrics"
    if (page := configuration.page) is not None and not page.knows_viewers and page.show != "own":
        yield f"page.show is {page.show!r} without proxies, socket or tls: everybody who reaches the page sees all jobs"
    if domain.plaintext:
        yield "plaintext: any process on this host can speak as a peer"
        if tls:
            yield "plaintext is on: [tls] is not used"
    if tls and tls.key.stat().st_mode & _OTHERS_MAY_READ:
        yield f"tls.key: {_path(tls.key)} can be read by all users of this host"


def _path(path: Path) -> str:
    """Return a path without the detours of the one that the configuration has; symbolic links stay where they can."""
    direct, real = os.path.normpath(path), os.path.realpath(path)
    return direct if os.path.realpath(direct) == real else real


def _percent(share: SupportsFloat) -> str:
    return f"{100 * float(share):.6g} %"


def _bytes(size: int) -> str:
    """Return a size in the largest unit in which it is a whole number: `256 MiB`."""
    power = next(power for power in (3, 2, 1, 0) if size % (1 << 10 * power) == 0)
    return f"{size >> 10 * power:,} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"


def _duration(seconds: int) -> str:
    """Return `30 s`, `20 min`, `1 h 30 min`, `7 d`: exactly, in the units that it takes."""
    parts = []
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, seconds = divmod(seconds, unit)
        parts += [f"{count} {name}"] if count else []
    return " ".join(parts) or "0 s"
