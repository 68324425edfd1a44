"""Checks of the scripts that slurm.conf names: are they cosched's hooks, and can Slurm run them?"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, ok, problem
from cosched_adapters.permissions import EXECUTE, READ, Account, opening

USUAL_FOLDER = Path("/etc/slurm/cosched")  # the documentation's folder
PROGRAM, CONFIGURATION = "cosched-hook", "cosched.conf"  # beside the scripts
_ROOT = 0
_OTHERS_WRITE = 0o022
_MOST = 1 << 16  # bytes of a file that are looked at
_PATH = re.compile(rb"/[A-Za-z0-9_.@+/-]+")
_CALL = re.compile(rb"cosched-hook[\"']?\s+(prolog|gate|ended)\b")


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of script: the parameter that names it, its name here, and the arguments that it gives cosched-hook."""

    parameter: str
    name: str
    verb: bytes

    def line(self, folder: Path) -> str:
        """Return the line of slurm.conf that names the script."""
        return f"{self.parameter}={folder / self.name}"


PROLOG = Role("PrologSlurmctld", "prolog", b"prolog")
JOBCOMP = Role("JobCompLoc", "jobcomp", b"ended")
GATE = Role("TaskProlog", "task-prolog", b"gate")
ROLES = (PROLOG, JOBCOMP, GATE)


def script_of(role: Role, script: Path) -> Path | None:
    """Return the script of cosched that `script` is or calls by its absolute path; None if neither."""
    text = beginning(script)
    if _does(role, text):
        return script
    called = (Path(os.fsdecode(path)) for path in dict.fromkeys(_PATH.findall(text)))
    return next((path for path in called if path != script and _does(role, beginning(path))), None)


def check_script(role: Role, script: Path, runner: Account, usual: Path) -> Finding:
    """Check that `runner` can run this script, and that it is cosched's, which should be in the folder `usual`."""
    if is_gone(script, runner) or os.path.isdir(script):
        found, change = f"{script} is not there", "install the hooks, or correct their names"
        return problem(role.parameter, found, change, "slurm.conf", role.line(usual))
    if barrier := runner.barrier(script, READ | EXECUTE):
        found = f"{runner.name} cannot run {script}"
        return problem(role.parameter, found, "make it readable and executable", SHELL, opening(barrier, "755"))
    ours = script_of(role, script)
    if ours is None:
        found = f"{script} is not cosched's {role.name}, and does not call it"
        change = "let it end with this, or put cosched's in its place"
        return problem(role.parameter, found, change, str(script), f"exec {usual / role.name}")
    return ok(role.parameter, f"{script}" if ours == script else f"{script}, which calls {ours}")


def is_gone(path: Path, user: Account) -> bool:
    """Return whether there is no such file for this user, from whom no closed folder hides it."""
    barrier = user.barrier(path, READ)
    return barrier is not None and not os.path.lexists(barrier)


def _does(role: Role, text: bytes) -> bool:
    return role.verb in _CALL.findall(text)


def others_can_change(about: os.stat_result, user: Account) -> bool:
    """Return whether anybody except root and this user may write a file of this owner and mode."""
    return about.st_uid not in (_ROOT, user.uid) or bool(stat.S_IMODE(about.st_mode) & _OTHERS_WRITE)


def settings_in(path: Path) -> dict[str, str]:
    """Return the settings in a cosched.conf; none if it cannot be read."""
    lines = beginning(path).decode(errors="replace").splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines if not line.startswith("#"))}


def beginning(path: Path) -> bytes:
    """Return a file's first bytes; none if it cannot be read."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_MOST)
    return b""
