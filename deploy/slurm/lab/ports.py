"""Loopback ports that no other laboratory on this host takes, and no outgoing connection."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from deploy.slurm.lab.waiting import LabError

_LOWEST = 10000
_TRIES = 2000


class Reservations:
    """Free ports, each reserved by an abstract Unix socket named after it.

    The kernel gives such a name to one socket of the host, whoever asks, and frees it when the last process that has it
    is gone. So laboratories that start at the same moment do not choose the same port, and a daemon that was killed
    finds its port again when it is started again.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._random = random.Random()

    def take(self, count: int) -> list[int]:
        """So many ports; LabError if there are none."""
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
        """What another process must inherit to go on with the reservations."""
        return [reservation.fileno() for reservation in self._sockets]

    def close(self) -> None:
        """Give the reservations up here."""
        for reservation in self._sockets:
            reservation.close()
        self._sockets.clear()


def _first_ephemeral() -> int:
    """The first port that the kernel gives to outgoing connections: those from here on can be busy at any moment."""
    try:
        return max(int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]), _LOWEST + 1000)
    except OSError:
        return 32768


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
