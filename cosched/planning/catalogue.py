"""A list of machines and links in a TOML file: what is known of them, by hand or from a survey."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from cosched.planning.facts import BANDWIDTH, CPU, LATENCY, MEMORY, SPEED, Facts, Listed
from cosched.planning.grid import Pair
from cosched.planning.information.domains import DOMAINS
from cosched.planning.information.gathering import Asked
from cosched.planning.information.source import SourceKind
from cosched.planning.loading import source_kinds
from cosched.planning.units import Bandwidth, Latency, Memory, Share, Speed
from cosched.validation.mistakes import first_mistake, key_shown, no_such_key
from cosched.validation.toml import read_toml
from cosched.validation.types import DomainName, Settings
from cosched.words.errors import InputError

_Thing = TypeVar("_Thing")
_Kinds = dict[str, dict[Any, float | None]]
_Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[A-Za-z0-9_.-]+$")]


class MachineTable(Settings):
    """A table under [[machine]]."""

    name: _Name
    segment: str = ""  # its network; empty: the part of its name after the first dot
    speed: Speed | None = None
    cpu: Share | None = None  # that a new process gets now
    memory: Memory | None = None  # that the application may use now
    installed: Memory | None = None  # whether it is in use or not
    domain: _Name | None = None  # the policy domain that gives it to jobs
    node: _Name | None = None  # what its domain calls it; None: the domain gives nodes by their number

    @property
    def listed(self) -> Listed:
        """The machine with its segment."""
        return Listed(self.name, self.segment or self.name.partition(".")[2], self.domain or "", self.node)


class LinkTable(Settings):
    """A table under [[link]]: one direction, which also counts for the other if that has none."""

    start: _Name = Field(alias="from")
    to: _Name
    bandwidth: Bandwidth | None = None
    latency: Latency | None = None

    @property
    def pair(self) -> Pair:
        """Where it leads from and to."""
        return self.start, self.to


class DomainTable(Settings):
    """A table under [[domain]]: all machines that it tells of."""

    name: DomainName


class Catalogue(Settings):
    """Machines in the order of the user's preference, domains whose machines come after them, and links."""

    memory_share: Share = 0.9  # of what is installed, that an application may use
    domain: tuple[DomainTable, ...] = ()
    machine: tuple[MachineTable, ...] = Field((), validate_default=True)
    link: tuple[LinkTable, ...] = ()
    source: tuple[dict[str, Any], ...] = ()  # in the order of preference; each has the keys of its kind

    @field_validator("machine")
    @classmethod
    def _some(cls, machines: tuple[MachineTable, ...], info: ValidationInfo) -> tuple[MachineTable, ...]:
        if not machines and not info.data.get("domain"):
            raise ValueError("at least one machine is needed: each is a table under a line [[machine]]")
        return machines

    @property
    def domains(self) -> list[str]:
        """The names of the domains that are to tell of their machines."""
        return [table.name for table in self.domain]

    @property
    def listed(self) -> list[Listed]:
        """The machines, in order."""
        return [table.listed for table in self.machine]

    def static(self) -> Facts:
        """Return what holds at any time: all of the processor, a share of the memory, what links give on average."""
        share, memory = self.memory_share, {each.name: each.memory for each in self.machine}
        memory |= {each.name: each.installed * share for each in self.machine if each.installed is not None}
        speed = {each.name: each.speed for each in self.machine}
        machines: _Kinds = {SPEED: speed, CPU: dict.fromkeys(speed, 1.0), MEMORY: memory}
        bandwidth = {link.pair: link.bandwidth for link in self.link}
        latency = {link.pair: link.latency for link in self.link}
        return Facts(_known(machines), _known({BANDWIDTH: bandwidth, LATENCY: latency}))

    def present(self) -> Facts:
        """Return what was measured: the processor and the memory that an application gets now."""
        cpu = {each.name: each.cpu for each in self.machine}
        return Facts(_known({CPU: cpu, MEMORY: {each.name: each.memory for each in self.machine}}))


def _known(kinds: _Kinds) -> dict[str, dict[Any, float]]:
    return {kind: {of: value for of, value in values.items() if value is not None} for kind, values in kinds.items()}


def read_catalogue(path: str) -> Catalogue:
    """Read a file; InputError names the machine or link and the key."""
    values = read_toml(path)
    try:
        catalogue = Catalogue.model_validate(values)
    except ValidationError as error:
        mistake = first_mistake(error)
        reason = mistake.reason
        if mistake.kind == "tuple_type":
            reason = f"each is a table under a line [[{mistake.path[0]}]]"
        elif mistake.unknown_key:
            tables: dict[str, type[Settings]] = {"machine": MachineTable, "link": LinkTable, "domain": DomainTable}
            model = Catalogue if len(mistake.path) == 1 else tables[str(mistake.path[0])]
            keys = (field.alias or name for name, field in model.model_fields.items())
            reason = no_such_key(str(mistake.path[-1]), keys)
        raise InputError(path, _place(mistake.path, values), reason) from None
    _check(path, catalogue)
    return catalogue


def sources_of(path: str, catalogue: Catalogue, *, present: bool) -> list[Asked]:
    """Return the sources to ask for what holds at present, or else for long-term means. InputError names the key."""
    asked, tables = [], list(catalogue.source)
    if catalogue.domain and all(table.get("kind") != DOMAINS.name for table in tables):
        tables.append({"kind": DOMAINS.name})  # domains whose machines are wanted are a source, too
    for number, table in enumerate(tables, 1):
        kind = _kind(path, number, table)
        try:
            settings = kind.settings.model_validate(table)
        except ValidationError as error:
            mistake = first_mistake(error)
            key = str(mistake.path[0]) if mistake.path else ""
            reason = no_such_key(key, kind.settings.model_fields) if mistake.unknown_key else mistake.reason
            raise InputError(path, f"source.{number}.{key}".rstrip("."), reason) from None
        if (make := kind.make if present else kind.mean) is not None:
            max_age = None if settings.max_age is None else float(settings.max_age)
            name = f"source {number} ({kind.name})"
            asked.append(Asked(name, make(settings, Path(path).parent), float(settings.timeout), max_age))
    return asked


def _kind(path: str, number: int, table: Mapping[str, Any]) -> SourceKind:
    known, name = source_kinds(), str(table.get("kind", ""))
    if name not in known:
        what = f"no kind is called {name!r}" if name else "missing"
        raise InputError(path, f"source.{number}.kind", f"{what}; there are {', '.join(known)}")
    return known[name]


def _check(path: str, catalogue: Catalogue) -> None:
    for key, tables in (("machine", catalogue.machine), ("domain", catalogue.domain)):
        if (name := _twice(each.name for each in tables)) is not None:
            raise InputError(path, f"{key}.{key_shown(name)}", "listed twice")
    if not catalogue.domain:  # else all ends are known when they have told of their machines
        check_ends(path, catalogue, catalogue.listed)
    for number, link in enumerate(catalogue.link, 1):
        if link.bandwidth is None and link.latency is None:
            raise InputError(path, f"link.{number}", "has neither bandwidth nor latency")
    if (pair := _twice(link.pair for link in catalogue.link)) is not None:
        raise InputError(path, "link", f"the link from {pair[0]} to {pair[1]} is listed twice")


def check_ends(path: str, catalogue: Catalogue, machines: Iterable[Listed]) -> None:
    """Check that the links are between these machines, or their segments; InputError."""
    ends = {end for machine in machines for end in (machine.name, machine.segment)}
    for number, link in enumerate(catalogue.link, 1):
        for key, end in zip(("from", "to"), link.pair, strict=True):
            if end not in ends:
                said = f"{end!r} is not a machine or a segment that is listed here"
                raise InputError(path, f"link.{number}.{key}", said)


def _twice(things: Iterable[_Thing]) -> _Thing | None:
    return next((thing for thing, times in Counter(things).items() if times > 1), None)


def _place(path: tuple[int | str, ...], values: dict[str, Any]) -> str | None:
    """Return where a key is: machines by name, links by number from 1."""
    parts: list[str] = []
    for place, part in enumerate(path):
        if isinstance(part, str):
            parts.append(key_shown(part))
        else:
            table = values[str(path[place - 1])][part]
            name = table.get("name") if isinstance(table, dict) else None
            parts.append(key_shown(name) if isinstance(name, str) else str(part + 1))
    return ".".join(parts) or None
