"""Checks of the folder in which hooks note which jobs wait: waiting_folder, and waiting= in cosched.conf."""

from __future__ import annotations

import shlex
from pathlib import Path

from cosched.adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched.adapters.permissions import EXECUTE, WRITE
from cosched.adapters.slurm.doctor.facts import Facts
from cosched.adapters.slurm.doctor.scripts import CONFIGURATION, others_can_change, settings_in

_SUBJECT = "waiting_folder"
_USUAL = Path("/var/lib/cosched/waiting")
_LOSS = "if slurmctld is restarted while the service is away, jobs that hold count as started and mates run alone"
_EMPTIED = ("/run", "/dev/shm")  # by a boot; /var/run is a link to /run


def check_waiting_folder(facts: Facts, hooks: Path) -> Finding:
    """Check that the hooks in the folder `hooks` write there, and that the service reads there."""
    conf = hooks / CONFIGURATION
    ours, named = facts.settings.waiting_folder, settings_in(conf).get("waiting", "")
    if ours is None:
        folder = named if named.startswith("/") else _USUAL
        line = f'waiting_folder = "{folder}"'
        return warning(_SUBJECT, f"not set: {_LOSS}", "name it here and in cosched.conf", section("manager"), line)
    if not named.startswith("/") or Path(named).resolve() != ours.resolve():
        found = f"the service looks into {ours}, but hooks write {f'into {named}' if named else 'nowhere'}: {_LOSS}"
        return warning(_SUBJECT, found, "let hooks write there", str(conf), f"waiting={ours}")
    return _check_folder(ours, facts)


def _check_folder(folder: Path, facts: Facts) -> Finding:
    user, name = facts.slurm_user, shlex.quote(str(folder))
    if not folder.is_dir():
        make = f"install -d -o {user.name} -m 755 {name}"
        return warning(_SUBJECT, f"there is no folder {folder}: {_LOSS}", "make it", SHELL, make)
    if not user.may(folder, WRITE | EXECUTE):
        found = f"hooks run as {user.name}, who cannot write in {folder}: {_LOSS}"
        return warning(_SUBJECT, found, "give it to SlurmUser", SHELL, f"chown {user.name} {name}")
    if others_can_change(folder.stat(), user):
        found = f"users other than {user.name} can write in {folder}: they can cause running jobs to be requeued"
        change = "let only SlurmUser write there"
        return problem(_SUBJECT, found, change, SHELL, f"chown {user.name} {name}", f"chmod go-w {name}")
    if any(folder.resolve().is_relative_to(emptied) for emptied in _EMPTIED):
        found = f"{folder} is emptied when the host boots: {_LOSS}"
        line = f'waiting_folder = "{_USUAL}"'
        return warning(_SUBJECT, found, "use a folder on disk, in cosched.conf, too", section("manager"), line)
    return ok(_SUBJECT, f"hooks note in {folder} which jobs wait")
