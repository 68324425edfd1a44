"""How `cosched submit` submits jobs behind gates, if the service is the user's own."""

from __future__ import annotations

import os
from pathlib import Path

from cosched.validation.addresses import socket_path
from cosched.words.errors import InputError
from cosched_adapters.own.gate_relay import key_in
from cosched_adapters.own.gate_script import GateWords, gated, over_tcp


def own_gates(server: str) -> Path | None:
    """Return where the gates of a user's own service find it; None: this is not a user's own service."""
    socket = socket_path(server)
    gates = None if socket is None else Path(socket).parent / "gates"
    return gates if gates is not None and gates.is_dir() and gates.stat().st_uid == os.geteuid() else None


def hold_time(gates: Path) -> float:
    """Return by how many seconds time limits are raised, as the service has written."""
    return float(_written(gates)[2])


def behind_gate(path: str, script: bytes, gates: Path, system: GateWords, raised: int = 0) -> bytes:
    """Return a script behind its gate; `raised`: see `gated`. InputError."""
    if not script.startswith(b"#!"):
        raise InputError(path, 1, "does not begin with #!, so it cannot have a gate")
    tcp, at = "", _written(gates)[3:]
    if at:
        host, _, port = at[0].rpartition(":")
        tcp = over_tcp(host, int(port), key_in(gates))
    return gated(script, gates, system, raised=raised, tcp=tcp)


def _written(gates: Path) -> list[str]:
    return (gates / "patience").read_text().split()
