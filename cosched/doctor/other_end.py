"""Checks the other end of a login by ssh: what the doctor there says of the user's own service."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

from cosched.sockets.ssh import explained, ssh_command
from cosched.version import VERSION
from cosched_adapters.findings import SHELL, Finding, Grade, ok, problem, warning

PATIENCE = 120.0  # seconds
_OURS = "peers"  # the group of findings about the way back, which this end checks itself


def check_other_end(peer: str, login: str) -> Iterator[Finding]:
    """Run the doctor there, and repeat what is not right; changes nothing."""
    command = ssh_command(login, "doctor", "--this-end", "--json")
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False, text=True
        )
    except subprocess.TimeoutExpired:
        yield _unreached(peer, login, f"no answer within {PATIENCE:g} s")
        return
    except OSError as error:
        yield _unreached(peer, login, f"ssh cannot be run: {error.strerror}")
        return
    try:
        there = json.loads(done.stdout[done.stdout.index("{") :])
        findings = [_finding(found) for found in there["findings"] if found["group"] != _OURS]
    except (ValueError, KeyError, TypeError):
        said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        yield _unreached(peer, login, explained(said, login))
        return
    yield _version(str(there.get("version", "of another version")))
    wrong = [found for found in findings if found.grade is not Grade.OK]
    yield from wrong or [ok(peer, f"nothing is wrong there, {len(findings)} ok")]


def _finding(found: dict[str, Any]) -> Finding:
    texts = {key: str(found[key]) for key in ("subject", "found", "change", "file")}
    return Finding(Grade(found["grade"]), **texts, lines=tuple(map(str, found["lines"])))


def _version(version: str) -> Finding:
    if version == VERSION:
        return ok("version", f"cosched {version}, as here")
    found = f"cosched {version}, and {VERSION} here"
    return warning("version", found, "update the older one", SHELL, "pip install --user --upgrade coscheduling")


def _unreached(peer: str, login: str, why: str) -> Finding:
    return problem(peer, f"ssh {login}: {why}", "let this work", SHELL, f"ssh -o BatchMode=yes {login} true")
