"""Policy domains: which of their nodes are free, as each service tells its users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.planning.facts import CPU, Listed
from cosched.planning.information.patience import answers
from cosched.planning.information.source import SOONER, Reading, SourceKind, SourceSettings

if TYPE_CHECKING:
    from cosched.client import Nodes

_UNKNOWN = "unknown"


class Domains:
    """Asks the service of each domain. A job gets all of a free node's processor, and nothing of another one's."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> list[Reading]:
        """See InformationSource."""
        of_domains: dict[str, list[Listed]] = {}
        for machine in machines:
            if machine.domain:
                of_domains.setdefault(machine.domain, []).append(machine)
        found: list[Reading] = []
        calls = [(partial(_nodes, domain), self._timeout) for domain in of_domains]
        for (domain, listed), answer in zip(of_domains.items(), answers(calls), strict=True):
            if answer.value is not None:
                found += free(listed, answer.value)
            elif answer.error is not None:
                tell(f"{domain}: {answer.error}")
            else:
                tell(f"{domain}: no answer within {self._timeout:g} s")
        return found


def _nodes(domain: str) -> list[Nodes]:
    from cosched.client import Client

    with Client.of(domain) as client:
        return client.nodes()


def free(machines: Sequence[Listed], groups: Sequence[Nodes]) -> Iterator[Reading]:
    """Yield which machines of a domain are free; of those that are not called by a name there, the first ones are."""
    states = {name: group.state for group in groups for name in group.names}
    named = {machine.node for machine in machines if machine.node is not None}
    unnamed = sum(group.count - len(named & set(group.names)) for group in groups if group.state == "idle")
    for machine in machines:
        if machine.node is None:
            yield Reading(CPU, machine.name, float(unnamed > 0))
            unnamed -= 1
        elif states.get(machine.node, _UNKNOWN) != _UNKNOWN:
            yield Reading(CPU, machine.name, float(states[machine.node] == "idle"))


def _make(settings: SourceSettings, folder: Path) -> Domains:  # noqa: ARG001
    return Domains(SOONER * float(settings.timeout))


DOMAINS = SourceKind("domains", "the policy domains that machines are in: which nodes are free", SourceSettings, _make)
