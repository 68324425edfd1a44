"""What the domain knows of its machines: its list of them, its sources of information, and the states of its nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.planning.catalogue import Catalogue, sources_of
from cosched.planning.facts import KINDS, LINK_KINDS, Facts, first_known
from cosched.planning.information.domains import states
from cosched.planning.information.gathering import gather
from cosched.service.configuration import Configuration
from cosched.v1 import cluster_pb2, machines_pb2

NodeGroups = Callable[[], Awaitable[Iterable[cluster_pb2.NodeGroup]]]


@dataclass(frozen=True, slots=True)
class _Gathered:
    facts: Sequence[Facts]
    problems: Sequence[str]
    at: float  # seconds since 1970
    until: float  # by the monotonic clock: when it is gathered anew


@dataclass(slots=True)
class Machines:
    """The machines of a catalogue; belongs to the loop of its domain.

    Its sources are asked in a thread, by one caller at a time; others are told the same for `refresh` seconds.
    """

    path: str
    catalogue: Catalogue
    refresh: int
    node_groups: NodeGroups
    _gathered: dict[bool, _Gathered] = field(default_factory=dict)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def known(self, *, lasting: bool) -> Sequence[Facts]:
        """Return what is known without asking: what the sources have told last, and the list."""
        gathered = self._gathered.get(lasting)
        return self._listed(lasting) if gathered is None else gathered.facts

    async def refreshed(self, *, lasting: bool) -> None:
        """Ask the sources, unless they have just been asked."""
        async with self._asking:
            known = self._gathered.get(lasting)
            if known is None or time.monotonic() >= known.until:
                self._gathered[lasting] = await asyncio.to_thread(self._gather, lasting)

    async def gathered(self) -> None:
        """Have what `known` returns be as new as it can be."""
        for lasting in (False, True):
            await self.refreshed(lasting=lasting)

    async def told(self, *, lasting: bool) -> machines_pb2.ListMachinesResponse:
        """Return the machines with what holds now, or with what holds at any time."""
        from cosched.client import Nodes  # most services list no machines

        await self.refreshed(lasting=lasting)
        known = self._gathered[lasting]
        told = machines_pb2.ListMachinesResponse(problems=known.problems)
        told.gathered_at.CopyFrom(Timestamp(seconds=int(known.at)))
        for machine, state in states(self.catalogue.listed, list(map(Nodes, await self.node_groups()))):
            message = told.machines.add(name=machine.name, segment=machine.segment, node=machine.node or "")
            message.state = cluster_pb2.NodeState.Value(f"NODE_STATE_{state.upper()}")
            _write(message, {kind: first_known(known.facts, kind, machine.name) for kind in KINDS})
        _write_links(told, known.facts)
        return told

    def _listed(self, lasting: bool) -> list[Facts]:
        return [self.catalogue.static()] if lasting else [self.catalogue.present(), self.catalogue.static()]

    def _gather(self, lasting: bool) -> _Gathered:
        asked = sources_of(self.path, self.catalogue, present=not lasting)
        gather(asked, self.catalogue.listed)
        facts = [*(source.facts for source in asked), *self._listed(lasting)]
        problems = [problem for source in asked for problem in source.problems]
        return _Gathered(facts, problems, time.time(), time.monotonic() + self.refresh)


def own_machines(catalogue: Catalogue | None, configuration: Configuration, node_groups: NodeGroups) -> Machines | None:
    """Return the machines of a domain's catalogue; None: it has none."""
    section = configuration.machines
    if section is None or catalogue is None:
        return None
    return Machines(str(section.file), catalogue, section.refresh, node_groups)


def _write_links(told: machines_pb2.ListMachinesResponse, facts: Sequence[Facts]) -> None:
    tables = {kind: [source.links.get(kind, {}) for source in facts] for kind in LINK_KINDS}
    for link in dict.fromkeys(link for of_kind in tables.values() for table in of_kind for link in table):
        values = {kind: next((table[link] for table in known if link in table), None) for kind, known in tables.items()}
        _write(told.links.add(start=link[0], to=link[1]), values)


def _write(message: machines_pb2.Machine | machines_pb2.Link, values: Mapping[str, float | None]) -> None:
    for kind, value in values.items():
        if value is not None:
            setattr(message, kind, value)
