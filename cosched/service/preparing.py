"""Checks a configuration and builds what follows from it alone, for `cosched serve` and `serve --check`.

Nothing is opened. Raises InputError with a section as its source, or with the path of a file.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cosched.installation.extras import PAGE, TOKENS, need
from cosched.planning.catalogue import Catalogue, read_catalogue, sources_of
from cosched.planning.information.domains import DOMAINS
from cosched.service.configuration import Configuration
from cosched.service.wire.tls_files import TlsFiles
from cosched.validation.addresses import parse_address
from cosched.words.errors import InputError
from cosched_adapters.batch_system import BatchSystem
from cosched_adapters.launcher import lacking
from cosched_adapters.loading import SCHEDULER, ResourceManager, load_manager
from cosched_adapters.manager import ManagerError, SettingError

if TYPE_CHECKING:
    from cosched.service.wire.tokens import TokenCallers


@dataclass(frozen=True, slots=True)
class Prepared:
    """The parts of a service that need only its configuration; none of them is open."""

    manager: ResourceManager
    tls: TlsFiles | None
    tokens: TokenCallers | None
    catalogue: Catalogue | None  # of its machines, if they are listed
    doubts: tuple[str, ...]  # settings that are valid but seldom intended


def prepare(configuration: Configuration) -> Prepared:
    """Make the manager and the files of [tls], and check that these fit each other and this domain."""
    if configuration.page is not None:
        need(PAGE)
    manager, tls = _manager(configuration), _tls(configuration)
    used = tls is not None and not configuration.domain.plaintext
    doubt = doubtful_identity(configuration.domain.name, tls.current()[1].identity) if tls and used else None
    return Prepared(manager, tls, _tokens(configuration), _catalogue(configuration), (doubt,) if doubt else ())


def _manager(configuration: Configuration) -> ResourceManager:
    section, state = configuration.manager, configuration.domain.state
    with mistakes_of_manager():
        create = load_manager(section.kind)
        settings = section.of_adapter()
        if section.kind == "replay":
            settings[SCHEDULER] = section
        manager = create(configuration.domain.name, state.with_name(f"{state.name}.{section.kind}"), settings)
        if isinstance(manager, BatchSystem) and not section.schedules:
            raise SettingError("kind", f"the entry point {section.kind!a} must name a BatchSystemFactory")
        if (lacks := lacking(manager, section.scheduler_kind.capabilities.needs())) is not None:
            raise SettingError("scheduler", f"{section.kind} {lacks}: leave it out, or give scheduler=batch")
        if manager.nodes:  # else the number is known when the manager is open
            configuration.machine_settings(manager.nodes)
    return manager


def _catalogue(configuration: Configuration) -> Catalogue | None:
    """Read the machines of this domain; what is known of them must not depend on domains."""
    if configuration.machines is None:
        return None
    path, name = str(configuration.machines.file), configuration.domain.name
    catalogue = read_catalogue(path)
    sources_of(path, catalogue, present=True)
    if catalogue.domain:
        raise InputError(path, "domain", f"this is the list of {name}'s own machines: it has no other domains")
    for number, source in enumerate(catalogue.source, 1):
        if source["kind"] == DOMAINS.name:
            raise InputError(path, f"source.{number}.kind", f"{name} asks no domains of its own machines")
    return catalogue


@contextmanager
def mistakes_of_manager() -> Iterator[None]:
    """Turn errors of the manager's settings into InputError for [manager]."""
    try:
        yield
    except SettingError as error:
        raise InputError("manager", error.key, error.problem) from error
    except ManagerError as error:
        raise InputError("manager", None, str(error)) from error


def _tls(configuration: Configuration) -> TlsFiles | None:
    section = configuration.tls
    if section is None:
        return None
    files = TlsFiles(section.ca, section.certificate, section.key, section.crl)
    if not configuration.domain.plaintext and (reason := wrong_identity(configuration, files.current()[1].identity)):
        raise InputError("tls", "certificate", f"{section.certificate} {reason}")
    return files


def _tokens(configuration: Configuration) -> TokenCallers | None:
    if configuration.tokens is None:
        return None
    need(TOKENS)
    from cosched.service.wire.tokens import TokenCallers  # its package is of an extra

    return TokenCallers(configuration.tokens)


def wrong_identity(configuration: Configuration, identity: str) -> str | None:
    """Return why a certificate with this identity cannot be this domain's; None if it can."""
    for peer in configuration.peers:
        if identity == peer.identity:
            return f"is that of the peer {peer.name} ({identity}): give this domain one of its own"
    users = configuration.tls.user_identity if configuration.tls else None
    if users and identity.startswith(users):
        return f"is a user's ({identity} begins with tls.user_identity): give this domain one of its own"
    return None


def doubtful_identity(name: str, identity: str) -> str | None:
    """Return why a certificate with this identity is perhaps not the domain's; None if it ends in the domain's name."""
    parts = urlsplit(identity)
    last = (parts.path or parts.netloc).replace(":", "/").rpartition("/")[2]
    if last == name:
        return None
    return f"the certificate is that of {identity}, which does not end in {name}: peers that pin {name}'s refuse it"


def check_addresses(configuration: Configuration) -> None:
    """Raise InputError for an address that cannot be listened on, before anything is loaded or opened."""
    for named in addresses(configuration):
        check_address(*named)


def check_address(section: str, key: str, address: str) -> None:
    """Raise InputError if this address, which `key` of a section names, cannot be listened on."""
    host, port = parse_address(address)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(place)
                trial.listen()
    except OSError as error:
        raise not_bound(section, key, address, error.strerror) from None


def addresses(configuration: Configuration) -> Iterator[tuple[str, str, str]]:
    """Yield the keys that name addresses to listen on, each after its section, and with its address."""
    if configuration.domain.listen is not None:
        yield "domain", "listen", configuration.domain.listen
    if configuration.tokens is not None:
        yield "tokens", "listen", configuration.tokens.listen
    if configuration.domain.http is not None:
        yield "domain", "http", configuration.domain.http


def not_bound(section: str, key: str, address: str, why: str | None = None) -> InputError:
    """Return the error that an address cannot be listened on, which `key` of a section names."""
    said = f" ({why})" if why else ""
    return InputError(section, key, f"{address} cannot be listened on: in use, or not this host's{said}")
