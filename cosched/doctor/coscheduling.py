"""Checks [coscheduling] for settings that are permitted but rarely intended. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from cosched.core.settings import Scheme
from cosched.service.configuration import Configuration
from cosched.sockets.domain_sockets import is_of_own_service
from cosched.validation.schemes import in_words
from cosched_adapters.findings import SHELL, Finding, ok, section, warning

_HERE = section("coscheduling")
_LEAST_GRACE = 30.0  # seconds: systemd's pause, a start that loads kernels, a busy host
_LEAST_TIMEOUT = 4.0  # seconds: a peer with Slurm tries for 2.5 s by default, and its answer must come back


def check_coscheduling(configuration: Configuration) -> Iterator[Finding]:
    """Check whether jobs here can have mates, and whether their holds end."""
    settings = configuration.coscheduling_settings()
    if not settings.enabled:
        on = 'scheme = "hold"' if configuration.coscheduling.enabled else "enabled = true"
        yield warning("enabled", "coscheduling is off: jobs start without their mates", "switch it on", _HERE, on)
        return
    yield _check_peers(configuration)
    yield _check_timeout(float(configuration.coscheduling.peer_timeout))
    yield _check_grace(configuration)
    if not configuration.coscheduling.heartbeat_interval:
        found = "0: absent peers and wrong clocks go unnoticed, and pairs start at no agreed instant"
        yield warning("heartbeat_interval", found, "ask peers now and then", _HERE, "heartbeat_interval = 10")
    holds = not settings.slots and (settings.scheme is Scheme.HOLD or settings.max_yields)
    if holds or configuration.manager.schedules:
        yield from _check_holds(configuration)


def _check_peers(configuration: Configuration) -> Finding:
    section = configuration.coscheduling
    scheme = in_words(section.scheme, section.meeting.texts).removeprefix("scheme ")
    alone = f"{scheme}, but there is no peer: no job here can have a mate"
    if not configuration.peers and is_of_own_service(configuration.domain.socket):
        add = "cosched peer add NAME [USER@]HOST"
        return warning("scheme", alone, "couple it with another account of yours", SHELL, add)
    if not configuration.peers:
        lines = "[[peer]]", 'name = "NAME"', 'address = "HOST:PORT"', 'identity = "URI"'
        return warning("scheme", alone, "name the other domains", "the domain's file", *lines)
    return ok("scheme", f"{scheme}, with {', '.join(peer.name for peer in configuration.peers)}")


def _check_timeout(timeout: float) -> Finding:
    if timeout < _LEAST_TIMEOUT:
        found = f"{timeout:g} s: too short for a peer with Slurm, which needs up to 3.5 s to try to start a mate"
        return warning("peer_timeout", found, "wait longer", _HERE, "peer_timeout = 5")
    return ok("peer_timeout", f"{timeout:g} s for an answer from a peer")


def _check_grace(configuration: Configuration) -> Finding:
    grace, then = float(configuration.coscheduling.peer_grace), configuration.coscheduling.on_peer_unreachable.value
    if grace >= _LEAST_GRACE:
        found = f"{grace:g} s for a peer to come back; its own file says how long it waits for this domain"
        return ok("peer_grace", found)
    acts = f"jobs with mates there act as on_peer_unreachable says ({then}), so pairs can come apart"
    found = f"{grace:g} s: a restart of a peer's service takes longer; {acts}"
    change = "wait longer, here and on the other side, which waits for this domain by its own peer_grace"
    return warning("peer_grace", found, change, _HERE, 'peer_grace = "2m"')


def _check_holds(configuration: Configuration) -> Iterator[Finding]:
    settings = configuration.coscheduling_settings()
    if not settings.release_interval:
        found = "0: holds are never released, so two domains that wait for each other wait for ever"
        yield warning("release_interval", found, "release holds after some time", _HERE, 'release_interval = "20m"')
    elif not settings.release_jitter:
        found = "0: two domains may release at the same instant, again and again"
        yield warning("release_jitter", found, "add some", _HERE, "release_jitter = 0.25")
    else:
        found = f"{settings.release_interval} s, and up to {settings.release_jitter} of that longer"
        yield ok("release_interval", found)
    share, half = settings.max_held_fraction, "max_held_fraction = 0.5"
    if not share:
        found = "0: no job can hold: all yield, and those that cannot yield start alone"
        yield warning("max_held_fraction", found, "let some of the nodes be held", _HERE, half)
    elif share == 1:
        found = "1: all nodes can be held at once, and then nothing runs"
        yield warning("max_held_fraction", found, "leave some nodes to other jobs", _HERE, half)
    else:
        yield ok("max_held_fraction", f"{share} of the nodes can be held at once")
