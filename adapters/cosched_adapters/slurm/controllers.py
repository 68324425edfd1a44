"""The hosts of slurmctld: the first that answers is the one that schedules."""

from __future__ import annotations

import re
import socket
from contextlib import suppress

_HOST = re.compile(r"([^()]+)(?:\((.+)\))?")
_PING = re.compile(r"Slurmctld\([^()]*\) at (\S+) is (UP|DOWN)")


def active(printed: bytes) -> str | None:
    """Return the host of the controller that schedules, by `scontrol ping`; None: none answers."""
    answers = _PING.findall(printed.decode("utf-8", "surrogateescape"))
    return next((host for host, state in answers if state == "UP"), None)


def names_of(host: str) -> list[str]:
    """Return the name and the address, if there is one, of `name(address)`: so Slurm shows its controllers."""
    match = _HOST.fullmatch(host)
    return [name for name in match.groups() if name] if match else [host]


def is_here(host: str) -> bool:
    """Return whether a name or address is this host's, which is so if a socket can be bound to it."""
    if host.partition(".")[0] == socket.gethostname().partition(".")[0]:
        return True
    with suppress(OSError, UnicodeError):
        return any(_can_be_bound(family, address[0]) for family, _, _, _, address in socket.getaddrinfo(host, 0))
    return False


def _can_be_bound(family: socket.AddressFamily, address: object) -> bool:
    with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.bind((address, 0))
        return True
    return False
