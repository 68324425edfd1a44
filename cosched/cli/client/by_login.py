"""`cosched submit --to` for a user's own services: each job is submitted where its service is, there by ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cosched.cli.client.scripts import read_script
from cosched.cli.client.submitted import tell_id
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.own_service import COMMAND, OwnService
from cosched.validation.near_names import did_you_mean
from cosched.words.errors import InputError

_PATIENCE = 300.0  # seconds of one command: its service may have to be started
_OWN = {"destinations", "pair", "group", "parsable"}


def logins_of(destinations: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the logins of those of these domains that are peers of the user's own service by ssh.

    InputError: the user has an own service, and one of these domains is not known here.
    """
    from cosched.client.defaults import named_domains

    own = OwnService()
    if not own.exists:
        return {}
    logins = own.logins()
    try:
        known = {own.name, *logins, *named_domains(os.environ)}
    except ValueError as error:
        raise InputError("--to", None, str(error)) from None
    for domain, _ in destinations:
        if domain not in known:
            there_are = f"{did_you_mean(domain, known)} (known: {', '.join(sorted(known))})"
            raise InputError("--to", None, f"{domain} is not known here{there_are}: cosched peer add couples a domain")
    return {domain: login for domain, _ in destinations if (login := logins.get(domain))}


def submit_by_login(
    destinations: Sequence[tuple[str, str]],
    logins: Mapping[str, str],
    options: Mapping[str, Any],
    given: Collection[str],
    parsable: bool,
) -> None:
    """Submit both jobs of a pair, or none; UsageError, Failure."""
    own = OwnService().name
    names = [domain for domain, _ in destinations]
    if set(names) != {own, *logins}:
        raise click.UsageError(f"--to: a pair by ssh has one job on {own} and one on {' or '.join(logins)}")
    if more := sorted(set(given) - _OWN):
        said = "put what else a job asks for into its script (#SBATCH or #COSCHED lines)"
        raise click.UsageError(f"--to with a domain by ssh takes only --pair and --parsable, not {more[0]}: {said}")
    pair = str(options["pair"] or options["group"])
    jobs = sorted(destinations, key=lambda job: job[0] == own)  # the farther one first: more can be wrong there
    submitted: list[tuple[str, str]] = []
    scripts = {domain: read_script(path) for domain, path in jobs}
    for domain, path in jobs:
        other = next(name for name in names if name != domain)
        script = "-" if domain in logins else path
        words = ["submit", "--parsable", "--pair", pair, "--pair-domain", other, "--name", Path(path).name, script]
        try:
            submitted.append((domain, _run(domain, logins, words, scripts[domain])))
        except Failure:
            for before, job in submitted:
                _run(before, logins, ["cancel", job], b"")
            raise
    for domain, job in submitted[::-1]:
        tell_id(job, domain, parsable)


def _run(domain: str, logins: Mapping[str, str], words: Sequence[str], text: bytes) -> str:
    """Run a cosched command where the domain's service is; return what it prints. Failure: as it says."""
    from cosched.sockets.ssh import ssh_command

    command = ssh_command(logins[domain], *words) if domain in logins else [sys.executable, "-c", COMMAND, *words]
    try:
        done = subprocess.run(command, input=text, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{domain}: {error}; nothing is submitted", FAILED) from None
    if done.returncode:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise Failure(printable(f"{domain}: {said.removeprefix('cosched: ')}; nothing is submitted"), FAILED)
    return done.stdout.decode(errors="replace").strip()
