"""The sections of a policy domain's configuration file (docs/configuration.md), each checked by itself."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from cosched.core.settings import MAX_INTERVAL, OnMateUnknown
from cosched.schedulers.keys import SchedulerKeys, check_place, not_of
from cosched.schedulers.kind import SchedulerKind
from cosched.schedulers.loading import kind_of_batch_systems, kinds
from cosched.validation.addresses import UNIX, ListenAddress, PeerAddress, Uri, is_loopback, socket_path
from cosched.validation.mistakes import KeyedError
from cosched.validation.schemes import NO_BOUND, SHARE, Meeting
from cosched.validation.sections import CoschedulingFields
from cosched.validation.text import shown
from cosched.validation.types import DomainName, ExactSeconds, MateBudgetShare, Number, Seconds, Settings, Whole
from cosched.words.file_errors import reason_of, why_not_run
from cosched_adapters.loading import load_batch_system
from cosched_adapters.local.settings import NAMES

DAY = 86400
RESIZING = ("resize_patience", "on_resize_ignored")  # keys of [manager] for schedulers that resize running jobs
MAX_RETENTION = 100 * MAX_INTERVAL
_LOGIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:+-]*")  # nothing that ssh takes for an option
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


def _beside(value: object, info: ValidationInfo) -> object:
    """Return `unix:PATH` with an absolute path: a relative one is in the configuration file's folder."""
    path = socket_path(value) if isinstance(value, str) else None
    return value if path is None else f"{UNIX}{_socket(_absolute(path, info))}"  # type: ignore[arg-type]


def _login(value: str) -> str:
    if not _LOGIN.fullmatch(value):
        raise ValueError(f"{shown(value)} is not [USER@]HOST, as ssh takes it")
    return value


def _known_user(name: str) -> str:
    try:
        pwd.getpwnam(name)
    except KeyError:
        raise ValueError(f"this host has no user {shown(name)}") from None
    return name


def _in_a_folder(path: Path) -> Path:
    try:
        if not path.parent.is_dir():
            raise ValueError(f"there is no folder {str(path.parent)!a}")
        if path.is_dir():
            raise ValueError(f"{str(path)!a} is a folder, not a file")
    except OSError as error:
        raise ValueError(f"{str(path)!a} cannot be used: {reason_of(error, path)}") from None
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
        raise ValueError(f"{str(path)!a} cannot be read: {reason_of(error, path)}") from None
    return path


def _proxy(value: str) -> str:
    try:
        ip_network(value)
    except ValueError:
        raise ValueError(f"{shown(value)} is not an address or network, such as 127.0.0.1 or 10.1.0.0/24") from None
    return value


def _header(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError(f"{shown(value)} is not the name of an HTTP header, such as X-Remote-User")
    return value


Flag = Annotated[bool, Field(strict=True)]
Text = Annotated[str, AfterValidator(_text)]
FilePath = Annotated[Path, BeforeValidator(_absolute)]
SocketPath = Annotated[FilePath, AfterValidator(_socket)]
ReadableFile = Annotated[FilePath, AfterValidator(_readable)]


class DomainSection(Settings):
    """[domain]: the service's name, where it listens, its limits, and what it stores."""

    name: DomainName
    listen: ListenAddress | None = None  # None: no other host can call it
    plaintext: Flag = False
    socket: SocketPath | None = None
    state: Annotated[FilePath, AfterValidator(_in_a_folder)]
    http: ListenAddress | None = None
    operators: tuple[Text, ...] = ()
    schedule_interval: Annotated[Seconds, Field(le=MAX_INTERVAL)] = 30  # 0: no periodic iteration
    retention: Annotated[Seconds, Field(ge=1, le=MAX_RETENTION)] = 30 * DAY
    max_jobs_per_user: Annotated[Whole, Field(ge=1, le=10**9)] = 10_000  # jobs that have not ended
    max_script_bytes_per_user: Annotated[Whole, Field(ge=1, le=10**15)] = 256 << 20  # of those jobs, compressed
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    idle_end: Annotated[Seconds, Field(ge=1)] | None = None  # of a user's own service, without jobs; None: it goes on
    job_ports: Annotated[tuple[int, int] | None, BeforeValidator(_ports)] = None  # at which jobs may listen

    @model_validator(mode="after")
    def _plaintext_stays_here(self) -> Self:
        if self.plaintext and self.listen is not None and not is_loopback(self.listen):
            raise ValueError(f"listen: {self.listen} is not a loopback address, and plaintext is on")
        return self


class Coscheduling(CoschedulingFields):
    """[coscheduling]: the scheme, enhancements, and time limits for other domains."""

    enabled: Flag = True
    mate_budget_share: MateBudgetShare | None = None  # default SHARE with a mate_budget; 1 if the manager replays
    slot_share: MateBudgetShare = Decimal("0.01")  # default 1 if the manager replays
    peer_grace: Seconds = 120  # default 0 if the manager replays
    on_mate_unknown: OnMateUnknown = OnMateUnknown.WAIT  # default START if the manager replays
    successor_patience: Seconds = 300  # default 0 if the manager replays, here and of the next two
    successor_hold: Seconds = 60
    hold_check: Seconds = 30  # 0: never
    mate_patience: Annotated[Seconds | None, BeforeValidator(_endless)] = 7 * DAY
    default_peer: DomainName | None = None  # where a pair is named without a domain; None: the peer, if there is one
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
        meeting, share = super().meeting_if_on, self.mate_budget_share
        default = SHARE if meeting.mate_budget else NO_BOUND
        return replace(meeting, mate_budget_share=default if share is None else share)

    @model_validator(mode="after")
    def _share_is_one_of_a_budget(self) -> Self:
        if "mate_budget_share" in self.model_fields_set and not self.meeting_if_on.mate_budget:
            raise KeyedError(("mate_budget_share",), "has no effect without a mate_budget")
        if "slot_share" in self.model_fields_set and not self.meeting_if_on.slots:
            raise KeyedError(("slot_share",), "has no effect without slots")
        return self


class Peer(Settings):
    """[[peer]]: another domain; `owners` maps its users' names to ours where they differ.

    `other_owners`: who its other users are here: those of the same name, or nobody. `adopt`: its jobs may adopt any job
    of their owners that names nobody. An address `unix:PATH` is a socket of this host; at `socket` the peer calls us as
    the user `user` (None: as this service's own). `ssh`: [USER@]HOST, where a login leads to its user's own service: we
    keep a connection that joins both sockets to those of the peer.
    """

    name: DomainName
    address: Annotated[PeerAddress, BeforeValidator(_beside)]
    socket: SocketPath | None = None
    ssh: Annotated[Text, AfterValidator(_login)] | None = None
    user: Annotated[Text, AfterValidator(_known_user)] | None = None
    identity: Uri | None = None
    owners: Mapping[Text, Text] = Field(default_factory=dict)
    other_owners: Literal["same", "nobody"] = "same"
    adopt: Flag = False

    @property
    def is_local(self) -> bool:
        """Whether it is called by a Unix socket, which needs no certificates."""
        return socket_path(self.address) is not None

    @model_validator(mode="after")
    def _user_calls_somewhere(self) -> Self:
        if self.user is not None and self.socket is None:
            raise KeyedError(("user",), "has no effect without a socket")
        if self.ssh is not None and (self.socket is None or not self.is_local):
            raise KeyedError(("ssh",), "needs an address unix:PATH and a socket: cosched peer add writes them")
        return self


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
            raise ValueError(f"{shown(value[0])} is not an absolute path")
        if value and not os.access(value[0], os.X_OK):
            raise ValueError(f"{shown(value[0])} is not a program that this user may run: {why_not_run(value[0])}")
        return value


class Tls(Settings):
    """[tls]: PEM files. A certificate whose URI is `user_identity` followed by a name belongs to that user."""

    ca: ReadableFile
    certificate: ReadableFile
    key: ReadableFile
    crl: ReadableFile | None = None  # the authority's list of revoked certificates
    user_identity: Uri | None = None

    @field_validator("user_identity")
    @classmethod
    def _ends_where_a_name_begins(cls, value: str | None) -> str | None:
        if value is not None and not value.endswith(("/", ":")):
            raise ValueError(f"{shown(value)} does not end in / or :, so one user could pass for another")
        return value


class Tokens(Settings):
    """[tokens]: where users of other hosts call with tokens of one issuer, and which of these are taken."""

    listen: ListenAddress
    issuer: Text
    audience: Text
    keys: ReadableFile  # the issuer's public keys, a JSON Web Key Set
    claim: Text = "sub"  # it names the user
    accounts: Mapping[Text, Text] = Field(default_factory=dict)  # users by the claim; empty: the claim is the name
    scopes: tuple[Text, ...] = ()  # a token must have all of them
    leeway: Annotated[Seconds, Field(le=300)] = 30  # between the issuer's clock and ours


class Page(Settings):
    """[page]: how people look at the domain with a browser, who sees whose jobs, and how much each may ask."""

    show: Literal["own", "domain", "all"] = "own"
    proxies: tuple[Annotated[str, AfterValidator(_proxy)], ...] = ()  # whose `user_header` is believed
    socket: SocketPath | None = None  # whoever may open it is believed, too
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


class Machines(Settings):
    """[machines]: the list of this domain's machines, for planners above domains (docs/select.md)."""

    file: ReadableFile
    refresh: Annotated[Seconds, Field(le=DAY)] = 10  # for how long it tells what its sources have answered


class Manager(SchedulerKeys):
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
    def scheduler_kind(self) -> SchedulerKind:
        """See SchedulerChoice; a batch system schedules by itself."""
        return kind_of_batch_systems() if self.schedules else super().scheduler_kind

    def of_adapter(self) -> dict[str, object]:
        """Return the adapter's settings: its own, and what the scheduler calls the slots of the local manager."""
        names = tuple(self.scheduler_kind.names(self)) if self.kind == "local" else ()
        return {**({NAMES: names} if names else {}), **self.settings}

    @property
    def takes_groups(self) -> bool:
        """Whether its jobs can be in groups: not if they name their mates to a batch system, and can name no groups."""
        system = load_batch_system(self.kind)
        return system is None or system.can_group

    @model_validator(mode="after")
    def _says_what_its_scheduler_takes(self) -> Self:
        given = sorted(self.model_fields_set - {"kind", "settings"})
        if given and self.schedules:
            raise KeyedError((given[0],), f"has no effect: {self.kind} schedules by itself")
        chosen = kinds()[self.scheduler]
        resizing = next((kind for kind in kinds().values() if kind.capabilities.resize), None)
        for key in RESIZING if not chosen.capabilities.resize else ():
            if key in self.model_fields_set:
                never = f"{chosen.title} changes no sizes of jobs: remove it"
                raise KeyedError((key,), not_of(chosen, resizing) if resizing else never)
        check_place(self, chosen, replays=self.kind == "replay")
        return self
