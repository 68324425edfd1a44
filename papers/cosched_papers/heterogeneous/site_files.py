"""The files of a heterogeneous domain (docs/heterogeneous.md): its site, as TOML, and its expected times, as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from cosched.validation.mistakes import KeyedError, first_mistake, key_shown, no_such_key
from cosched.validation.run_times import read_run_times
from cosched.validation.text import shown
from cosched.validation.toml import read_toml
from cosched.validation.types import DomainName, Seconds, Settings, Switch, Whole
from cosched.words.errors import InputError
from cosched_papers.heterogeneous.site import Cluster, ExpectedTimes, Interconnect, Machine, Restricted, Site

Name = DomainName
Users = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
Described = Annotated[str, Field(max_length=256)]


class MachinesOfClass(Settings):
    """A table [[machines]]: the names of all machines of one class."""

    machine_class: Annotated[Name, Field(alias="class")]
    names: Annotated[tuple[Name, ...], Field(min_length=1)]
    users: Users | None = None
    description: Described = ""


class ClusterTable(Settings):
    """A table [[clusters]]."""

    name: Name
    members: Annotated[tuple[Name, ...], Field(min_length=1)]
    min_members: Annotated[Whole, Field(ge=1)] | None = None
    interconnect: Name | None = None
    users: Users | None = None


class InterconnectTable(Settings):
    """A table [[interconnects]]: a network that serves clusters; Mbit/s and s."""

    name: Name
    bandwidth: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    latency: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class QueueTable(Settings):
    """A table [[queues]]: who alone may submit to a queue."""

    name: Literal["high", "medium", "low"]
    users: Users


class JobClassTable(Settings):
    """A table [[job_classes]]."""

    name: Annotated[str, Field(min_length=1, max_length=256)]
    users: Users | None = None
    description: Described = ""


class SiteFile(Settings):
    """The keys of a site's file; see `Site`."""

    quantum: Seconds = 0
    preemptive: Switch = False
    promote_after: Annotated[Whole, Field(ge=0)] = 0
    down: tuple[Name, ...] = ()
    machines: Annotated[tuple[MachinesOfClass, ...], Field(min_length=1)]
    clusters: tuple[ClusterTable, ...] = ()
    interconnects: tuple[InterconnectTable, ...] = ()
    queues: tuple[QueueTable, ...] = ()
    job_classes: tuple[JobClassTable, ...] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        places = [(("machines", row, "names"), name) for row, of in enumerate(self.machines) for name in of.names]
        places += [(("clusters", row, "name"), cluster.name) for row, cluster in enumerate(self.clusters)]
        known = set[str]()
        for path, name in places:
            if name in known:
                raise KeyedError(path, f"{name} occurs twice: give each machine and each cluster another name")
            known.add(name)
        for table in ("interconnects", "queues", "job_classes"):
            names = [of.name for of in getattr(self, table)]
            for row, name in enumerate(names):
                if name in names[:row]:
                    raise KeyedError((table, row, "name"), f"{name} occurs twice")
        return self

    @model_validator(mode="after")
    def _interconnects_are_known(self) -> Self:
        known, served = {of.name for of in self.interconnects}, {of.interconnect for of in self.clusters}
        for row, cluster in enumerate(self.clusters):
            if cluster.interconnect not in {None, *known}:
                reason = f"{cluster.interconnect} is not an interconnect: describe it under [[interconnects]]"
                raise KeyedError(("clusters", row, "interconnect"), reason)
        for row, link in enumerate(self.interconnects):
            if link.name not in served:
                reason = f'{link.name} serves no cluster: give one of them interconnect = "{link.name}"'
                raise KeyedError(("interconnects", row, "name"), reason)
        return self

    @model_validator(mode="after")
    def _machines_are_known(self) -> Self:
        machines = {name for of in self.machines for name in of.names}
        for name in self.down:
            if name not in machines:
                raise KeyedError(("down",), f"{name} is not a machine of the site")
        if machines <= {*self.down}:
            raise KeyedError(("down",), "no machine is left")
        for row, cluster in enumerate(self.clusters):
            for name in cluster.members:
                if name not in machines:
                    reason = f"{name} is not a machine: name it, with its class, under [[machines]]"
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
        links = {of.name: Interconnect(of.name, of.bandwidth, of.latency) for of in self.interconnects}
        clusters = []
        for of in self.clusters:
            members = tuple(sorted(index[name] for name in of.members))
            clusters.append(Cluster(of.name, members, of.min_members or len(members), links.get(of.interconnect or "")))
        rules = self.quantum, self.preemptive, self.promote_after, frozenset(index[name] for name in self.down)
        users = {(what, name): frozenset(users) for what, name, users in self._reserved()}
        machine_classes = {of.machine_class: of.description for of in self.machines if of.description}
        job_classes = {of.name: of.description for of in self.job_classes}
        return Site(tuple(machines), tuple(clusters), *rules, users, machine_classes, job_classes)

    def _reserved(self) -> Iterator[tuple[Restricted, str, Users]]:
        """Yield what is for some users only."""
        of_machines = ((Restricted.MACHINE, name, of.users) for of in self.machines for name in of.names)
        of_clusters = ((Restricted.CLUSTER, of.name, of.users) for of in self.clusters)
        of_queues = ((Restricted.QUEUE, of.name, of.users) for of in self.queues)
        of_classes = ((Restricted.JOB_CLASS, of.name, of.users) for of in self.job_classes)
        for what, name, users in chain(of_machines, of_clusters, of_queues, of_classes):
            if users is not None:
                yield what, name, users


TABLES: Mapping[int | str, type[Settings]] = {
    "machines": MachinesOfClass,
    "clusters": ClusterTable,
    "interconnects": InterconnectTable,
    "queues": QueueTable,
    "job_classes": JobClassTable,
}


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
    for name in (*site.job_classes, *(name for what, name in site.users if what is Restricted.JOB_CLASS)):
        if not any(job_class == name for job_class, _ in times):
            raise InputError(path, None, f"has no time of {name}, a job class of the site's file")
