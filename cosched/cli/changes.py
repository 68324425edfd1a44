"""`cosched cancel`, `link`, `unlink` and `release`: what is changed of jobs that have been submitted."""

from __future__ import annotations

import click

from cosched.cli.connection import connected, server_option
from cosched.cli.failures import FAILED
from cosched.cli.jobs import JobId, pair_options
from cosched.cli.plain_text import printable
from cosched.cli.terminal import say
from cosched.cli.wording import mate_found


@click.command()
@click.argument("jobs", metavar="ID...", nargs=-1, required=True, type=JobId())
@server_option
def cancel(jobs: tuple[str, ...], server: str | None) -> None:
    """Cancel jobs, whatever they are doing. Their mates are not cancelled; they start alone.

    All are tried; the exit code is 1 if one of them could not be cancelled.
    """
    failed = False
    with connected(server) as client:
        from cosched.client import ClientError, Unreachable

        for name in jobs:
            try:
                job = client.cancel(name)
                _say(f"job {job} {'was cancelled' if job.state == 'cancelled' else 'is being cancelled'}")
            except Unreachable:
                raise
            except ClientError as error:
                failed = True
                _say(f"cosched: {name}: {error}")
    if failed:
        raise click.exceptions.Exit(FAILED)


@click.command()
@click.argument("job", metavar="ID", type=JobId())
@click.argument("mate", metavar="[DOMAIN:ID]", required=False, type=JobId(anywhere=True))
@pair_options
@server_option
def link(job: str, mate: str | None, pair: str | None, pair_domain: str, server: str | None) -> None:
    """Name the mate of a job that was submitted without one: by its domain and id, or by a pair name.

    Neither may run yet, and the mate's domain must agree.
    """
    if (mate is None) == (pair is None):
        raise click.UsageError("give the mate as DOMAIN:ID, or --pair NAME")
    if pair_domain and pair is None:
        raise click.UsageError("--pair-domain needs --pair")
    with connected(server) as client:
        linked = client.link(job, mate, pair=pair, pair_domain=pair_domain)
    _say(f"job {linked} was linked: {', '.join(map(mate_found, linked.mates))}")


@click.command()
@click.argument("job", metavar="ID", type=JobId())
@server_option
def unlink(job: str, server: str | None) -> None:
    """Dissolve a pair of which neither job runs. Both then start alone."""
    with connected(server) as client:
        unlinked = client.unlink(job)
    _say(f"job {unlinked} has no mate any more")


@click.command()
@click.argument("job", metavar="ID", type=JobId())
@server_option
def release(job: str, server: str | None) -> None:
    """End a job's hold now: that of a holding job, or the one that it was submitted with."""
    with connected(server) as client:
        released = client.release(job)
    _say(f"job {released} was released")


def _say(message: str) -> None:
    say(printable(message))
