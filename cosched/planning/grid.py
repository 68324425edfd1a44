"""The machines that an application may use, and the links between them. Pure.

Units: speed in MHz, memory in MB of 2^20 bytes, bandwidth in Mb/s of 10^6 bits, latency in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MB, MBIT, MHZ = 1 << 20, 1e6, 1e6
Pair = tuple[str, str]  # from, to: machines or segments
Values = Mapping[Pair, float]


@dataclass(frozen=True, slots=True, eq=False)  # each is one thing: compared and hashed by identity, which is fast
class Machine:
    """A machine: its full name, its network segment, and what an application gets of it."""

    name: str
    segment: str
    speed: float  # MHz
    cpu: float  # the share of it that a new process gets, 0 to 1
    memory: float  # MB that the application may use
    domain: str = ""  # the policy domain that gives it to jobs; empty: none is known


class Link(NamedTuple):
    """What one direction of a link gives."""

    bandwidth: float  # Mb/s
    latency: float  # s


class Grid:
    """Machines in the user's order, and their links.

    Bandwidth and latency come from tables in their order of preference, the more preferred first. In each table, a
    value of the two machines counts before one of their segments, and that before those of the reverse direction.
    """

    def __init__(self, machines: Iterable[Machine], bandwidth: Sequence[Values], latency: Sequence[Values]) -> None:
        self.machines = tuple(machines)
        self._tables = (bandwidth, latency)
        named = {end for tables in self._tables for table in tables for pair in table for end in pair}
        self._ends = {each: each.name if each.name in named else each.segment for each in self.machines}
        self._links: dict[Pair, Link | None] = {}

    def among(self, machines: Iterable[Machine]) -> Grid:
        """Return the same links among other machines."""
        return Grid(machines, *self._tables)

    def end(self, machine: Machine) -> str:
        """Return what tells the links of a machine apart: its name if it has links of its own, else its segment."""
        return self._ends[machine]

    def link(self, one: Machine, other: Machine) -> Link | None:
        """Return the link from one machine to another; None if its bandwidth or its latency is not known."""
        ends = self.end(one), self.end(other)
        if ends not in self._links:
            bandwidth, latency = (_value(tables, one, other) for tables in self._tables)
            self._links[ends] = None if bandwidth is None or latency is None else Link(bandwidth, latency)
        return self._links[ends]


def _value(tables: Sequence[Values], one: Machine, other: Machine) -> float | None:
    there = (one.name, other.name), (one.segment, other.segment)
    back = tuple((to, start) for start, to in there)
    return next((table[pair] for table in tables for pair in there + back if pair in table), None)
