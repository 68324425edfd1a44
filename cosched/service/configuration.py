"""A policy domain's configuration: its TOML file (docs/configuration.md), checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from cosched.core.coscheduling.owners import Owners
from cosched.core.settings import NO_SLOT_BOUND, CoschedulingSettings, OnMateUnknown
from cosched.schedulers.keys import refusals
from cosched.schedulers.kind import MachineSettings
from cosched.service import configuration_sections as sections
from cosched.validation.addresses import is_loopback
from cosched.validation.mistakes import KeyedError, Mistake, close_to, first_mistake, key_shown, no_such_key
from cosched.validation.schemes import NO_BOUND, SchemeChoice
from cosched.validation.toml import read_toml
from cosched.validation.types import Settings
from cosched.words.errors import InputError
from cosched_adapters.loading import load_batch_system
from cosched_adapters.manager import SettingError

PAPERS_RULES: Mapping[str, Any] = {
    "peer_grace": 0, "on_mate_unknown": OnMateUnknown.START, "slot_share": Decimal(NO_SLOT_BOUND),
    "successor_patience": 0, "successor_hold": 0, "hold_check": 0,
}  # fmt: skip


class Configuration(Settings):
    """One policy domain's configuration. `peers` are the tables [[peer]], `accounts` the tables [[account]]."""

    domain: sections.DomainSection
    coscheduling: sections.Coscheduling = sections.Coscheduling()
    peers: tuple[sections.Peer, ...] = Field(default=(), alias="peer")
    accounts: tuple[sections.Account, ...] = Field(default=(), alias="account")
    events: sections.Events = sections.Events()
    tls: sections.Tls | None = None
    tokens: sections.Tokens | None = None
    page: sections.Page | None = None
    machines: sections.Machines | None = None
    manager: sections.Manager

    @model_validator(mode="after")
    def _replays_bound_no_owner(self) -> Self:
        """Let a service that replays keep the schedule of the simulation, which tells no owners apart."""
        if self.manager.kind == "replay" and self.coscheduling.mate_budget_share is None:
            unbounded = self.coscheduling.model_copy(update={"mate_budget_share": NO_BOUND})
            self.__dict__["coscheduling"] = unbounded  # it is frozen
        return self

    @model_validator(mode="after")
    def _listens_where_it_can(self) -> Self:
        if self.page is not None and self.domain.http is None and self.page.socket is None:
            raise KeyedError(("page",), "is served nowhere: set domain.http, or page.socket")
        if self.page is not None and self.page.tls and (self.tls is None or self.tls.user_identity is None):
            raise KeyedError(("page", "tls"), "users have no certificates: set tls.user_identity in [tls]")
        by_network = self.domain.listen is not None or not all(peer.is_local for peer in self.peers)
        if by_network and not self.domain.plaintext and self.tls is None:
            raise ValueError("tls: the section [tls] is missing; without it domain.plaintext must be true")
        if self.domain.listen is None and self.domain.socket is None:
            raise KeyedError(("domain", "listen"), "missing, and so is socket: nobody can call this domain")
        if self.tokens is not None and (self.tls is None or self.domain.plaintext):
            raise KeyedError(("tokens",), "tokens are taken over TLS only: set [tls], and no domain.plaintext")
        if self.tokens is not None and self.tokens.listen in (self.domain.listen, self.domain.http):
            raise KeyedError(("tokens", "listen"), "is used in [domain] already: tokens have a port of their own")
        return self

    @model_validator(mode="after")
    def _coscheduling_is_possible_here(self) -> Self:
        section, kind = self.coscheduling, self.manager.kind
        system = load_batch_system(kind) if section.meeting else None
        if system is not None and not system.can_meet:
            given = "slots" if section.slots else "mate_budget"
            key = "scheme" if section.scheme is SchemeChoice.MEET else given
            reason = f"{kind} can start no pair by a mate_budget or slots: leave both out, and let pairs hold or yield"
            raise KeyedError(("coscheduling", key), reason)
        for key, reason in refusals(self.manager.scheduler_kind, self.coscheduling):
            raise KeyedError(("coscheduling", key), reason)
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
    def _peers_differ_and_default_is_one(self) -> Self:
        known: dict[str, dict[str, str]] = {"name": {self.domain.name: "this domain"}, "address": {}, "identity": {}}
        for number, peer in enumerate(self.peers):
            for key, holders in known.items():
                value = getattr(peer, key)
                if value in holders:
                    raise KeyedError(("peer", number, key), f"{value} is already used by {holders[value]}")
                if value is not None:
                    holders[value] = f"peer {peer.name}"
        default, names = self.coscheduling.default_peer, [peer.name for peer in self.peers]
        if default is not None and default not in names:
            reason = f"no [[peer]] is named {default}{close_to(default, names)}"
            raise KeyedError(("coscheduling", "default_peer"), reason)
        return self

    @model_validator(mode="after")
    def _peers_are_secured(self) -> Self:
        for number, peer in enumerate(self.peers):
            if self.domain.plaintext and not is_loopback(peer.address):
                reason = f"{peer.address} is not a loopback address, and plaintext is on"
                raise KeyedError(("peer", number, "address"), reason)
            if not (self.domain.plaintext or peer.is_local) and peer.identity is None:
                raise KeyedError(("peer", number, "identity"), "missing: which certificate is this domain's?")
            prefix = self.tls and self.tls.user_identity
            if prefix and peer.identity and peer.identity.startswith(prefix):
                raise KeyedError(("peer", number, "identity"), "begins with tls.user_identity, as only users' may")
        return self

    @property
    def shown_to(self) -> str:
        """Who sees jobs of others, also on other domains' pages; see [page]."""
        return self.page.show if self.page is not None else "own"

    def owners(self, powerful: Collection[str] = ()) -> Owners:
        """Return who peers' users are here. Those of a `powerful` name are nobody, unless `owners` names them."""
        mapped = {(peer.name, there): here for peer in self.peers for there, here in peer.owners.items()}
        closed = frozenset(peer.name for peer in self.peers if peer.other_owners == "nobody")
        return Owners(mapped, closed, frozenset(powerful))

    def job_environment(self) -> dict[str, str]:
        """Return the variables by which a job finds its mates: its domain, and at which ports it may listen."""
        socket, ports = self.domain.socket, self.domain.job_ports
        found = {"COSCHED_SERVER": f"unix:{socket}"} if socket is not None else {}
        return found | ({"COSCHED_PORTS": f"{ports[0]}-{ports[1]}"} if ports is not None else {})

    def coscheduling_settings(self) -> CoschedulingSettings:
        """Return [coscheduling] for the core; the defaults of a replay are the paper's rules."""
        settings = self.coscheduling.coscheduling_settings()
        if self.manager.kind != "replay":
            return settings
        given = self.coscheduling.model_fields_set
        return replace(settings, **{key: rule for key, rule in PAPERS_RULES.items() if key not in given})

    def machine_settings(self, nodes: int) -> MachineSettings:
        """Return [manager] for the scheduler of a machine of this size; SettingError if it does not fit."""
        try:
            return self.manager.scheduler_kind.settings(self.manager, nodes, self.coscheduling)
        except KeyedError as error:
            raise SettingError(str(error.path[0]), str(error)) from None


_SECTIONS: Mapping[str, type[Settings]] = {
    "domain": sections.DomainSection,
    "coscheduling": sections.Coscheduling,
    "peer": sections.Peer,
    "account": sections.Account,
    "events": sections.Events,
    "tls": sections.Tls,
    "tokens": sections.Tokens,
    "page": sections.Page,
    "machines": sections.Machines,
    "manager": sections.Manager,
}
_TABLES = ("peer", "account")  # tables that may come several times


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
    ours = {key: manager[key] for key in manager if key in sections.Manager.model_fields and key != "settings"}
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
