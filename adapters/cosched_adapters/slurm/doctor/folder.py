"""Checks of cosched-hook and cosched.conf, beside the scripts, and of the socket by which they ask the service.

And of the folder in which hooks note which jobs wait: waiting_folder, and waiting= in cosched.conf.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, guarded, ok, problem, section, warning
from cosched_adapters.permissions import EXECUTE, READ, WRITE, Account, opening
from cosched_adapters.slurm.doctor.facts import Facts
from cosched_adapters.slurm.doctor.scripts import CONFIGURATION, PROGRAM, ROLES, others_can_change, settings_in

_USAGE = b"usage: "  # how cosched-hook's usage begins
_NEEDED = (b"|starting|", b" waiting ")  # parts of the usage if it is as new as this service
_SHOWN = 80  # characters of what a program says
_PATIENCE = 20.0  # seconds for printing the usage, which takes a millisecond
_SOCKET, _WAIT = "/run/cosched/hooks.sock", "10"  # cosched-hook's defaults
_LEAST_WAIT, _MOST_WAIT = 1, 3600  # seconds
_WAITING = "waiting_folder"
_USUAL_WAITING = Path("/var/lib/cosched/waiting")
_LOSS = "if slurmctld is restarted while the service is away, jobs that hold count as started and mates run alone"
_EMPTIED = ("/run", "/dev/shm")  # by a boot; /var/run is a link to /run


def check_folder(folder: Path, facts: Facts) -> Iterator[Finding]:
    """Check the folder of the scripts."""
    (owners,) = guarded("owners", _check_owners, folder, facts.slurm_user)
    yield owners
    yield from guarded(PROGRAM, _check_program, folder / PROGRAM, facts.slurm_user, not owners.change)
    hook_socket, user = facts.settings.hook_socket, facts.slurm_user
    yield from guarded(CONFIGURATION, _check_configuration, folder / CONFIGURATION, hook_socket, user)


def _check_owners(folder: Path, slurm_user: Account) -> Finding:
    names = (PROGRAM, CONFIGURATION, *(role.name for role in ROLES))
    present = [path for path in (folder, *(folder / name for name in names)) if path.exists()]
    unsafe = " ".join(str(path) for path in present if others_can_change(path.stat(), slurm_user))
    owners = " and ".join(dict.fromkeys(("root", slurm_user.name)))
    if not unsafe:
        return ok("owners", f"only {owners} can change the hooks in {folder}")
    found = f"users other than {owners} can change {unsafe}: they can run programs as {slurm_user.name}"
    return problem("owners", found, "give it to root", SHELL, f"chown root {unsafe}", f"chmod go-w {unsafe}")


def _check_program(path: Path, user: Account, trusted: bool) -> Finding:
    build = f"cc -std=c11 -O2 -static -o {path} cosched-hook.c"
    if not path.is_file():
        return problem(PROGRAM, f"{path} is not there", "build it beside the scripts", SHELL, build)
    if barrier := user.barrier(path, EXECUTE):
        return problem(PROGRAM, f"{user.name} cannot run {path}", "make it executable", SHELL, opening(barrier, "755"))
    if not trusted:
        return warning(PROGRAM, f"{path} was not tried, since others can change it", "correct the owners first")
    try:
        said = _usage(path)
    except OSError as error:
        found = f"{path} does not run on this host: {error.strerror}"
        return problem(PROGRAM, found, "build it for this processor", SHELL, build)
    again = "build it and install the scripts beside it again"
    if _USAGE not in said:
        found = f"{path} runs, but does not tell its usage as cosched-hook does: {_first_line(said)}"
        return problem(PROGRAM, found, again, SHELL, build)
    if not all(word in said for word in _NEEDED):
        found = f"{path} is older than this service: holds are lost where a restart of slurmctld kills hooks"
        return warning(PROGRAM, found, again, SHELL, build)
    return ok(PROGRAM, f"{path} runs")


def _usage(path: Path) -> bytes:
    """Return the usage that the program prints if it has no arguments; empty if it does not end. OSError."""
    try:
        done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, env={}, cwd="/", timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return b""
    return done.stderr or done.stdout


def _first_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return f"it says {lines[0][:_SHOWN]!a}" if lines else "it says nothing"


def _check_configuration(path: Path, hook_socket: Path, reader: Account) -> Finding:
    right = f"socket={hook_socket}"
    if not path.is_file():
        return problem(CONFIGURATION, f"{path} is not there", "write it, with this line", str(path), right)
    if barrier := reader.barrier(path, READ):
        found = f"{reader.name} cannot read {path}"
        return problem(CONFIGURATION, found, "make it readable", SHELL, opening(barrier, "644"))
    said = settings_in(path)
    named, wait = Path(said.get("socket", _SOCKET)), said.get("patience", _WAIT)
    if named.resolve() != hook_socket.resolve():
        found = f"hooks ask {named}, but the service's hook_socket is {hook_socket}"
        change = f'let hooks ask there, or put hook_socket = "{named}" into [manager]'
        return problem(CONFIGURATION, found, change, str(path), right)
    if not wait.isdecimal() or not _LEAST_WAIT <= int(wait) <= _MOST_WAIT:
        found = f"patience={wait} is not {_LEAST_WAIT} to {_MOST_WAIT} s: hooks wait for {_WAIT} s instead"
        return warning(CONFIGURATION, found, "correct it", str(path), f"patience={_WAIT}")
    return ok(CONFIGURATION, f"{path}: hooks ask {named}, and wait for {wait} s when the service is gone")


def check_socket(facts: Facts) -> Finding:
    """Check that the service can make its socket, that hooks can reach it, and that a running service listens on it."""
    path, service, subject = facts.settings.hook_socket, facts.service, "hook_socket"
    folder = path.parent
    if not folder.is_dir():
        make = f"install -d -o {service.name} -m 755 {folder}"
        return problem(subject, f"there is no folder {folder}", "make it", SHELL, make)
    if not service.may(folder, READ | WRITE | EXECUTE):
        found, change = f"{service.name} cannot make {path}", "give the folder to the service's user"
        return problem(subject, found, change, SHELL, f"chown {service.name} {folder}")
    if barrier := facts.slurm_user.barrier(folder, EXECUTE):
        found = f"{facts.slurm_user.name} cannot reach {path}"
        return problem(subject, found, "let users enter its folders", SHELL, opening(barrier, ""))
    if facts.serving and not _is_served(path):
        found = f"no process listens on {path}, though the service runs"
        change = "restart the service, with this configuration"
        return problem(subject, found, change, SHELL, "systemctl restart 'cosched@*'")
    return ok(subject, f"hooks find the service at {path}" if facts.serving else f"{path} can be made and reached")


def _is_served(path: Path) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(_PATIENCE)
        trial.connect(os.fspath(path))
        return True
    return False


def check_waiting_folder(facts: Facts, hooks: Path) -> Finding:
    """Check that the hooks in the folder `hooks` write there, and that the service reads there."""
    conf = hooks / CONFIGURATION
    ours, named = facts.settings.waiting_folder, settings_in(conf).get("waiting", "")
    if ours is None:
        folder = named if named.startswith("/") else _USUAL_WAITING
        line = f'waiting_folder = "{folder}"'
        return warning(_WAITING, f"not set: {_LOSS}", "name it here and in cosched.conf", section("manager"), line)
    if not named.startswith("/") or Path(named).resolve() != ours.resolve():
        found = f"the service looks into {ours}, but hooks write {f'into {named}' if named else 'nowhere'}: {_LOSS}"
        return warning(_WAITING, found, "let hooks write there", str(conf), f"waiting={ours}")
    return _check_waiting(ours, facts)


def _check_waiting(folder: Path, facts: Facts) -> Finding:
    user, name = facts.slurm_user, shlex.quote(str(folder))
    if not folder.is_dir():
        make = f"install -d -o {user.name} -m 755 {name}"
        return warning(_WAITING, f"there is no folder {folder}: {_LOSS}", "make it", SHELL, make)
    if not user.may(folder, WRITE | EXECUTE):
        found = f"hooks run as {user.name}, who cannot write in {folder}: {_LOSS}"
        return warning(_WAITING, found, "give it to SlurmUser", SHELL, f"chown {user.name} {name}")
    if others_can_change(folder.stat(), user):
        found = f"users other than {user.name} can write in {folder}: they can cause running jobs to be requeued"
        change = "let only SlurmUser write there"
        return problem(_WAITING, found, change, SHELL, f"chown {user.name} {name}", f"chmod go-w {name}")
    if any(folder.resolve().is_relative_to(emptied) for emptied in _EMPTIED):
        found = f"{folder} is emptied when the host boots: {_LOSS}"
        line = f'waiting_folder = "{_USUAL_WAITING}"'
        return warning(_WAITING, found, "use a folder on disk, in cosched.conf, too", section("manager"), line)
    return ok(_WAITING, f"hooks note in {folder} which jobs wait")
