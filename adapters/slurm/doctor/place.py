"""Checks of host and user: the service must run on slurmctld's host, as a user who may change all jobs."""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Iterable
from contextlib import suppress

from cosched.adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched.adapters.permissions import Account
from cosched.adapters.slurm.parameters import Config, texts
from cosched.adapters.slurm.settings import SlurmSettings

COMMANDS = ("squeue", "scontrol", "scancel", "sinfo")
_SUBMIT = "sbatch"
_HOST = re.compile(r"([^()]+)(?:\((.+)\))?")


def check_commands(settings: SlurmSettings) -> Finding:
    """Check that Slurm's commands are there; only `cosched submit` needs sbatch."""
    where = str(settings.bin) if settings.bin else "PATH"
    paths = {name: shutil.which(name, path=settings.bin) for name in (*COMMANDS, _SUBMIT)}
    missing = [name for name, path in paths.items() if path is None]
    if set(missing) & set(COMMANDS):
        return problem(
            "commands",
            f"not found in {where}: {', '.join(missing)}",
            "say where Slurm's commands are",
            section("manager"),
            'bin = "/opt/slurm/bin"',
        )
    if missing:
        return warning(
            "commands",
            f"sbatch is not found in {where}: cosched submit cannot submit from here",
            "install it here, or submit elsewhere",
        )
    return ok("commands", f"{', '.join(paths)} found in {where}")


def check_user(service: Account, slurm_user: Account) -> Finding:
    """Check the service's user: only SlurmUser and root see and change all jobs, and work with the hooks."""
    if service.uid in (0, slurm_user.uid):
        return ok("SlurmUser", f"the service's user, {service.name}, may change all jobs")
    return problem(
        "SlurmUser",
        f"{slurm_user.name}, but the service's user is {service.name}, who may change only its own jobs",
        "run the service as SlurmUser",
        "the service's systemd unit",
        f"User={slurm_user.name}",
    )


def check_controllers(config: Config) -> Iterable[Finding]:
    """Check that slurmctld runs on this host: its hooks find the service by a Unix socket."""
    hosts = texts(config, "SlurmctldHost")
    if hosts and not is_here(address_of(hosts[0])):
        yield problem(
            "SlurmctldHost",
            f"slurmctld runs on {hosts[0]}, not here: its hooks find no service, and jobs start without their mates",
            "run the service, and cosched doctor, there",
            SHELL,
            f"ssh {address_of(hosts[0])}",
        )
    elif len(hosts) > 1:
        yield warning(
            "SlurmctldHost",
            f"when {', '.join(hosts[1:])} takes over, its hooks find no service",
            "let the service follow slurmctld; until then jobs start without their mates",
        )
    elif hosts:
        yield ok("SlurmctldHost", f"{hosts[0]}: slurmctld runs on this host")


def address_of(host: str) -> str:
    """Return the address of `host(address)`, the form in which Slurm shows its controllers; the host if it has none."""
    match = _HOST.fullmatch(host)
    return (match[2] or match[1]) if match else host


def is_here(host: str) -> bool:
    """Return whether a name or address is this host's, which is so if a socket can be bound to it."""
    if host.partition(".")[0] == socket.gethostname().partition(".")[0]:
        return True
    with suppress(OSError, UnicodeError):
        return any(_can_be_bound(family, address[0]) for family, _, _, _, address in socket.getaddrinfo(host, 0))
    return False


def _can_be_bound(family: socket.AddressFamily, address: object) -> bool:
    with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.bind((address, 0))
        return True
    return False
