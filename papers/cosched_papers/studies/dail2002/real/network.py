"""Sites in network namespaces of Linux: machines around a router each, and links between the routers, shaped by tc.

What a link gives is set by token buckets (tbf) at both of its ends. Latency is what the kernel takes: it is not shaped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from itertools import combinations

from cosched.words.errors import InputError

BURST, QUEUE = 3200, 1 << 20  # bytes: of two packets, and of what may wait
HEADERS = 1514 / 1448  # bytes on the wire for each byte of data: Ethernet, IP, TCP with time stamps
Ends = tuple[str, str]  # a namespace, and the name of an interface in it


class Network:
    """The namespaces of some sites, while the block lasts. InputError: they are not permitted here."""

    def __init__(self, sites: Mapping[str, Sequence[str]]) -> None:
        """`sites`: the names of their machines."""
        self._sites = sites
        self._mark = f"cosched{os.getpid()}"
        self._made: list[str] = []
        self._ends: dict[tuple[str, str], list[Ends]] = {}  # of what lies inside a site (twice its name), or between
        self.addresses: dict[str, str] = {}

    def __enter__(self) -> Network:
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove them all; with a namespace go its interfaces."""
        for name in reversed(self._made):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def inside(self, machine: str) -> list[str]:
        """Return the words of a command that runs what follows on a machine."""
        return ["ip", "netns", "exec", self._machine(machine)]

    def give(self, link: tuple[str, str], mbits: float) -> None:
        """Let a link carry so many Mb/s of data: inside a site (its name twice), or between two."""
        rate = f"{round(mbits * 1e6 * HEADERS)}bit"
        for namespace, interface in self._ends[link]:
            where = ["-n", namespace, "qdisc", "replace", "dev", interface, "root"]
            _do("tc", *where, "tbf", "rate", rate, "burst", str(BURST), "limit", str(QUEUE))

    def _make(self) -> None:
        names = list(self._sites)
        for number, site in enumerate(names):
            router = self._namespace(f"r{number}")
            _do("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
            self._ends[site, site] = []
            for place, machine in enumerate(self._sites[site], 1):
                self._join(router, number, place, machine, site)
        for one, other in combinations(range(len(names)), 2):
            self._ends[names[one], names[other]] = self._join_routers(one, other)

    def _join_routers(self, one: int, other: int) -> list[Ends]:
        """Make the link between the routers of two sites, and their routes to each other's machines."""
        ends = (f"{self._mark}r{one}", f"to{other}"), (f"{self._mark}r{other}", f"to{one}")
        _link(*ends)
        network, last = f"10.255.{16 * one + other}", (1, 2)
        for (router, interface), own in zip(ends, last, strict=True):
            _do("ip", "-n", router, "address", "add", f"{network}.{own}/24", "dev", interface)
            _do("ip", "-n", router, "link", "set", interface, "up")
        for (router, _), site, via in zip(ends, (other, one), reversed(last), strict=True):
            _do("ip", "-n", router, "route", "add", f"10.{site}.0.0/16", "via", f"{network}.{via}")
        return list(ends)

    def _join(self, router: str, number: int, place: int, machine: str, site: str) -> None:
        """Make the namespace of a machine, and its link to the router."""
        namespace = self._namespace(f"m{number}-{place}")
        near, far = (namespace, "eth"), (router, f"m{place}")
        _link(near, far)
        self.addresses[machine] = f"10.{number}.{place}.2"
        for (name, interface), last in ((near, 2), (far, 1)):
            _do("ip", "-n", name, "address", "add", f"10.{number}.{place}.{last}/24", "dev", interface)
            _do("ip", "-n", name, "link", "set", interface, "up")
        _do("ip", "-n", namespace, "route", "add", "default", "via", f"10.{number}.{place}.1")
        self._ends[site, site] += [near, far]

    def _namespace(self, name: str) -> str:
        namespace = f"{self._mark}{name}"
        _do("ip", "netns", "add", namespace)
        self._made.append(namespace)
        _do("ip", "-n", namespace, "link", "set", "lo", "up")
        return namespace

    def _machine(self, machine: str) -> str:
        for number, machines in enumerate(self._sites.values()):
            if machine in machines:
                return f"{self._mark}m{number}-{list(machines).index(machine) + 1}"
        raise KeyError(machine)


def _link(one: Ends, other: Ends) -> None:
    names = ["netns", one[0], "type", "veth", "peer", "name", other[1], "netns", other[0]]
    _do("ip", "link", "add", one[1], *names)


def _do(*command: str) -> None:
    if shutil.which(command[0]) is None:
        raise InputError("--real", None, f"needs the command {command[0]}, of the package iproute2")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it fails"]
        raise InputError("--real", None, f"is not permitted here, or not possible: {' '.join(command)}: {why[0]}")
