"""Sites: sets of machines that are close to each other (Dail et al. 2002, III.B, FindSites). Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import TypeVar

from cosched.planning.grid import Grid, Machine

LEAST_RATIO = 3  # between the delays between sites and those inside them, if sites are found by delay

Site = tuple[Machine, ...]  # in the user's order
_Key = TypeVar("_Key", bound=Hashable)


def by_name(grid: Grid) -> list[Site]:
    """Return the sites in order of their first machine: machines whose names are equal after the first dot."""
    return _grouped(grid.machines, [site_name(machine) for machine in grid.machines])


def site_name(machine: Machine) -> str:
    """Return what follows the first dot of a machine's full name; empty without a dot."""
    return machine.name.partition(".")[2]


def by_domain(grid: Grid) -> list[Site]:
    """Return the machines of each policy domain, in order of their first machine."""
    return _grouped(grid.machines, [machine.domain for machine in grid.machines])


def by_delay(grid: Grid) -> list[Site]:
    """Return the sites in order of their first machine: machines that short delays connect, directly or by others.

    The delay of two machines is the latency there and back. The sorted delays are cut where the next one is larger by
    the largest ratio. If that is less than LEAST_RATIO, all machines are one site. A missing link connects nothing.
    """
    delays: dict[tuple[Machine, Machine], float] = {}
    for one, other in combinations(grid.machines, 2):
        there, back = grid.link(one, other), grid.link(other, one)
        if there is not None and back is not None:
            delays[one, other] = there.latency + back.latency
    longest = _longest_inside(sorted(set(delays.values())))
    leaders = {machine: machine for machine in grid.machines}

    def leader(machine: Machine) -> Machine:
        while leaders[machine] is not machine:
            leaders[machine] = machine = leaders[leaders[machine]]
        return machine

    for (one, other), delay in delays.items():
        if delay <= longest:
            leaders[leader(other)] = leader(one)
    return _grouped(grid.machines, [leader(machine) for machine in grid.machines])


FINDERS = {"name": by_name, "delay": by_delay, "domain": by_domain}
LABELS: dict[str, Callable[[Machine], str]] = {  # how a site is called, by one of its machines
    "name": lambda machine: site_name(machine) or machine.name,
    "delay": lambda machine: machine.name,
    "domain": lambda machine: machine.domain or "(none)",
}


def _longest_inside(delays: Sequence[float]) -> float:
    ratios = [(after / before if before else math.inf, before) for before, after in pairwise(delays)]
    largest = max((ratio for ratio, _ in ratios), default=0.0)
    return next(before for ratio, before in ratios if ratio == largest) if largest >= LEAST_RATIO else math.inf


def _grouped(machines: Sequence[Machine], keys: Sequence[_Key]) -> list[Site]:
    sites: dict[_Key, list[Machine]] = {}
    for machine, key in zip(machines, keys, strict=True):
        sites.setdefault(key, []).append(machine)
    return [tuple(site) for site in sites.values()]


def collections(sites: Sequence[Site]) -> Iterator[tuple[Site, ...]]:
    """Yield all non-empty sets of sites: those of fewer sites first, then in the order of the sites."""
    for size in range(1, len(sites) + 1):
        yield from combinations(sites, size)
