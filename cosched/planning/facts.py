"""What sources of information know of machines and links, and the grid that follows from it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cosched.planning.grid import Grid, Machine, Pair

SPEED, CPU, MEMORY = KINDS = ("speed", "cpu", "memory")  # of machines
BANDWIDTH, LATENCY = LINK_KINDS = ("bandwidth", "latency")


class Listed(NamedTuple):
    """A machine that the user lists: its full name, the network segment and the policy domain that it is in."""

    name: str
    segment: str
    domain: str = ""
    node: str | None = None  # what its domain calls it; None: its domain gives nodes by their number


@dataclass(frozen=True, slots=True)
class Facts:
    """What one source knows, by kind, in the units of `grid`; links by the names of machines or segments."""

    machines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # kind -> machine -> value
    links: Mapping[str, Mapping[Pair, float]] = field(default_factory=dict)  # kind -> (from, to) -> value


def grid_of(
    listed: Sequence[Listed], sources: Sequence[Facts], required: Iterable[str]
) -> tuple[Grid, dict[str, list[str]]]:
    """Return the machines that can be used, with their links, and the kinds that the others lack.

    The first source that knows a kind of a machine or link counts, for each by itself. A machine without a kind that
    is required is left out; "the scheduler excludes those machines from the search process" (Dail et al. 2002, III.C).
    """
    usable, excluded = [], {}
    required = list(required)
    for machine in listed:
        known = {kind: first_known(sources, kind, machine.name) for kind in KINDS}
        if missing := [kind for kind in required if known[kind] is None]:
            excluded[machine.name] = missing
        else:
            speed, cpu, memory = (known[kind] or 0.0 for kind in KINDS)
            usable.append(Machine(machine.name, machine.segment, speed, cpu, memory, machine.domain))
    tables = ([source.links[kind] for source in sources if kind in source.links] for kind in LINK_KINDS)
    return Grid(usable, *tables), excluded


def first_known(sources: Sequence[Facts], kind: str, machine: str) -> float | None:
    """Return what the first source says that knows this kind of a machine; None: none does."""
    tables = (source.machines.get(kind, {}) for source in sources)
    return next((table[machine] for table in tables if machine in table), None)
