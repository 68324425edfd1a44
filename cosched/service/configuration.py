"""A policy domain's configuration: its TOML file (docs/configuration.md), checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from cosched.adapters.loading import load_batch_system
from cosched.adapters.manager import SettingError
from cosched.core.allocation import Malleable
from cosched.core.scheduling.fluid.settings import FluidSettings
from cosched.core.scheduling.scheduler import ClusterSettings
from cosched.core.settings import MAX_INTERVAL, CoschedulingSettings, OnMateUnknown, OnMemberLost, ReleaseOrder
from cosched.errors import InputError
from cosched.validation.addresses import Address, ListenAddress, Uri, is_loopback
from cosched.validation.fluid import OF_FLUID, FluidFields
from cosched.validation.mistakes import KeyedError, Mistake, first_mistake, key_shown, no_such_key
from cosched.validation.schemes import NO_BOUND, Meeting, SchemeChoice
from cosched.validation.sections import CoschedulingFields, SchedulerFields
from cosched.validation.text import shown
from cosched.validation.toml import read_toml
from cosched.validation.types import DomainName, ExactSeconds, MateBudgetShare, Number, Seconds, Settings, Whole

DAY = 86400
MAX_RETENTION = 100 * MAX_INTERVAL
PAPERS_RULES: Mapping[str, Any] = {"peer_grace": 0, "on_mate_unknown": OnMateUnknown.START}
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
MAX_SOCKET_PATH = 107  # bytes, the limit of a Unix socket's address


def _text(value: str) -> str:
    if not 1 <= len(value) <= 256 or not value.isprintable():
        raise ValueError("must be 1 to 256 printable characters")
    return value


def _endless(value: object) -> object:
    return None if value == "forever" else value


def _absolute(value: object, info: ValidationInfo) -> object:
    """Return the path relative to the configuration file's folder, which is the validation's context."""
    if isinstance(value, str):
        if not value or "\0" in value:
            raise ValueError("must be a path")
        value = Path(value)
    return Path((info.context or {}).get("folder", ""), value).absolute() if isinstance(value, Path) else value


def _socket(path: Path) -> Path:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise ValueError(f"longer than the {MAX_SOCKET_PATH} bytes that the path of a socket can have")
    return path


def _in_a_folder(path: Path) -> Path:
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {str(path.parent)!a}")
    if path.is_dir():
        raise ValueError(f"{str(path)!a} is a folder, not a file")
    return path


def _ports(value: object) -> object:
    """Return the lowest and the highest port of `LOW-HIGH`."""
    low, dash, high = value.partition("-") if isinstance(value, str) else ("", "", "")
    if not (dash and low.isdecimal() and high.isdecimal() and 1 <= int(low) <= int(high) <= 65535):
        raise ValueError('must be two ports, "LOW-HIGH"')
    return int(low), int(high)


def _readable(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise ValueError(f"{str(path)!a} cannot be read: {error.strerror}") from None
    return path


def _proxy(value: str) -> str:
    try:
        ip_network(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is no address or network, such as 127.0.0.1 or 10.1.0.0/24") from None
    return value


def _header(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError(f"{shown(value)} is no name of an HTTP header, such as X-Remote-User")
    return value


Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, AfterValidator(_text)]
FilePath = Annotated[Path, BeforeValidator(_absolute)]
ReadableFile = Annotated[FilePath, AfterValidator(_readable)]


class DomainSection(Settings):
    """[domain]: the service's name, where it listens, its limits, and what it stores."""

    name: DomainName
    listen: ListenAddress
    plaintext: Flag = False
    socket: Annotated[FilePath, AfterValidator(_socket)] | None = None
    state: Annotated[FilePath, AfterValidator(_in_a_folder)]
    http: ListenAddress | None = None
    operators: tuple[Text, ...] = ()
    schedule_interval: Annotated[Seconds, Field(le=MAX_INTERVAL)] = 30  # 0: no periodic iteration
    retention: Annotated[Seconds, Field(ge=1, le=MAX_RETENTION)] = 30 * DAY
    max_jobs_per_user: Annotated[Whole, Field(ge=1, le=10**9)] = 10_000  # jobs that have not ended
    max_script_bytes_per_user: Annotated[Whole, Field(ge=1, le=10**15)] = 256 << 20  # of those jobs, compressed
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    job_ports: Annotated[tuple[int, int] | None, BeforeValidator(_ports)] = None  # at which jobs may listen

    @model_validator(mode="after")
    def _plaintext_stays_here(self) -> Self:
        if self.plaintext and not is_loopback(self.listen):
            raise ValueError(f"listen: {self.listen} is no loopback address, and plaintext is on")
        return self


class Coscheduling(CoschedulingFields):
    """[coscheduling]: the scheme, enhancements, and time limits for other domains."""

    enabled: Flag = True
    mate_budget_share: MateBudgetShare = NO_BOUND
    peer_grace: Seconds = 120  # default 0 if the manager replays
    on_mate_unknown: OnMateUnknown = OnMateUnknown.WAIT  # default START if the manager replays
    on_member_lost: OnMemberLost = OnMemberLost.START
    mate_patience: Annotated[Seconds | None, BeforeValidator(_endless)] = 7 * DAY
    peer_timeout: Annotated[ExactSeconds, Field(gt=0, le=300)] = Decimal(5)
    peer_patience: Seconds = 30
    heartbeat_interval: Annotated[Seconds, Field(le=MAX_INTERVAL)] = 10  # 0: none
    # A time service keeps clocks within milliseconds, and ntpd steps a clock that is 0.128 s off. So a clock that is
    # four times as far off may step at any moment.
    max_clock_offset: Annotated[ExactSeconds, Field(le=DAY)] = Decimal("0.5")  # for agreed starts; 0: never agree

    @property
    def coschedules(self) -> bool:
        """Whether jobs of this domain have mates; without `enabled` the scheme is off."""
        return self.enabled and super().coschedules

    @property
    def meeting_if_on(self) -> Meeting:
        """See CoschedulingFields; a service tells owners apart."""
        return replace(super().meeting_if_on, mate_budget_share=self.mate_budget_share)

    @model_validator(mode="after")
    def _share_is_one_of_a_budget(self) -> Self:
        if "mate_budget_share" in self.model_fields_set and not self.meeting_if_on.mate_budget:
            raise KeyedError(("mate_budget_share",), "has no effect without a mate_budget")
        return self


class Peer(Settings):
    """[[peer]]: another domain; `owners` maps its users' names to ours where they differ."""

    name: DomainName
    address: Address
    identity: Uri | None = None
    owners: Mapping[Text, Text] = Field(default_factory=dict)


class Account(Settings):
    """[[account]]: who is charged together for nodes that jobs keep unused, and how much of that is let a day."""

    name: Text
    users: tuple[Text, ...] = ()  # whose jobs are of it, unless the batch system says which account they are of
    max_held_node_hours: Annotated[Number, Field(ge=0, le=10**9)] | None = None  # a day; None: no budget


class Events(Settings):
    """[events]: the site's command for what happens; `on_pair_start` is its path and its arguments."""

    on_pair_start: tuple[Text, ...] = ()
    timeout: Annotated[Seconds, Field(ge=1, le=3600)] = 30

    @field_validator("on_pair_start")
    @classmethod
    def _can_be_run(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value and not os.path.isabs(value[0]):
            raise ValueError(f"{shown(value[0])} is no absolute path")
        if value and not os.access(value[0], os.X_OK):
            raise ValueError(f"{shown(value[0])} is no program that this user may run")
        return value


class Tls(Settings):
    """[tls]: PEM files. A certificate whose URI is `user_identity` followed by a name belongs to that user."""

    ca: ReadableFile
    certificate: ReadableFile
    key: ReadableFile
    user_identity: Uri | None = None

    @field_validator("user_identity")
    @classmethod
    def _ends_where_a_name_begins(cls, value: str | None) -> str | None:
        if value is not None and not value.endswith(("/", ":")):
            raise ValueError(f"{shown(value)} does not end in / or :, so one user could pass for another")
        return value


class Page(Settings):
    """[page]: how people look at the domain with a browser, who sees whose jobs, and how much each may ask."""

    show: Literal["own", "domain", "all"] = "own"
    proxies: tuple[Annotated[str, AfterValidator(_proxy)], ...] = ()  # whose `user_header` is believed
    socket: Annotated[FilePath, AfterValidator(_socket)] | None = None  # whoever may open it is believed, too
    user_header: Annotated[str, AfterValidator(_header)] = "X-Remote-User"
    tls: Flag = False  # with [tls]; a user's certificate tells the name
    history: Annotated[Seconds, Field(ge=3600, le=366 * DAY)] = 7 * DAY
    max_connections: Annotated[Whole, Field(ge=4, le=10**5)] = 256
    max_watchers: Annotated[Whole, Field(ge=1, le=10**5)] = 200
    max_watchers_per_user: Annotated[Whole, Field(ge=1, le=10**5)] = 8
    max_requests_per_minute: Annotated[Whole, Field(ge=1, le=10**6)] = 240  # of one user

    @property
    def knows_viewers(self) -> bool:
        """Whether somebody tells the users' names; else nobody has one."""
        return bool(self.proxies) or self.socket is not None or self.tls

    @model_validator(mode="after")
    def _somebody_sends_the_header(self) -> Self:
        if "user_header" in self.model_fields_set and not self.proxies and self.socket is None:
            raise KeyedError(("user_header",), "has no effect without proxies or a socket: name those that send it")
        return self


class Manager(SchedulerFields, FluidFields):
    """[manager]: the resource manager, the embedded scheduler, and the adapter's own `settings`."""

    kind: Text
    resize_patience: Annotated[Seconds, Field(ge=1, le=DAY)] = 60
    on_resize_ignored: Literal["wait", "end"] = "wait"
    settings: Mapping[str, object] = Field(default_factory=dict, repr=False)  # they may hold secrets

    @property
    def schedules(self) -> bool:
        """Whether the resource manager schedules by itself (`adapters.batch_system`)."""
        return load_batch_system(self.kind) is not None

    @property
    def takes_groups(self) -> bool:
        """Whether its jobs can be in groups: not if they name their mates to a batch system, and can name no groups."""
        system = load_batch_system(self.kind)
        return system is None or system.can_group

    @model_validator(mode="after")
    def _schedules_or_is_scheduled(self) -> Self:
        given = sorted(self.model_fields_set - {"kind", "settings"})
        if given and self.schedules:
            raise KeyedError((given[0],), f"has no effect: {self.kind} schedules by itself")
        return self

    @model_validator(mode="after")
    def _jobs_say_their_least(self) -> Self:
        for key in ("resize_patience", "on_resize_ignored"):
            if key in self.model_fields_set and not self.is_fluid:
                raise KeyedError((key,), OF_FLUID)
        if "min_share" in self.model_fields_set and self.kind != "replay":
            raise KeyedError(("min_share",), "jobs say by themselves what is their least: submit them with --least")
        return self

    def malleable(self, least: int) -> Malleable:
        """Return how a job changes its size that can run on so many nodes."""
        return Malleable(least, self.model == "parabolic", self.resize_cost)


class Configuration(Settings):
    """One policy domain's configuration. `peers` are the tables [[peer]], `accounts` the tables [[account]]."""

    domain: DomainSection
    coscheduling: Coscheduling = Coscheduling()
    peers: tuple[Peer, ...] = Field(default=(), alias="peer")
    accounts: tuple[Account, ...] = Field(default=(), alias="account")
    events: Events = Events()
    tls: Tls | None = None
    page: Page | None = None
    manager: Manager

    @model_validator(mode="after")
    def _page_has_a_place(self) -> Self:
        if self.page is not None and self.domain.http is None and self.page.socket is None:
            raise KeyedError(("page",), "is served nowhere: set domain.http, or page.socket")
        if self.page is not None and self.page.tls and (self.tls is None or self.tls.user_identity is None):
            raise KeyedError(("page", "tls"), "users have no certificates: set tls.user_identity in [tls]")
        return self

    @property
    def shown_to(self) -> str:
        """Who sees jobs of others, also on other domains' pages; see [page]."""
        return self.page.show if self.page is not None else "own"

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if not self.domain.plaintext and self.tls is None:
            raise ValueError("tls: the section [tls] is missing; without it domain.plaintext must be true")
        return self

    @model_validator(mode="after")
    def _manager_can_meet(self) -> Self:
        section, kind = self.coscheduling, self.manager.kind
        system = load_batch_system(kind) if section.meeting else None
        if system is not None and not system.can_meet:
            given = "slots" if section.slots else "mate_budget"
            key = "scheme" if section.scheme is SchemeChoice.MEET else given
            reason = f"{kind} can start no pair by a mate_budget or slots: leave both out, and let pairs hold or yield"
            raise KeyedError(("coscheduling", key), reason)
        return self

    @model_validator(mode="after")
    def _fluid_pairs_do_not_meet(self) -> Self:
        section = self.coscheduling
        if self.manager.is_fluid and section.meeting:
            given = "scheme" if section.scheme is SchemeChoice.MEET else "slots" if section.slots else "mate_budget"
            reason = "a service with a fluid scheduler has neither a mate_budget nor slots: let pairs hold or yield"
            raise KeyedError(("coscheduling", given), reason)
        return self

    @model_validator(mode="after")
    def _accounts_differ(self) -> Self:
        names, users = set[str](), dict[str, str]()
        for number, account in enumerate(self.accounts):
            if account.name in names:
                raise KeyedError(("account", number, "name"), f"{account.name} is that of another account")
            names.add(account.name)
            for user in account.users:
                if user in users:
                    raise KeyedError(("account", number, "users"), f"{user} is in account {users[user]} already")
                users[user] = account.name
        return self

    @model_validator(mode="after")
    def _peers_differ(self) -> Self:
        known: dict[str, dict[str, str]] = {"name": {self.domain.name: "this domain"}, "address": {}, "identity": {}}
        for number, peer in enumerate(self.peers):
            for key, holders in known.items():
                value = getattr(peer, key)
                if value in holders:
                    raise KeyedError(("peer", number, key), f"{value} is that of {holders[value]}")
                if value is not None:
                    holders[value] = f"peer {peer.name}"
        return self

    @model_validator(mode="after")
    def _peers_are_secured(self) -> Self:
        for number, peer in enumerate(self.peers):
            if self.domain.plaintext and not is_loopback(peer.address):
                reason = f"{peer.address} is no loopback address, and plaintext is on"
                raise KeyedError(("peer", number, "address"), reason)
            if not self.domain.plaintext and peer.identity is None:
                raise KeyedError(("peer", number, "identity"), "missing: which certificate is this domain's?")
            prefix = self.tls and self.tls.user_identity
            if prefix and peer.identity and peer.identity.startswith(prefix):
                raise KeyedError(("peer", number, "identity"), "begins with tls.user_identity, as only users' may")
        return self

    def held_budgets(self) -> dict[str, int]:
        """Return how many node-seconds the jobs of an account may hold a day, of those that have a budget."""
        budgets = ((account.name, account.max_held_node_hours) for account in self.accounts)
        return {name: int(hours * 3600) for name, hours in budgets if hours is not None}

    def coscheduling_settings(self) -> CoschedulingSettings:
        """Return [coscheduling] for the core; the defaults of a replay are the paper's rules."""
        settings = self.coscheduling.coscheduling_settings()
        if self.manager.kind != "replay":
            return settings
        given = self.coscheduling.model_fields_set
        return replace(settings, **{key: rule for key, rule in PAPERS_RULES.items() if key not in given})

    def cluster_settings(self, nodes: int) -> ClusterSettings | FluidSettings:
        """Return [manager] for the embedded scheduler of a machine of this size; SettingError if it does not fit."""
        if self.manager.is_fluid:
            wanted_first = self.coscheduling.release_order is ReleaseOrder.WANTED
            return self.manager.fluid_settings(nodes, wanted_first=wanted_first)
        partitions = self.manager.partitions
        if partitions and partitions.nodes != nodes:
            raise SettingError("node_pool", f"{self.manager.node_pool} has {partitions.nodes} nodes, not {nodes}")
        return self.manager.scheduler_settings(nodes, self.coscheduling)


_SECTIONS: Mapping[str, type[Settings]] = {
    "domain": DomainSection,
    "coscheduling": Coscheduling,
    "peer": Peer,
    "account": Account,
    "events": Events,
    "tls": Tls,
    "page": Page,
    "manager": Manager,
}
_TABLES = ("peer", "account")  # of which there may be several


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration file. InputError, one line, names the file, the key and the reason of the first mistake.

    The files of [tls] and the folder of `state` must exist now.
    """
    values = _with_settings(read_toml(str(path)))
    try:
        return Configuration.model_validate(values, context={"folder": Path(path).absolute().parent})
    except ValidationError as error:
        mistake = first_mistake(error)
        raise InputError(str(path), _dotted(mistake, values), _explained(mistake)) from None


def _with_settings(values: dict[str, Any]) -> dict[str, Any]:
    """Move keys of [manager] that Manager does not define into the adapter's `settings`."""
    manager = values.get("manager")
    if not isinstance(manager, dict):
        return values
    ours = {key: manager[key] for key in manager if key in Manager.model_fields and key != "settings"}
    theirs = {key: manager[key] for key in manager if key not in ours}
    return {**values, "manager": {**ours, "settings": theirs}}


def _dotted(mistake: Mistake, values: Mapping[str, Any]) -> str | None:
    """Return the key's dotted path. A peer is shown by its name if it has one, else by its number from 1."""
    parts = []
    for level, part in enumerate(mistake.path):
        if isinstance(part, int):
            table = values[str(mistake.path[0])][part] if level == 1 and mistake.path[0] in _TABLES else None
            name = table.get("name") if isinstance(table, dict) else None
            part = name if isinstance(name, str) else str(part + 1)
        parts.append(key_shown(part))
    return ".".join(parts) or None


def _explained(mistake: Mistake) -> str:
    if mistake.unknown_key:
        section, key = mistake.path[0], str(mistake.path[-1])
        return no_such_key(key, _SECTIONS if len(mistake.path) == 1 else _SECTIONS[str(section)].model_fields)
    if mistake.path[0] in _TABLES and len(mistake.path) == 1:
        return f"each {mistake.path[0]} is a table under a line [[{mistake.path[0]}]]"
    if mistake.kind == "missing" and len(mistake.path) == 1:
        return f"the section [{mistake.path[0]}] is missing"
    return mistake.reason
