"""Checks the service: whether it runs, as which user, and whether it can write its files."""

from __future__ import annotations

import os
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched.adapters.permissions import EVERYBODY, EXECUTE, READ, WRITE, Account, opening
from cosched.service.configuration_sections import DomainSection
from cosched.sockets.accepting import user_of

if TYPE_CHECKING:
    from cosched.client import Domain

_PATIENCE = 5.0  # seconds


@dataclass(frozen=True, slots=True)
class Running:
    """The state of the service. If it does not run, `account` is the user that it will probably run as."""

    account: Account
    domain: Domain | None = None  # the service's answer; None: it does not run, or does not answer
    trouble: str = ""  # why there is no answer although something listens, or the socket cannot be tried


def running_service(section: DomainSection) -> Running:
    """Ask the service through the domain's socket, if it has one."""
    uid, trouble = _listening_user(section.socket) if section.socket else (None, "")
    if uid is None:
        return Running(Account.of(_owner(section.state)), None, trouble)
    domain, trouble = _asked(f"unix:{section.socket}")
    return Running(Account.of(uid), domain, trouble)


def slots_on_record(section: DomainSection) -> Mapping[str, int] | None:
    """Return when the jobs' slots are, in seconds since 1970; None: a service that should answer does not."""
    from cosched.client import Client, ClientError

    try:
        with Client(f"unix:{section.socket}", timeout=_PATIENCE) as client:
            return {job.id: int(job.slot.timestamp()) for job in client.jobs() if job.slot is not None}
    except ClientError:
        return None


def check_service(section: DomainSection, service: Running, source: str) -> Iterator[Finding]:
    """Check that the service runs, its database and its socket."""
    yield _check_running(section, service, source)
    yield _check_state(section.state, service.account)
    yield _check_socket(section.socket, service.account)


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


def _owner(state: Path) -> int:
    """Return the user id of the database's owner, or our own if there is no database."""
    with suppress(OSError):
        return state.stat().st_uid
    return os.geteuid()


def _asked(server: str) -> tuple[Domain | None, str]:
    from cosched.client import Client, ClientError

    try:
        with Client(server, timeout=_PATIENCE) as client:
            return client.domain(), ""
    except ClientError as error:
        return None, str(error)


def _check_running(domain: DomainSection, service: Running, source: str) -> Finding:
    if service.domain is None and service.trouble:
        return problem(
            "service",
            f"does not answer: {service.trouble}",
            "look at its log",
            SHELL,
            f"systemctl status cosched@{domain.name}",
        )
    if domain.socket is None:
        found, line = "cannot be asked: domain.socket is not set", f'socket = "/run/cosched/{domain.name}.sock"'
        return warning("service", found, "give it one", section("domain"), line)
    if service.domain is None:
        start = f"cosched serve --config {shlex.quote(source)}"
        return warning("service", f"does not run: no process listens on {domain.socket}", "start it", SHELL, start)
    if service.domain.name != domain.name:
        return problem(
            "service",
            f"the domain {service.domain.name} is served at {domain.socket}, not {domain.name}",
            "give each domain a socket of its own",
            section("domain"),
            f'socket = "/run/cosched/{domain.name}.sock"',
        )
    return ok("service", f"{service.domain.version} runs as {service.account.name}")


def _check_state(path: Path, account: Account) -> Finding:
    for needed in (path.parent, path):
        wanted = READ | WRITE | (EXECUTE if needed.is_dir() else 0)
        if needed.exists() and not account.may(needed, wanted):
            return problem(
                "state",
                f"{account.name} cannot write {needed}",
                "give it to the service's user",
                SHELL,
                f"chown {account.name} {shlex.quote(str(needed))}",
            )
    return ok("state", f"{account.name} can write {path}")


def _check_socket(path: Path | None, account: Account) -> Finding:
    if path is None:
        return ok("socket", "none: users of this host need certificates")
    folder = path.parent
    if not folder.is_dir():
        return problem(
            "socket",
            f"there is no folder {folder}",
            "make it",
            SHELL,
            f"install -d -o {account.name} -m 755 {shlex.quote(str(folder))}",
        )
    if not account.may(folder, READ | WRITE | EXECUTE):
        return problem(
            "socket",
            f"{account.name} cannot make {path}",
            "give the folder to the service's user",
            SHELL,
            f"chown {account.name} {shlex.quote(str(folder))}",
        )
    if barrier := EVERYBODY.barrier(folder, EXECUTE):
        return warning(
            "socket",
            f"not every user of this host can reach {path}",
            "if they should, open its folders",
            SHELL,
            opening(barrier, ""),
        )
    return ok("socket", f"users of this host can reach {path}")
