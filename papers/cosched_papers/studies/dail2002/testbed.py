"""The testbed (table 1), and what its machines and links give from moment to moment.

Table 1 is the paper's. How loads, memory and links vary is assumed; words.toml says how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random
from typing import NamedTuple

from cosched.planning.grid import Grid, Machine

UCSD, UTK, UIUC = SITES = ("ucsd.edu", "cs.utk.edu", "cs.uiuc.edu")  # in the order that users prefer
STATIC_SHARE = 0.9  # of the memory that is installed
LAN, WAN, UTKS = 70.0, 6.0, 0.8  # Mb/s: inside a site, between UCSD and UIUC, and on UTK's links
SPREAD, REDRAWN = 0.4, 0.15
LAN_S, WAN_S = 0.0005, 0.035
UNLIMITED = 1e12  # MB


class Node(NamedTuple):
    """A machine of table 1."""

    name: str
    site: str
    mhz: int
    cpus: int
    mb: int


def _nodes(site: str, mhz: int, cpus: int, mb: int, names: str) -> list[Node]:
    return [Node(f"{name}.{site}", site, mhz, cpus, mb) for name in names.split()]


CIRCUS = [
    *_nodes(UCSD, 450, 1, 256, "dralion"),
    *_nodes(UCSD, 400, 1, 256, "mystere soleil quidam saltimbanco"),
    *_nodes(UCSD, 450, 1, 256, "nouba"),
]
NODES = [
    *CIRCUS,
    *_nodes(UTK, 550, 2, 512, "torc1 torc2 torc3 torc4 torc5 torc6 torc7 torc8"),
    *_nodes(UIUC, 450, 1, 256, "opus13-m opus14-m opus15-m opus16-m"),
    *_nodes(UIUC, 266, 1, 128, "amajor bmajor cmajor fmajor gmajor hmajor"),
]
TESTBEDS = {1: CIRCUS, 3: NODES}  # by the number of sites

Drawn = Mapping[tuple[str, str], float]
"""What is drawn for a moment: of a machine ("processes", "cpu", "memory") by its name; of a link by its sites."""


@dataclass(frozen=True, slots=True)
class GradsTestbed:
    """The machines of so many sites. `utk`: Mb/s of UTK's links in the mean; `spread`: of a logarithm of what links
    give; `redrawn`: which share of all that varies has changed when the application runs.
    """

    sites: int
    utk: float = UTKS
    spread: float = SPREAD
    redrawn: float = REDRAWN

    @property
    def nodes(self) -> Sequence[Node]:
        """Its machines, in the order of table 1."""
        return TESTBEDS[self.sites]

    def moment(self, draw: Random) -> Drawn:
        """Draw all that varies."""
        return {key: how(draw) for key, how in self._varies().items()}

    def later(self, moment: Drawn, draw: Random) -> Drawn:
        """Draw anew what has changed since."""
        return {key: how(draw) if draw.random() < self.redrawn else moment[key] for key, how in self._varies().items()}

    def _varies(self) -> dict[tuple[str, str], Callable[[Random], float]]:
        ways: dict[tuple[str, str], Callable[[Random], float]] = {}
        for node in self.nodes:
            ways["processes", node.name] = lambda draw: draw.choices((0, 1, 2), (70, 20, 10))[0]
            ways["cpu", node.name] = lambda draw: draw.uniform(0.93, 1)
            ways["memory", node.name] = lambda draw: draw.uniform(0.88, 0.95)
        for site in SITES:
            ways[site, site] = lambda draw: draw.uniform(60, 80)
        for pair in combinations(SITES, 2):
            ways[pair] = partial(self._given, self._mean(*pair))
        return ways

    def _given(self, mean: float, draw: Random) -> float:
        """Draw what a link gives; its logarithm is normally distributed."""
        return mean * math.exp(draw.gauss(0, self.spread) - self.spread**2 / 2)

    def _mean(self, one: str, other: str) -> float:
        if one == other:
            return LAN
        return self.utk if UTK in (one, other) else WAN

    def at(self, moment: Drawn, *, unlimited: bool = False) -> Grid:
        """Return what the machines and links give at a moment; `unlimited`: memory may be overcommitted."""

        def machine(node: Node) -> Machine:
            cpu = min(1.0, node.cpus / (1 + moment["processes", node.name])) * moment["cpu", node.name]
            memory = UNLIMITED if unlimited else free_memory(node, moment)
            return Machine(node.name, node.site, node.mhz, cpu, memory)

        return self._grid(machine, lambda one, other: moment[one, other])

    def static(self) -> Grid:
        """Return what holds at any time: all of the processors, a share of the memory, means of the links."""
        return self._grid(lambda node: Machine(node.name, node.site, node.mhz, 1.0, STATIC_SHARE * node.mb), self._mean)

    def _grid(self, machine: Callable[[Node], Machine], bandwidth: Callable[[str, str], float]) -> Grid:
        pairs = [*((site, site) for site in SITES), *combinations(SITES, 2)]
        delays = {pair: LAN_S if pair[0] == pair[1] else WAN_S for pair in pairs}
        return Grid(map(machine, self.nodes), [{pair: bandwidth(*pair) for pair in pairs}], [delays])


def free_memory(node: Node, moment: Drawn) -> float:
    """Return the MB that an application may use at a moment."""
    return node.mb * moment["memory", node.name]
