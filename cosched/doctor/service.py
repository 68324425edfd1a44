"""Checks the service: whether it runs, as which user, and whether it can listen, and write its files."""

from __future__ import annotations

import os
import pwd
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.doctor.unit import Unit, as_user, unit_of
from cosched.service.configuration import Configuration
from cosched.service.configuration_sections import DomainSection
from cosched.service.preparing import addresses, check_address
from cosched.sockets.accepting import user_of
from cosched.sockets.domain_sockets import is_of_own_service
from cosched.validation.addresses import parse_address
from cosched.words.errors import InputError
from cosched_adapters.findings import SHELL, Finding, guarded, ok, problem, section, warning
from cosched_adapters.permissions import EVERYBODY, EXECUTE, READ, WRITE, Account, opening

if TYPE_CHECKING:
    from cosched.client import Domain

_PATIENCE = 5.0  # seconds
_DATABASE = ("", "-wal", "-shm", ".lock")  # ends of the names of its files


@dataclass(frozen=True, slots=True)
class Running:
    """The state of the service. If it does not run, `account` is the user that it will probably run as."""

    account: Account
    domain: Domain | None = None  # the service's answer; None: it does not run, or does not answer
    trouble: str = ""  # why there is no answer although something listens, or the socket cannot be tried
    unit: Unit | None = None  # systemd's, if it has one

    @property
    def absent(self) -> bool:
        """Whether no process of it is there, as far as its socket and its unit tell."""
        return self.domain is None and not self.trouble and (self.unit is None or self.unit.state != "active")


def running_service(section: DomainSection, source: str) -> Running:
    """Ask the service through the domain's socket, if it has one; `source`: the configuration's file."""
    unit = unit_of(source)
    uid, trouble = _listening_user(section.socket) if section.socket else (None, "")
    if uid is None:
        return Running(_user_of(unit), None, trouble, unit)
    domain, trouble = _asked(f"unix:{section.socket}")
    return Running(Account.of(uid), domain, trouble, unit)


def _user_of(unit: Unit | None) -> Account:
    """Return the user of a service that does not run: the unit's, else ours."""
    if unit is not None:
        with suppress(KeyError):
            return Account.of(pwd.getpwnam(unit.user).pw_uid)
    return Account.of(os.geteuid())


def slots_on_record(section: DomainSection) -> Mapping[str, int] | None:
    """Return when the jobs' slots are, in seconds since 1970; None: a service that should answer does not."""
    from cosched.client import Client, ClientError

    try:
        with Client(f"unix:{section.socket}", timeout=_PATIENCE) as client:
            return {job.id: int(job.slot.timestamp()) for job in client.jobs() if job.slot is not None}
    except ClientError:
        return None


def check_service(configuration: Configuration, service: Running, source: str) -> Iterator[Finding]:
    """Check that the service runs, or can, its database and its socket."""
    section = configuration.domain
    yield from _check_caller(service.account, source)
    yield from guarded("service", _check_running, section, service, source)
    if service.absent and (section.socket is not None or service.unit is not None):
        yield from guarded("listen", _check_addresses, configuration)
    yield from guarded("state", _check_state, section.state, service.account)
    yield from guarded("socket", _check_socket, section.socket, service.account)


def _check_caller(account: Account, source: str) -> Iterator[Finding]:
    """Check that whoever asks sees all that the service sees."""
    if (uid := os.geteuid()) not in (0, account.uid):
        found = f"{Account.of(uid).name} runs this command, but {account.name} the service, and may see more"
        yield warning("user", found, "run it as that user", SHELL, as_user(account.name, source))


def _listening_user(path: Path) -> tuple[int | None, str]:
    """Ask the kernel for the user id of the process that listens on a Unix socket; None and a reason if unknown."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(_PATIENCE)
        try:
            trial.connect(os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return None, ""
        except OSError as error:
            return None, f"{path}: {error.strerror or error}"
        return user_of(trial), ""


def _asked(server: str) -> tuple[Domain | None, str]:
    from cosched.client import Client, ClientError

    try:
        with Client(server, timeout=_PATIENCE) as client:
            return client.domain(), ""
    except ClientError as error:
        return None, str(error)


def _check_running(domain: DomainSection, service: Running, source: str) -> Finding:
    if service.domain is None and service.trouble:
        log = service.unit.log if service.unit else f"systemctl status cosched@{domain.name}"
        return problem("service", f"does not answer: {service.trouble}", "look at its log", SHELL, log)
    own = f'socket = "/run/cosched/{domain.name}.sock"'
    if domain.socket is None and (service.unit is None or service.unit.state == "active"):
        found = "cannot be asked: domain.socket is not set"
        return warning("service", found, "give it one", section("domain"), own)
    if service.domain is None:
        return _absent(domain, service.unit, source)
    if service.domain.name != domain.name:
        found = f"the domain {service.domain.name} is served at {domain.socket}, not {domain.name}"
        return problem("service", found, "give each domain a socket of its own", section("domain"), own)
    return ok("service", f"{service.domain.version} runs as {service.account.name}")


def _absent(domain: DomainSection, unit: Unit | None, source: str) -> Finding:
    """Judge a service that is not there: a problem if it should be, by its unit, or since it once was."""
    silent = f": no process listens on {domain.socket}" if domain.socket else ""
    if unit is None:
        grade = problem if domain.state.exists() else warning
        start = f"cosched serve --config {shlex.quote(source)}"
        return grade("service", f"does not run{silent}", "start it", SHELL, start)
    grade = problem if unit.should_run else warning
    verb = "restart" if unit.state == "active" else "start"
    change = f"{verb} it, and see what it logs"
    return grade("service", f"{unit.in_words}{silent}", change, SHELL, f"systemctl {verb} {unit.name}", unit.log)


def _check_addresses(configuration: Configuration) -> Iterator[Finding]:
    """Check that a service that does not run could listen."""
    for section_name, key, address in addresses(configuration):
        try:
            check_address(section_name, key, address)
        except InputError as error:
            show = f"ss -ltnp 'sport = :{parse_address(address)[1]}'"
            subject = key if section_name == "domain" else f"{section_name}.{key}"
            yield problem(subject, error.reason, "end the process that has it, or choose another address", SHELL, show)


def _check_state(path: Path, account: Account) -> Finding:
    for needed in (path.parent, *(path.with_name(path.name + end) for end in _DATABASE)):
        wanted = READ | WRITE | (EXECUTE if needed.is_dir() else 0)
        if needed.exists() and not account.may(needed, wanted):
            found = f"{account.name} cannot write {needed}, which belongs to {Account.of(needed.stat().st_uid).name}"
            chown = f"chown {account.name} {shlex.quote(str(needed))}"
            return problem("state", found, "give it to the service's user", SHELL, chown)
    return ok("state", f"{account.name} can write {path}")


def _check_socket(path: Path | None, account: Account) -> Finding:
    if path is None:
        return ok("socket", "none: users of this host need certificates")
    folder, quoted = path.parent, shlex.quote(str(path.parent))
    if not folder.is_dir():
        install = f"install -d -o {account.name} -m 755 {quoted}"
        return problem("socket", f"there is no folder {folder}", "make it", SHELL, install)
    if not account.may(folder, READ | WRITE | EXECUTE):
        found, chown = f"{account.name} cannot make {path}", f"chown {account.name} {quoted}"
        return problem("socket", found, "give the folder to the service's user", SHELL, chown)
    if is_of_own_service(path):
        return ok("socket", f"{path} is for {account.name} alone")
    if barrier := EVERYBODY.barrier(folder, EXECUTE):
        found = f"not every user of this host can reach {path}"
        return warning("socket", found, "if they should, open its folders", SHELL, opening(barrier, ""))
    return ok("socket", f"users of this host can reach {path}")
