"""The unit of systemd in which a user's own service runs, where that user's systemd stays after a logout.

Else a unit would be worse than none: systemd ends it with its user's last session. The unit is a transient one, gone
when the service has ended. A service that was killed is started again by systemd. A unit does not have the environment
of whoever makes it, and what is in a command line all users see: so a script in the service's folder sets it.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

LINGER = Path("/var/lib/systemd/linger")  # has a file for each user whose systemd runs without a login
SCRIPT = "run"  # without it systemd does not start the service again
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANSWERS = 30.0  # seconds
_PROPERTIES = ("KillMode=process", "Restart=on-abnormal", "TimeoutStartSec=infinity")  # as of deploy/cosched@.service


def unit_command(folder: Path, service: Sequence[str], log: Path) -> list[str]:
    """Return the command that runs a service in a unit, and ends when it serves or has failed; empty: there is none."""
    manager = Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere")) / "systemd" / "private"
    if not manager.exists() or not (LINGER / getpass.getuser()).exists() or shutil.which("systemd-run") is None:
        return []
    made = ["systemd-run", "--user", "--quiet", "--collect", "--description=your own service of cosched"]
    made += [f"--property={value}" for value in _PROPERTIES]
    try:
        tried = subprocess.run([*made, "true"], capture_output=True, timeout=_ANSWERS, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    if tried.returncode:
        return []
    script = folder / SCRIPT
    script.touch(mode=0o600)
    script.write_text(_script(folder, service, log), errors="surrogateescape")
    return [*made, "--service-type=notify", "/bin/sh", str(script)]


def _script(folder: Path, service: Sequence[str], log: Path) -> str:
    """Return what runs the service as it would run here."""
    names = [name for name in os.environ if _NAME.fullmatch(name) and name != "NOTIFY_SOCKET"]
    lines = [f"command export {name}={shlex.quote(os.environ[name])}" for name in names]  # bash may refuse some
    run = f"exec {shlex.join(service)} >> {shlex.quote(str(log))} 2>&1"
    return "\n".join([*lines, f"cd {shlex.quote(str(folder))}", run, ""])
