"""This host, as psutil sees it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from cosched.installation.extras import HOST, need
from cosched.planning.facts import CPU, MEMORY, SPEED, Listed
from cosched.planning.grid import MB
from cosched.planning.information.source import Reading, SourceError, SourceKind, SourceSettings


class HostSettings(SourceSettings):
    """`machine` is this host's name in the list; without it, the listed one with this host's name is taken."""

    machine: str = ""


class Host:
    """Reads the clock of its processors, what a new process gets of one, and the memory that is available."""

    def __init__(self, settings: HostSettings, folder: Path) -> None:  # noqa: ARG002
        need(HOST)
        self._machine = settings.machine

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> Iterator[Reading]:  # noqa: ARG002
        import psutil

        names = {self._machine} if self._machine else {socket.gethostname(), socket.getfqdn()}
        name = next((each.name for each in machines if each.name in names), None)
        if name is None:
            raise SourceError(f"this host, {' or '.join(sorted(names))}, is not listed")
        clock = psutil.cpu_freq()
        if clock is not None and (mhz := clock.max or clock.current):
            yield Reading(SPEED, name, mhz)
        yield Reading(CPU, name, share_of_a_new_process(psutil.cpu_count() or 1, psutil.getloadavg()[0]))
        yield Reading(MEMORY, name, psutil.virtual_memory().available / MB)


def share_of_a_new_process(processors: float, load: float) -> float:
    """Return what a new process gets of a processor if others, `load` of them, share all alike."""
    return min(1.0, processors / (1 + load))


HOST_SOURCE = SourceKind("host", "this host, by psutil", HostSettings, Host)
