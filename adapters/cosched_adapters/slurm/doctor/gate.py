"""Checks of the optional gate just before a job's first instruction, and of gate_lead, which belongs to it.

gate_folder, and gates= of the hooks, name the folder that tells the gates of all nodes the agreed instant.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from cosched_adapters.findings import SHELL, Finding, ok, problem, section, warning
from cosched_adapters.permissions import EVERYBODY, EXECUTE, READ, WRITE, Account, opening
from cosched_adapters.slurm.doctor import scripts
from cosched_adapters.slurm.doctor.facts import Facts
from cosched_adapters.slurm.doctor.scripts import CONFIGURATION, GATE, PROGRAM
from cosched_adapters.slurm.parameters import Config, text
from cosched_adapters.slurm.settings import SlurmSettings

_CONF = "slurm.conf"
_FOLDER = "gate_folder"
_LEAD = 0.3  # seconds from the end of a job's hook to its gate (measured: 0.2 to 0.3)


def gate_script(config: Config) -> Path | None:
    """Return the path of cosched's gate, if TaskProlog is the gate or calls it."""
    named = text(config, GATE.parameter)
    return scripts.script_of(GATE, Path(named)) if named else None


def check_gate(facts: Facts, usual: Path) -> Iterator[Finding]:
    """Check that gate and gate_lead are set both or neither, and that tasks find the service or its folder."""
    gate = gate_script(facts.config)
    if gate is None:
        yield _without_gate(facts.settings, usual)
    else:
        yield _check_script(facts, gate)
        yield from check_gate_folder(facts, gate)


def _check_script(facts: Facts, gate: Path) -> Finding:
    folder, lead = facts.settings.gate_folder or gates_of(gate), facts.settings.gate_lead
    if facts.elsewhere is not None and folder is None:
        return _on_other_hosts(facts, gate)
    if closed := _closed(gate, facts.settings.hook_socket if folder is None else None):
        found, change = f"{gate}: tasks of {EVERYBODY.name} do not wait, since {closed[0]} is closed to them", "open it"
        return warning(GATE.parameter, found, change, SHELL, opening(*closed))
    if not lead:
        found = f"{gate}, but gate_lead is 0: jobs reach the gate after the agreed instant, so it has no effect"
        change = "let jobs start a little earlier"
        return warning(GATE.parameter, found, change, section("manager"), f"gate_lead = {_LEAD}")
    return ok(GATE.parameter, f"{gate}, and jobs are let go {lead:g} s before the agreed instant")


def _closed(gate: Path, hook_socket: Path | None) -> tuple[Path, str] | None:
    """Return what keeps users from running the gate, and the mode that it must have; None if nothing does."""
    beside = (gate.with_name(PROGRAM), EXECUTE, "755"), (gate.with_name(CONFIGURATION), READ, "644")
    needed = [(gate, READ | EXECUTE, "755"), *beside]
    needed += [] if hook_socket is None else [(hook_socket.parent, EXECUTE, "")]
    barriers = ((EVERYBODY.barrier(path, wanted), mode) for path, wanted, mode in needed)
    return next(((barrier, mode) for barrier, mode in barriers if barrier is not None), None)


def _without_gate(settings: SlurmSettings, usual: Path) -> Finding:
    lead, folder = settings.gate_lead, settings.gate_folder
    if lead:
        found = f"{lead:g} s, but TaskProlog is not cosched's gate: jobs start that much before the agreed instant"
        return warning("gate_lead", found, "leave gate_lead out, or name the gate", _CONF, GATE.line(usual))
    if folder:
        found = f"{folder}, but TaskProlog is not cosched's gate: nobody looks there"
        return warning("gate_folder", found, "leave gate_folder out, or name the gate", _CONF, GATE.line(usual))
    what = "it reduces the skew of a pair from about 10 ms to 1 ms; for tasks on other hosts it needs gate_folder"
    return ok(GATE.parameter, f"not cosched's gate, which is optional: {what}")


def _on_other_hosts(facts: Facts, gate: Path) -> Finding:
    lead = facts.settings.gate_lead
    early = f", {lead:g} s before the agreed instant (gate_lead)" if lead else ""
    found = f"{gate} finds no service on other hosts such as {facts.elsewhere}: tasks do not wait there{early}"
    named = "name a folder that all nodes see (gate_folder, and gates= in cosched.conf)"
    line = f"#{GATE.parameter}={text(facts.config, GATE.parameter)}"
    return warning(GATE.parameter, found, f"{named}, or leave out gate and gate_lead", _CONF, line)


def check_gate_folder(facts: Facts, gate: Path) -> Iterator[Finding]:
    """Check the folder; no findings if neither the service nor `gate` is configured to use one."""
    ours, theirs = facts.settings.gate_folder, gates_of(gate)
    if ours is not None:
        yield _check_folder(ours, facts.service) or _check_named(ours, theirs, gate)
    elif theirs is not None:
        found = f"tasks look into {theirs} (gates in {gate.with_name(CONFIGURATION)}), where the service writes nothing"
        yield warning(_FOLDER, found, "let it", section("manager"), f'gate_folder = "{theirs}"')


def gates_of(gate: Path) -> Path | None:
    """Return the folder that cosched.conf beside the gate names."""
    named = scripts.settings_in(gate.with_name(CONFIGURATION)).get("gates", "")
    return Path(named) if named.startswith("/") else None


def _check_folder(folder: Path, service: Account) -> Finding | None:
    """Return what is wrong with the folder, if anything is."""
    name = shlex.quote(str(folder))
    if not folder.is_dir():
        make = f"install -d -o {service.name} -m 755 {name}"
        return problem(_FOLDER, f"there is no folder {folder}: the service does not start", "make it", SHELL, make)
    if not service.may(folder, READ | WRITE | EXECUTE):
        found = f"{service.name} cannot write in {folder}: the service does not start"
        return problem(_FOLDER, found, "give it to the service's user", SHELL, f"chown {service.name} {name}")
    if scripts.others_can_change(folder.stat(), service):
        found = f"users other than {service.name} can write in {folder}: they can delay tasks of all users by 10 s"
        change = "let only the service's user write there"
        return problem(_FOLDER, found, change, SHELL, f"chown {service.name} {name}", f"chmod go-w {name}")
    if barrier := EVERYBODY.barrier(folder, EXECUTE):
        found = f"tasks of {EVERYBODY.name} do not wait, since {barrier} is closed to them"
        return warning(_FOLDER, found, "open it", SHELL, opening(barrier, ""))
    return None


def _check_named(ours: Path, theirs: Path | None, gate: Path) -> Finding:
    """Check that the gate looks into the service's folder."""
    conf = gate.with_name(CONFIGURATION)
    if theirs is None or theirs.resolve() != ours.resolve():
        found = f"the service writes into {ours}, but tasks look {f'into {theirs}' if theirs else 'nowhere'}"
        return warning(_FOLDER, found, "let them look there, on all nodes", str(conf), f"gates={ours}")
    clocks = "the instant is compared with the clock of each node, which NTP or chrony must keep"
    return ok(_FOLDER, f"tasks on all nodes that see {ours} wait for the agreed instant; {clocks}")
