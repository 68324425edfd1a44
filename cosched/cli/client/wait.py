"""`cosched wait`: until jobs, or all jobs of groups, have ended or started."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import connected, json_option, server_option
from cosched.cli.client.jobs import JOB_OR_GROUP
from cosched.cli.client.members import members
from cosched.cli.client.time_limits import TIME_LIMIT
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import show_json, show_text
from cosched.validation.group_names import names_job

if TYPE_CHECKING:
    from cosched.client import Job

AWAY = 60.0  # seconds for which a domain may be out of reach, such as for a restart


@click.command()
@click.argument("names", metavar="ID|GROUP...", nargs=-1, required=True, type=JOB_OR_GROUP)
@click.option("--started", is_flag=True, help="Wait until they have started only.")
@click.option("--timeout", type=TIME_LIMIT, help="How long at most: 12h or D-HH:MM:SS.")
@json_option
@server_option
def wait(names: tuple[str, ...], started: bool, timeout: int | None, as_json: bool, server: str | None) -> None:
    """Wait until jobs have ended; of a group, or of a pair by its name, the jobs on all its domains.

    The exit code is 0 if all have completed, as a job that has ended with its mate (--ends-with) has, else 1. Other
    domains are found as by cosched show.
    """
    from cosched.client.waiting import ENDED, STARTED

    jobs = _wait(names, server, STARTED if started else ENDED, timeout)
    if as_json:
        show_json(jobs)
    else:
        show_text("\n".join(printable(f"{job} {job.state}") for job in jobs))
    if any(job.state in ("failed", "cancelled") for job in jobs):
        raise click.exceptions.Exit(FAILED)


def _wait(names: Sequence[str], server: str | None, done: Sequence[str], timeout: int | None) -> list[Job]:
    """Return the jobs, once all are in one of these states; Failure after `timeout` seconds."""
    from cosched.client.waiting import pauses

    heard: float | None = None
    left = list(names)
    for pause in pauses(timeout):
        time.sleep(pause)
        try:
            jobs, left = _look(names, server, done)
            heard = time.monotonic()
            if not left:
                return jobs
        except Failure:
            if heard is None or time.monotonic() > heard + AWAY:
                raise
    raise Failure(printable(f"not yet: {', '.join(left)}"), FAILED)


def _look(names: Sequence[str], server: str | None, done: Sequence[str]) -> tuple[list[Job], list[str]]:
    """Return the jobs as they are now, and what is still waited for, in words."""
    jobs, left = [], []
    for name in names:
        if names_job(name):
            with connected(server, name) as client:
                jobs.append(client.job(name))
            continue
        with members(name, server) as group:
            for domain, problem in group.unasked.items():
                raise Failure(printable(f"{domain}: {problem}"), FAILED)
            jobs += [job for _, job in group.jobs]
            if any(job.started_at is None for _, job in group.jobs):  # else they have gone on without
                left += [f"{name} on {domain} (not submitted)" for domain in group.unsubmitted]
    return jobs, left + [f"{job} ({job.state})" for job in jobs if job.state not in done]
