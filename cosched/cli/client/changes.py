"""`cosched cancel`, `link`, `unlink` and `release`: commands that change submitted jobs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.client.connection import connected, in_words, server_option
from cosched.cli.client.explain import tell_near_names
from cosched.cli.client.jobs import JOB_ANYWHERE, JOB_ID, group_options, pair_options
from cosched.cli.client.successors import tell_who_waits
from cosched.cli.client.terms import terms_options
from cosched.cli.client.windows import WHEN, check_windows, pair_apart, window_options, windows_of
from cosched.cli.client.wording import mate_found
from cosched.cli.output.failures import FAILED
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say, show_text

if TYPE_CHECKING:
    from cosched.client import Client

WITH_NODES = ("ready", "holding")


@click.command()
@click.argument("jobs", metavar="ID...", nargs=-1, required=True, type=JOB_ID)
@click.option("--final", is_flag=True, help="No other job will be submitted in its place: its mates wait for none.")
@server_option
def cancel(jobs: tuple[str, ...], final: bool, server: str | None) -> None:
    """Cancel jobs in any state. Their mates are not cancelled; they start alone, or with others of the group.

    The setting on_member_lost of each other domain says what its job does then. First the mates of a job that has not
    started wait a while for another job in its place, as successor_patience of their domains has it; not with --final.

    Every job is tried; the exit code is 1 if one of them could not be cancelled.
    """
    failed = False
    with connected(server, jobs[0]) as client:
        from cosched.client import ClientError, Unreachable

        for name in jobs:
            try:
                before = _is_cancelled(client, name) if final else False
                job = client.cancel(name, final=final)
                _done(f"job {job} {'was cancelled' if job.state == 'cancelled' else 'is being cancelled'}")
                if before:
                    say(printable(f"that was before: cosched unlink, of a mate of {job} that waits, ends its wait"))
                if before or not final:
                    tell_who_waits(client, job)
            except Unreachable:
                raise
            except ClientError as error:
                failed = True
                say(printable(f"cosched: {name}: {in_words(error)}"))
    if failed:
        raise click.exceptions.Exit(FAILED)


def _is_cancelled(client: Client, name: str) -> bool:
    """Return whether the job was cancelled before, so that it is too late to do so for good."""
    from cosched.client import ClientError

    try:
        return client.job(name).state == "cancelled"
    except ClientError:  # the cancellation says why
        return False


@click.command()
@click.argument("job", metavar="ID", type=JOB_ID)
@click.argument("mate", metavar="[DOMAIN:ID]", required=False, type=JOB_ANYWHERE)
@pair_options
@group_options
@window_options
@terms_options
@server_option
def link(job: str, mate: str | None, pair: str | None, group: str | None, server: str | None, **how: Any) -> None:
    """Name the mate of a job, by its domain and id or by a pair name, or the group that it joins.

    The job may wait, be ready or hold. If it has another mate, or is in another group, this one replaces it; a job that
    has its nodes keeps them and asks for the others. No job of the pair or group may run yet, and the other domains
    must agree (or --or-alone).
    """
    if sum(name is not None for name in (mate, pair, group)) != 1:
        raise click.UsageError("give the mate as DOMAIN:ID, or --pair NAME, or --group NAME --with DOMAIN,...")
    if how["pair_domain"] and pair is None:
        raise click.UsageError("--pair-domain needs --pair")
    how["members"], how["ends_with"] = how["members"] or (), how["ends_with"] or ()
    if (group is None) != (not how["members"]):
        raise click.UsageError("--group needs --with, the domains of its other jobs, and --with needs --group")
    asked = {"group": group, "pair": pair, **{key: how.pop(key) for key in WHEN & how.keys()}}
    check_windows(asked)
    with connected(server, job) as client:
        before = _others_before(client, job)
        if group is not None or any(asked[key] for key in WHEN & asked.keys()):
            domain = client.domain()
            named = pair_apart({**asked, **how}, domain)
            pair, group = named.get("pair"), named["group"]
            how = {key: named[key] for key in how.keys() & named.keys()}
            how |= {"windows": windows_of(asked, domain.name, how["members"]), "at": asked["at"]}
        linked = client.link(job, mate, pair=pair, group=group, **how)
        tell_near_names(client, linked)
    was = f" (was {', '.join(before)})" if before else ""
    to = f"group {linked.group.name}" if linked.group is not None else ", ".join(map(mate_found, linked.mates))
    _done(f"job {linked} was linked: {to}{was}")


def _others_before(client: Client, job: str) -> tuple[str, ...]:
    """Return the job's mate or group so far; where Slurm schedules, the domain does not know jobs without one."""
    from cosched.client import ClientError

    try:
        known = client.job(job)
    except ClientError as error:
        if error.reason != "JOB_NOT_FOUND":
            raise
        return ()
    return tuple(map(str, known.mates)) if known.group is None else (f"group {known.group.name}",)


@click.command()
@click.argument("job", metavar="ID", type=JOB_ID)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation if the job has its nodes and would start.")
@server_option
def unlink(job: str, yes: bool, server: str | None) -> None:
    """Dissolve a pair while neither job runs. Both jobs then start alone; a job that holds or is ready starts at once.

    A job of a group leaves it, and the others go on without it, as on_member_lost says.

    To give a job another mate, use cosched link.
    """
    with connected(server, job) as client:
        before = client.job(job)
        if before.state in WITH_NODES and not yes and sys.stdin is not None and sys.stdin.isatty():
            said = f"job {job} has its nodes: if it is unlinked, it starts at once, alone. Continue?"
            click.confirm(said, abort=True, err=True)
        unlinked = client.unlink(job)
    then = "and starts at once, alone" if unlinked.state in ("starting", "running") else "and will start alone"
    _done(f"job {unlinked} {'is in no group' if before.group else 'has no mate'} any more, {then}")


@click.command()
@click.argument("job", metavar="ID", type=JOB_ID)
@server_option
def release(job: str, server: str | None) -> None:
    """End a job's hold now: that of a job submitted with --hold, or, for operators, that of a holding job.

    A holding job gives its nodes back and is queued again, behind the others. If no other job wants its nodes, it is
    selected at once and holds again. To end its wait, link it with another mate, unlink it (it then starts alone) or
    cancel it.
    """
    with connected(server, job) as client:
        waited = client.job(job).reason == "JobHeldUser"
        released = client.release(job)
    if waited:
        _done(f"job {released} may be scheduled now")
        return
    again = f" and is {released.state} again" if released.state in WITH_NODES else ""
    done = f"the hold of job {released} was ended by force{again}: it may hold whenever it is selected"
    _done(f"{done}; to end its wait, link, unlink (it starts alone) or cancel it")


def _done(message: str) -> None:
    show_text(printable(message))
