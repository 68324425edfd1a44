"""`cosched mates`: inside a job, say where it is and ask where its mates are."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.jobs import JOB_ID
from cosched.cli.client.time_limits import TIME_LIMIT
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import show_table

if TYPE_CHECKING:
    from cosched.client import Client, FoundMate

HEADER = ("MATE", "STATE", "HOST", "PORT", "PORTS", "NODELIST")
JOB_IDS = ("COSCHED_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID")  # where batch systems tell a job its id,
NODELISTS = ("COSCHED_NODELIST", "SLURM_JOB_NODELIST")  # and its nodes
LOST = ("cancelled", "failed", "unknown")
PAUSE = 0.2  # seconds between two looks


@click.command()
@click.argument("job", metavar="[ID]", required=False, type=JOB_ID)
@click.option("--host", metavar="HOST", help="Where this job can be reached (the name of this host).")
@click.option("--port", type=click.IntRange(1, 65535), metavar="PORT", help="At which port this job listens.")
@click.option("--wait", is_flag=True, help="Wait until all mates that have not ended have said where they are.")
@click.option("--timeout", type=TIME_LIMIT, help="How long at most: 12h or D-HH:MM:SS.")
@json_option
@server_option
def mates(
    job: str | None, host: str | None, port: int | None, wait: bool, timeout: int | None, as_json: bool,
    server: str | None,
) -> None:  # fmt: skip
    """Inside a job, say where it can be reached, and show where its mates are: those of a pair or a group.

    A mate is shown with its host as soon as it has called this command, too. PORTS are those at which its site lets it
    listen; for this job they are in COSCHED_PORTS. From outside, the owner of a job gives its ID, and says nothing.
    """
    inside = own_id()
    if job is None and inside is None:
        raise click.UsageError("not inside a job: name one by its ID")
    until = None if timeout is None else time.monotonic() + timeout
    with connected(server, job or "") as client:
        if job is None:
            host = host or socket.gethostname()
            found = client.find_mates(inside or "", host=host, nodelist=own_nodelist(), port=port or 0)
        else:
            found = client.find_mates(job)
        if wait:
            found = when_placed(client, job or inside or "", found, until)
    show_table(HEADER, map(_row, found), ("PORT",), found if as_json else None)


def when_placed(client: Client, job: str, found: list[FoundMate], until: float | None) -> list[FoundMate]:
    """Wait until the mates that were `found` have said where they are; Failure: one is lost, or it is `until`."""
    while missing := _missing(found):
        if until is not None and time.monotonic() > until:
            raise Failure(printable(f"no word yet from {', '.join(missing)}"), FAILED)
        time.sleep(PAUSE)
        found = client.find_mates(job)
    return found


def own_id() -> str | None:
    """Return the id of the job that this process belongs to; PBS writes 17.server."""
    return next((os.environ[name].partition(".")[0] for name in JOB_IDS if os.environ.get(name)), None)


def own_nodelist() -> str:
    """Return the nodes of the job that this process belongs to, as its batch system writes them; empty: not known."""
    nodefile = os.environ.get("PBS_NODEFILE")
    if nodefile and Path(nodefile).exists():
        return ",".join(dict.fromkeys(Path(nodefile).read_text().split()))
    return next((os.environ[name] for name in NODELISTS if os.environ.get(name)), "")


def _missing(found: list[FoundMate]) -> list[str]:
    """Return the mates that have not said where they are, and may yet; Failure if one was lost."""
    for mate in found:
        if mate.status in LOST:
            raise Failure(printable(f"{mate} does not run any more ({mate.status})"), FAILED)
    return [str(mate) for mate in found if mate.host is None and mate.job_id is not None and mate.status != "ended"]


def _row(mate: FoundMate) -> tuple[str, ...]:
    state = mate.problem or mate.status or ""
    shown = str(mate), state, mate.host or "", str(mate.port or ""), mate.ports or "", mate.nodelist or ""
    return tuple(map(printable, shown))
