"""Policy domains: what each service tells its users of its machines, and which of its nodes are free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.planning.facts import CPU, LINK_KINDS, MEMORY, SPEED, Listed
from cosched.planning.information.patience import answers
from cosched.planning.information.source import SOONER, Reading, SourceKind, SourceSettings

if TYPE_CHECKING:
    from cosched.client import Machine, Machines, Nodes

IDLE, BUSY, UNKNOWN = "idle", "busy", "unknown"
DOMAINS_TIMEOUT = 5.0  # seconds for the domains whose machines are not listed by the user
NOT_SERVED = ("NO_MACHINES", "UNIMPLEMENTED")  # what a domain answers that lists no machines, or an older one


class Domains:
    """Asks the service of each domain. A job gets nothing of a node that is not free."""

    def __init__(self, timeout: float, *, lasting: bool) -> None:
        self._timeout = timeout
        self._lasting = lasting

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> list[Reading]:
        of_domains: dict[str, list[Listed]] = {}
        for machine in machines:
            if machine.domain:
                of_domains.setdefault(machine.domain, []).append(machine)
        found: list[Reading] = []
        for domain, told in _ask([*of_domains], self._timeout, lasting=self._lasting, tell=tell):
            if isinstance(told, list):
                found += [] if self._lasting else free(of_domains[domain], told)
            else:
                for problem in told.problems:
                    tell(f"{domain}: {problem}")
                found += _told(of_domains[domain], told, lasting=self._lasting)
        return found


def listed_by(domains: Sequence[str], timeout: float, tell: Callable[[str], None]) -> list[Listed]:
    """Return the machines that domains list; `tell` takes a line about one that does not."""
    found: list[Listed] = []
    for domain, told in _ask(domains, timeout, lasting=True, tell=tell):
        if isinstance(told, list):
            tell(f"{domain} lists no machines: its operator can, in the section [machines] of its configuration")
        else:
            found += [Listed(machine.name, machine.segment, domain, machine.node) for machine in told.machines]
    return found


def _ask(
    domains: Sequence[str], timeout: float, *, lasting: bool, tell: Callable[[str], None]
) -> Iterator[tuple[str, Machines | list[Nodes]]]:
    """Ask all domains at once and yield what they tell; `tell` takes a line about one that does not answer.

    One that lists no machines tells of its nodes, unless only what is `lasting` is asked for.
    """
    calls = [(partial(_call, domain, lasting), timeout) for domain in domains]
    for domain, answer in zip(domains, answers(calls), strict=True):
        if answer.value is not None:
            yield domain, answer.value
        else:
            tell(f"{domain}: {answer.error or f'no answer within {timeout:g} s'}")


def _call(domain: str, lasting: bool) -> Machines | list[Nodes]:
    from cosched.client import Client, ClientError

    with Client.of(domain) as client:
        try:
            return client.machines(lasting=lasting)
        except ClientError as error:
            if error.reason not in NOT_SERVED:
                raise
        return [] if lasting else client.nodes()


def _told(machines: Sequence[Listed], told: Machines, *, lasting: bool) -> Iterator[Reading]:
    """Yield what a domain tells of machines that are listed, by their names or their nodes, and of its links."""
    at = told.gathered_at.timestamp()
    known = {machine.name: machine for machine in told.machines}
    by_node = {machine.node: machine for machine in told.machines if machine.node}
    for machine in machines:
        if (found := by_node.get(machine.node or "", known.get(machine.name))) is None:
            continue
        values = {SPEED: found.speed, MEMORY: found.memory, CPU: 1.0 if lasting else _cpu(found)}
        yield from (Reading(kind, machine.name, value, at) for kind, value in values.items() if value is not None)
    for link in told.links:
        of_link = ((kind, getattr(link, kind)) for kind in LINK_KINDS)
        yield from (Reading(kind, (link.start, link.to), value, at) for kind, value in of_link if value is not None)


def _cpu(machine: Machine) -> float | None:
    """Return the share of its processor that a job gets now; None: not known."""
    if machine.state == UNKNOWN:
        return machine.cpu
    if machine.state != IDLE:
        return 0.0
    return 1.0 if machine.cpu is None else machine.cpu


def states(machines: Sequence[Listed], groups: Sequence[Nodes]) -> Iterator[tuple[Listed, str]]:
    """Yield the states of a domain's machines; of those that are not called by a name there, the first are idle.

    Where the free nodes are told by name, no other one is free.
    """
    of_names = {name: group.state for group in groups for name in group.names}
    others = BUSY if all(group.names for group in groups if group.state == IDLE) else UNKNOWN
    named = {machine.node for machine in machines if machine.node is not None}
    unnamed = sum(group.count - len(named & set(group.names)) for group in groups if group.state == IDLE)
    for machine in machines:
        if machine.node is None:
            yield machine, IDLE if unnamed > 0 else BUSY
            unnamed -= 1
        else:
            yield machine, of_names.get(machine.node, others)


def free(machines: Sequence[Listed], groups: Sequence[Nodes]) -> Iterator[Reading]:
    """Yield which machines of a domain are free, as far as that is known: a job gets all of their processors."""
    for machine, state in states(machines, groups):
        if state != UNKNOWN:
            yield Reading(CPU, machine.name, float(state == IDLE))


def _make(settings: SourceSettings, folder: Path, *, lasting: bool = False) -> Domains:  # noqa: ARG001
    return Domains(SOONER * float(settings.timeout), lasting=lasting)


_PURPOSE = "the policy domains that machines are in: what these tell of them"
DOMAINS = SourceKind("domains", _PURPOSE, SourceSettings, _make, partial(_make, lasting=True))
