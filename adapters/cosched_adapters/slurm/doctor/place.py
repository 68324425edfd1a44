"""Checks of host and user: the service must run on slurmctld's host, as a user who may change all jobs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from cosched_adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched_adapters.permissions import Account
from cosched_adapters.slurm.controllers import is_here, names_of
from cosched_adapters.slurm.parameters import Config, texts
from cosched_adapters.slurm.settings import SlurmSettings

COMMANDS = ("squeue", "scontrol", "scancel", "sinfo")


def check_commands(settings: SlurmSettings) -> Finding:
    """Check that Slurm's commands are there; only `cosched submit` needs sbatch."""
    where = str(settings.bin) if settings.bin else "PATH"
    paths = {name: shutil.which(name, path=settings.bin) for name in (*COMMANDS, "sbatch")}
    missing = [name for name, path in paths.items() if path is None]
    if set(missing) & set(COMMANDS):
        found, change = f"not found in {where}: {', '.join(missing)}", "say where Slurm's commands are"
        return problem("commands", found, change, section("manager"), 'bin = "/opt/slurm/bin"')
    if missing:
        found = f"sbatch is not found in {where}: cosched submit cannot submit from here"
        return warning("commands", found, "install it here, or submit elsewhere")
    return ok("commands", f"{', '.join(paths)} found in {where}")


def check_user(service: Account, slurm_user: Account) -> Finding:
    """Check the service's user: only SlurmUser and root see and change all jobs, and work with the hooks."""
    if service.uid in (0, slurm_user.uid):
        return ok("SlurmUser", f"the service's user, {service.name}, may change all jobs")
    found = f"{slurm_user.name}, but the service's user is {service.name}, who may change only its own jobs"
    unit = "the service's systemd unit"
    return problem("SlurmUser", found, "run the service as SlurmUser", unit, f"User={slurm_user.name}")


def check_controllers(config: Config) -> Iterable[Finding]:
    """Check that slurmctld runs on this host, now or after a take-over: its hooks find the service by a Unix socket."""
    hosts = texts(config, "SlurmctldHost")
    if hosts and not any(is_here(name) for host in hosts for name in names_of(host)):
        found = f"slurmctld runs on {' or '.join(hosts)}, not here: its hooks find no service, and jobs start alone"
        change = "run the service, and cosched doctor, there"
        yield problem("SlurmctldHost", found, change, SHELL, f"ssh {names_of(hosts[0])[-1]}")
    elif len(hosts) > 1:
        needs = "run it on each, with the hooks, and with domain.state in a folder that all of them see"
        yield ok("SlurmctldHost", f"{', '.join(hosts)}: the service stands by where slurmctld does; {needs}")
    elif hosts:
        yield ok("SlurmctldHost", f"{hosts[0]}: slurmctld runs on this host")
