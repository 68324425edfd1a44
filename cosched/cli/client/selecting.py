"""`cosched submit --select`: the jobs of an application on machines that are chosen for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.cli.selection import Selection
    from cosched.planning.grid import Machine

MAX_PROPOSALS = 5
PROBLEM = ("application", "size")
HOW = ("strategy", "iterations", "max_proposals", "reselect")
EXCLUDED = {  # what --select gives
    "nodes": "--nodes", "nodelist": "--nodelist", "members": "--with", "destinations": "--to", "server": "--server",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """The job of one domain: its nodes, by name if `nodelist` is given, and the variables that tell it its map."""

    domain: str
    nodes: int
    nodelist: str | None
    variables: Mapping[str, str]

    @property
    def columns(self) -> Mapping[str, str]:
        """What its scheduler reads of it beside its size."""
        return {} if self.nodelist is None else {"nodelist": self.nodelist}

    def options(self, export: str) -> dict[str, Any]:
        """Return the options of `cosched submit` that it sets, beside an `export` of the user's."""
        told = [f"{name}={value}" for name, value in self.variables.items()]
        return {**self.columns, "nodes": self.nodes, "export": ",".join([export, *told])}


def check_selection(given: Mapping[str, Any], script: str | None) -> None:
    """Check the options that were given, with or without --select; UsageError."""
    missing = [name for name in PROBLEM if name not in given]
    if "grid" not in given:
        if named := [name for name in HOW if name in given]:
            raise click.UsageError(f"--{named[0].replace('_', '-')} needs --select FILE, the machines to choose from")
        if len(missing) == 1:
            [there] = [name for name in PROBLEM if name in given]
            raise click.UsageError(f"--{there} needs --{missing[0]}")
        if not missing and (named := [name for name in ("nodelist", "destinations") if name in given]):
            raise click.UsageError(f"its domain chooses nodes for --application: it excludes {EXCLUDED[named[0]]}")
        return
    if missing:
        raise click.UsageError(f"--select needs --{missing[0]}")
    if named := [option for name, option in EXCLUDED.items() if name in given]:
        raise click.UsageError(f"--select chooses the domains and their nodes: it excludes {named[0]}")
    if script == "-":
        raise click.UsageError("--select needs a file as SCRIPT, since several domains may get it")


def check_alone(file: str, jobs: Sequence[Part], given: Mapping[str, Any]) -> None:
    """InputError if the jobs of several domains, which are a group, are to have a mate beside each other."""
    if named := [name for name in ("mate", "pair") if name in given]:
        domains = " and ".join(job.domain for job in jobs)
        said = f"the best choice is on {domains}, whose jobs are a group: --{named[0]} is for a choice on one domain"
        raise InputError(file, None, said)


def parts(file: str, selection: Selection) -> list[Part]:
    """Return the jobs that run on the machines that were chosen of a file, in the order of the map; InputError."""
    chosen = selection.choice.schedule.map
    of_domains: dict[str, list[int]] = {}
    for place, machine in enumerate(chosen.machines):
        if not machine.domain:
            said = "missing: --select must know which domain gives it"
            raise InputError(file, f"machine.{machine.name!r}.domain", said)
        of_domains.setdefault(machine.domain, []).append(place)
    return [
        Part(domain, len(places), _nodelist(file, selection, domain, [chosen.machines[place] for place in places]),
             chosen.told(places))
        for domain, places in of_domains.items()
    ]  # fmt: skip


def _nodelist(file: str, selection: Selection, domain: str, machines: Sequence[Machine]) -> str | None:
    """Return the names that a domain has for machines; None: it gives as many of its nodes, which are all alike."""
    names = {listed.name: listed.node for listed in selection.listed}
    nodes = [names[machine.name] for machine in machines]
    if None not in nodes:
        return ",".join(str(node) for node in nodes)
    usable = [machine for machine in selection.grid.machines if machine.domain == domain and machine.cpu > 0]
    kinds = {(machine.segment, machine.speed, machine.cpu, machine.memory) for machine in usable}
    if any(nodes) or len(kinds) > 1:
        unnamed = machines[nodes.index(None)].name
        said = (
            f"missing: machines of {domain} differ, so the job must have those that were chosen, by their names there"
        )
        raise InputError(file, f"machine.{unnamed!r}.node", said)
    return None
