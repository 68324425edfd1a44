"""The scripts that slurm.conf names: are they cosched's hooks, and can Slurm run them?"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from cosched.adapters.findings import SHELL, Finding, ok, problem
from cosched.adapters.permissions import EXECUTE, READ, Account, opening

USUAL_FOLDER = Path("/etc/slurm/cosched")  # as the documentation has it
PROGRAM, CONFIGURATION = "cosched-hook", "cosched.conf"  # beside the scripts
_ROOT = 0
_OTHERS_WRITE = 0o022
_MOST = 1 << 16  # bytes of a file that are looked at
_PATH = re.compile(rb"/[A-Za-z0-9_.@+/-]+")
_CALL = re.compile(rb"cosched-hook[\"']?\s+(prolog|gate|ended)\b")


@dataclass(frozen=True, slots=True)
class Role:
    """One of the scripts: the parameter that names it, its name here, and what it asks cosched-hook for."""

    parameter: str
    name: str
    verb: bytes

    def line(self, folder: Path) -> str:
        """What names it in slurm.conf."""
        return f"{self.parameter}={folder / self.name}"


PROLOG = Role("PrologSlurmctld", "prolog", b"prolog")
JOBCOMP = Role("JobCompLoc", "jobcomp", b"ended")
GATE = Role("TaskProlog", "task-prolog", b"gate")


def script_of(role: Role, script: Path) -> Path | None:
    """The script of cosched's hooks that a script is, or calls by its absolute path; None: neither."""
    text = beginning(script)
    if _does(role, text):
        return script
    called = (Path(os.fsdecode(path)) for path in dict.fromkeys(_PATH.findall(text)))
    return next((path for path in called if path != script and _does(role, beginning(path))), None)


def check_script(role: Role, script: Path, runner: Account, usual: Path) -> Finding:
    """Whether `runner` can run this script for `role`, and whether it is cosched's; `usual`: where that should be."""
    if not script.is_file():
        found, change = f"{script} is not there", "install the hooks, or name them as they are called"
        return problem(role.parameter, found, change, "slurm.conf", role.line(usual))
    if barrier := runner.barrier(script, READ | EXECUTE):
        found = f"{runner.name} cannot run {script}"
        return problem(role.parameter, found, "let it be read and run", SHELL, opening(barrier, "755"))
    ours = script_of(role, script)
    if ours is None:
        found = f"{script} is not cosched's {role.name}, and does not call it"
        change = "let it end with this, or put cosched's in its place"
        return problem(role.parameter, found, change, str(script), f"exec {usual / role.name}")
    return ok(role.parameter, f"{script}" if ours == script else f"{script}, which calls {ours}")


def _does(role: Role, text: bytes) -> bool:
    return role.verb in _CALL.findall(text)


def others_can_change(about: os.stat_result, user: Account) -> bool:
    """Whether anybody but root and this user may write what has this owner and mode."""
    return about.st_uid not in (_ROOT, user.uid) or bool(stat.S_IMODE(about.st_mode) & _OTHERS_WRITE)


def settings_in(path: Path) -> dict[str, str]:
    """What a cosched.conf says; nothing, if it cannot be read."""
    lines = beginning(path).decode(errors="replace").splitlines()
    return {key: value for key, _, value in (line.partition("=") for line in lines if not line.startswith("#"))}


def beginning(path: Path) -> bytes:
    """What a file begins with; nothing, if it cannot be read."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(_MOST)
    except OSError:
        pass
    return b""
