"""Loopback ports that neither another laboratory on this host nor an outgoing connection takes."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from deploy.lab.waiting import LabError

_LOWEST = 10000
_TRIES = 2000


class Reservations:
    """Free ports, each reserved by an abstract Unix socket named after it.

    The kernel gives such a name to only one socket of the host, and frees it when the last process with the socket is
    gone. So laboratories that start at the same moment do not choose the same port, and a daemon that was killed still
    has its port when it is restarted.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._random = random.Random()

    def take(self, count: int) -> list[int]:
        """Reserve and return `count` ports; LabError if there are not enough."""
        ports: list[int] = []
        for _ in range(_TRIES):
            if len(ports) == count:
                return ports
            port = self._random.randrange(_LOWEST, _first_ephemeral())
            if _free(port) and self._reserve(port):
                ports.append(port)
        raise LabError(f"found no {count} free loopback ports below {_first_ephemeral()}")

    def _reserve(self, port: int) -> bool:
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0slurm-lab-port-{port}")
        except OSError:
            reservation.close()
            return False
        self._sockets.append(reservation)
        return True

    def descriptors(self) -> list[int]:
        """Return the descriptors that another process must inherit to keep the reservations."""
        return [reservation.fileno() for reservation in self._sockets]

    def close(self) -> None:
        """Give up the reservations in this process."""
        for reservation in self._sockets:
            reservation.close()
        self._sockets.clear()


def _first_ephemeral() -> int:
    """Return the first port for outgoing connections: ports from here on may be busy at any moment."""
    try:
        return max(int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]), _LOWEST + 1000)
    except OSError:
        return 32768


def _free(port: int) -> bool:
    """Whether nobody has the port, and no old connection lingers there."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
