"""The files of a heterogeneous domain (docs/heterogeneous.md): its site, as TOML, and its expected times, as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from cosched.core.scheduling.heterogeneous.site import Cluster, ExpectedTimes, Machine, Site
from cosched.errors import InputError
from cosched.validation.mistakes import KeyedError, first_mistake, key_shown, no_such_key
from cosched.validation.text import shown
from cosched.validation.toml import read_toml
from cosched.validation.types import DomainName, Seconds, Settings, Switch, Whole
from cosched.workload.run_times import read_run_times

Name = DomainName


class MachinesOfClass(Settings):
    """A table [[machines]]: the names of all machines of one class."""

    machine_class: Annotated[Name, Field(alias="class")]
    names: Annotated[tuple[Name, ...], Field(min_length=1)]


class ClusterTable(Settings):
    """A table [[clusters]]."""

    name: Name
    members: Annotated[tuple[Name, ...], Field(min_length=1)]
    min_members: Annotated[Whole, Field(ge=1)] | None = None


class SiteFile(Settings):
    """The keys of a site's file; see `Site`."""

    quantum: Seconds = 0
    preemptive: Switch = False
    promote_after: Annotated[Whole, Field(ge=0)] = 0
    down: tuple[Name, ...] = ()
    machines: Annotated[tuple[MachinesOfClass, ...], Field(min_length=1)]
    clusters: tuple[ClusterTable, ...] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        places = [(("machines", row, "names"), name) for row, of in enumerate(self.machines) for name in of.names]
        places += [(("clusters", row, "name"), cluster.name) for row, cluster in enumerate(self.clusters)]
        known = set[str]()
        for path, name in places:
            if name in known:
                raise KeyedError(path, f"{name} occurs twice: give each machine and each cluster another name")
            known.add(name)
        return self

    @model_validator(mode="after")
    def _machines_are_known(self) -> Self:
        machines = {name for of in self.machines for name in of.names}
        for name in self.down:
            if name not in machines:
                raise KeyedError(("down",), f"{name} is no machine")
        if machines <= {*self.down}:
            raise KeyedError(("down",), "no machine is left")
        for row, cluster in enumerate(self.clusters):
            for name in cluster.members:
                if name not in machines:
                    reason = f"{name} is no machine: name it, with its class, under [[machines]]"
                    raise KeyedError(("clusters", row, "members"), reason)
                if cluster.members.count(name) > 1:
                    raise KeyedError(("clusters", row, "members"), f"{name} occurs twice")
            if (cluster.min_members or 1) > len(cluster.members):
                reason = f"{cluster.min_members} is above the number of members, {len(cluster.members)}"
                raise KeyedError(("clusters", row, "min_members"), reason)
        return self

    def site(self) -> Site:
        """Return the site; machines and clusters are in the order of the file."""
        machines = [Machine(name, of.machine_class) for of in self.machines for name in of.names]
        index = {machine.name: number for number, machine in enumerate(machines)}
        clusters = [
            Cluster(of.name, tuple(sorted(index[name] for name in of.members)), of.min_members or len(of.members))
            for of in self.clusters
        ]
        down = frozenset(index[name] for name in self.down)
        return Site(tuple(machines), tuple(clusters), self.quantum, self.preemptive, self.promote_after, down)


TABLES: Mapping[int | str, type[Settings]] = {"machines": MachinesOfClass, "clusters": ClusterTable}


def read_site(path: str) -> Site:
    """Read a site's file; InputError names the key that is wrong."""
    try:
        return SiteFile(**read_toml(path)).site()
    except ValidationError as error:
        mistake = first_mistake(error)
        *tables, key = mistake.path
        table: type[Settings] = TABLES.get(tables[0], SiteFile) if tables else SiteFile
        names = [field.alias or name for name, field in table.model_fields.items()]
        reason = no_such_key(str(key), names) if mistake.unknown_key else mistake.reason
        raise InputError(path, ".".join(_place(mistake.path)), reason) from None


def _place(path: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the parts of a key's path; the tables of an array are counted from 1, as people do."""
    yield from (str(part + 1) if isinstance(part, int) else key_shown(part) for part in path)


def read_times(path: str, site: Site) -> ExpectedTimes:
    """Read the expected times of job classes on the resources of a site; InputError names the line that is wrong.

    A class must be able to run on a machine, since it may run when clusters are never free at once.
    """
    resources, times = set(site.resources), dict[tuple[str, str], int]()
    for line, pair, seconds in read_run_times(path):
        if pair.resource not in resources:
            raise InputError(path, line, f"the site has no machine and no cluster {shown(pair.resource)}")
        times[pair] = seconds
    _check_classes(path, times, site)
    return times


def _check_classes(path: str, times: Mapping[tuple[str, str], int], site: Site) -> None:
    machines = {machine.name for machine in site.machines}
    for name in dict.fromkeys(name for name, _ in times):
        if not any(job_class == name and resource in machines for job_class, resource in times):
            reason = "can run on clusters only: state its time on a machine, where it runs when no cluster is free"
            raise InputError(path, None, f"{name} {reason}")
