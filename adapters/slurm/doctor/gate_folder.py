"""Checks of the folder that tells the gates of all nodes the agreed instant: gate_folder, and gates= of the hooks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from cosched.adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched.adapters.permissions import EVERYBODY, EXECUTE, READ, WRITE, Account, opening
from cosched.adapters.slurm.doctor.facts import Facts
from cosched.adapters.slurm.doctor.scripts import CONFIGURATION, others_can_change, settings_in

_SUBJECT = "gate_folder"


def check_gate_folder(facts: Facts, gate: Path) -> Iterator[Finding]:
    """Check the folder; no findings if neither the service nor `gate` is configured to use one."""
    ours, theirs = facts.settings.gate_folder, gates_of(gate)
    if ours is not None:
        yield _check_folder(ours, facts.service) or _check_named(ours, theirs, gate)
    elif theirs is not None:
        found = f"tasks look into {theirs} (gates in {gate.with_name(CONFIGURATION)}), where the service writes nothing"
        yield warning(_SUBJECT, found, "let it", section("manager"), f'gate_folder = "{theirs}"')


def gates_of(gate: Path) -> Path | None:
    """Return the folder that cosched.conf beside the gate names."""
    named = settings_in(gate.with_name(CONFIGURATION)).get("gates", "")
    return Path(named) if named.startswith("/") else None


def _check_folder(folder: Path, service: Account) -> Finding | None:
    """Return what is wrong with the folder, if anything is."""
    name = shlex.quote(str(folder))
    if not folder.is_dir():
        make = f"install -d -o {service.name} -m 755 {name}"
        return problem(_SUBJECT, f"there is no folder {folder}: the service does not start", "make it", SHELL, make)
    if not service.may(folder, READ | WRITE | EXECUTE):
        found = f"{service.name} cannot write in {folder}: the service does not start"
        return problem(_SUBJECT, found, "give it to the service's user", SHELL, f"chown {service.name} {name}")
    if others_can_change(folder.stat(), service):
        found = f"users other than {service.name} can write in {folder}: they can delay tasks of all users by 10 s"
        change = "let only the service's user write there"
        return problem(_SUBJECT, found, change, SHELL, f"chown {service.name} {name}", f"chmod go-w {name}")
    if barrier := EVERYBODY.barrier(folder, EXECUTE):
        found = f"tasks of {EVERYBODY.name} do not wait, since {barrier} is closed to them"
        return warning(_SUBJECT, found, "open it", SHELL, opening(barrier, ""))
    return None


def _check_named(ours: Path, theirs: Path | None, gate: Path) -> Finding:
    """Check that the gate looks into the service's folder."""
    conf = gate.with_name(CONFIGURATION)
    if theirs is None or theirs.resolve() != ours.resolve():
        found = f"the service writes into {ours}, but tasks look {f'into {theirs}' if theirs else 'nowhere'}"
        return warning(_SUBJECT, found, "let them look there, on all nodes", str(conf), f"gates={ours}")
    clocks = "the instant is compared with the clock of each node, which NTP or chrony must keep"
    return ok(_SUBJECT, f"tasks on all nodes that see {ours} wait for the agreed instant; {clocks}")
