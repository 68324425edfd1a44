"""Checks of the optional gate just before a job's first instruction, and of gate_lead, which belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cosched.adapters.findings import SHELL, Finding, ok, section, warning
from cosched.adapters.permissions import EVERYBODY, EXECUTE, READ, opening
from cosched.adapters.slurm.doctor.facts import Facts
from cosched.adapters.slurm.doctor.gate_folder import check_gate_folder, gates_of
from cosched.adapters.slurm.doctor.scripts import CONFIGURATION, GATE, PROGRAM, script_of
from cosched.adapters.slurm.parameters import Config, text
from cosched.adapters.slurm.settings import SlurmSettings

_CONF = "slurm.conf"
_LEAD = 0.3  # seconds from the end of a job's hook to its gate (measured: 0.2 to 0.3)


def gate_script(config: Config) -> Path | None:
    """Return the path of cosched's gate, if TaskProlog is the gate or calls it."""
    named = text(config, GATE.parameter)
    return script_of(GATE, Path(named)) if named else None


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
        return warning(
            GATE.parameter, found, "let jobs start a little earlier", section("manager"), f"gate_lead = {_LEAD}"
        )
    return ok(GATE.parameter, f"{gate}, and jobs are let go {lead:g} s before the agreed instant")


def _closed(gate: Path, hook_socket: Path | None) -> tuple[Path, str] | None:
    """Return what keeps users from running the gate, and the mode that it must have; None if nothing does."""
    needed = [
        (gate, READ | EXECUTE, "755"),
        (gate.with_name(PROGRAM), EXECUTE, "755"),
        (gate.with_name(CONFIGURATION), READ, "644"),
    ]
    if hook_socket is not None:
        needed.append((hook_socket.parent, EXECUTE, ""))
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
    return warning(
        GATE.parameter,
        f"{gate} finds no service on other hosts such as {facts.elsewhere}: tasks do not wait there{early}",
        "name a folder that all nodes see (gate_folder, and gates= in cosched.conf), or leave out gate and gate_lead",
        _CONF,
        f"#{GATE.parameter}={text(facts.config, GATE.parameter)}",
    )
