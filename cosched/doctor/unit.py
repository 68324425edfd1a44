"""The systemd unit of a domain's service, where the host has one."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cosched.words.errors import InputError
from cosched_adapters.permissions import Account

_PROPERTIES = ("LoadState", "ActiveState", "UnitFileState", "User", "ExecMainStatus", "ExecStart")
_PATIENCE = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class Unit:
    """What systemd tells of a unit."""

    name: str
    state: str  # active, activating, inactive, failed, ...
    enabled: bool
    user: str
    exit_code: str  # of its last process

    @property
    def should_run(self) -> bool:
        """Whether its service should be there by now."""
        return self.state != "activating" and (self.enabled or self.state in ("active", "failed"))

    @property
    def in_words(self) -> str:
        """Its name and its state."""
        ended = "" if self.exit_code in ("", "0") else f", exit code {self.exit_code}"
        return f"{self.name} is {self.state}{ended}"

    @property
    def log(self) -> str:
        """The command that shows its last messages."""
        return f"journalctl -u {self.name} -o cat -n 20"


def unit_of(source: str) -> Unit | None:
    """Return the unit whose service reads this configuration; None if there is no such unit, or no systemd."""
    name = f"cosched@{Path(source).stem}"
    command = ["systemctl", "show", f"{name}.service", f"--property={','.join(_PROPERTIES)}"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if told.get("LoadState") != "loaded" or os.path.abspath(source) not in told.get("ExecStart", "").split():
        return None
    enabled, user = told.get("UnitFileState") in ("enabled", "enabled-runtime"), told.get("User") or "root"
    return Unit(name, told.get("ActiveState", ""), enabled, user, told.get("ExecMainStatus", ""))


def as_user(user: str, source: str) -> str:
    """Return the command that examines this configuration as this user."""
    return f"runuser -u {shlex.quote(user)} -- cosched doctor --config {shlex.quote(source)}"


def hinted(error: InputError, source: str) -> InputError:
    """Return the error that a configuration cannot be read; of a closed file, with who could read it."""
    if "Permission denied" not in error.reason:
        return error
    unit = unit_of(source)
    if unit is None or unit.user == Account.of(os.geteuid()).name:
        return InputError(error.source, error.where, f"{error.reason}; run this as the service's user")
    return InputError(error.source, error.where, f"{error.reason}; run it as {unit.user}: {as_user(unit.user, source)}")
