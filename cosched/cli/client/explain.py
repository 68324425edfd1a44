"""`cosched explain`: when a job and its mates are expected to start, and why they wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import json_option, server_option
from cosched.cli.client.jobs import JOB_OR_GROUP
from cosched.cli.client.members import one_of
from cosched.cli.client.wording import expected, place, windows_found
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say, show_json, show_text

if TYPE_CHECKING:
    from cosched.client import Client, Explanation, Job, Outlook


@click.command()
@click.argument("name", metavar="ID|GROUP", type=JOB_OR_GROUP)
@json_option
@server_option
def explain(name: str, as_json: bool, server: str | None) -> None:
    """Say when a job is expected to start, and its mate or group, why each waits, and what changes that.

    Expected starts are the scheduler's plan, if no further job comes; it says how good the last such
    estimates were. The domains of mates are asked. A group, or a pair by its name, is found as by cosched show.
    """
    with one_of(name, server) as (client, job):
        found = explained(client, [job])
        group = None if as_json else client.job(job).group
    if not found:
        raise Failure("this domain does not tell when jobs start: its version is older", FAILED)
    if as_json:
        show_json(found[0])
    else:
        window = windows_found(group).removeprefix("; ") if group is not None else ""
        show_text("\n".join(map(printable, lines(found[0], window))))


def explained(client: Client, jobs: Sequence[Job | str]) -> list[Explanation]:
    """Return what is known of the starts of these jobs; nothing of a domain of an older version."""
    from cosched.client import ClientError

    try:
        return [client.explain(jobs[0])] if len(jobs) == 1 else client.explain_all(jobs)
    except ClientError as error:
        if error.reason != "UNIMPLEMENTED":
            raise
        return []


def tell_near_names(client: Client, job: Job) -> None:
    """Tell if the job waits for a mate by a name that its owner may have mistyped, here or there; else say nothing."""
    from cosched.client import ClientError

    seeks = [mate.id is None and mate.lookup != "no_pair" for mate in job.mates]
    seeks += [member.id is None for member in job.group.members] if job.group is not None else []
    if not any(seeks):
        return
    with suppress(ClientError):  # what the command was for has been done
        for mate in client.explain(job).mates:
            if mate.near:
                say(printable(mate.problem))


def lines(told: Explanation, window: str) -> Iterator[str]:
    """Yield what is told, for people. `window`: when the job's group starts, if that was given."""
    sides = (told.job, *told.mates)
    width = title_width(sides)
    for outlook in sides:
        yield f"{outlook!s:<{width}}{outlook.state or 'state not known'}".rstrip()
        yield from (f"  {title:<{width - 2}}{text}" for title, text in facts(outlook))
    if window:
        yield f"{'window':<{width}}{window}"
    if told.together:
        yield f"{'together':<{width}}{expected(told.together)}"


def title_width(sides: Sequence[Outlook]) -> int:
    """Return how wide the first column of a text about these jobs is, with a blank after the longest name."""
    return max(12, *(1 + len(printable(str(side))) for side in sides))


def facts(outlook: Outlook) -> Iterator[tuple[str, str]]:
    """Yield what is known of one job, by title."""
    if outlook.problem:
        yield "near" if outlook.near else "unknown", outlook.problem
    if outlook.start:
        yield "start", expected(outlook.start)
    if outlook.size:
        yield "size", outlook.size
    if outlook.position:
        yield "place", place(outlook)
    if outlook.reason:
        yield "why", outlook.reason.text
    if outlook.reason and outlook.reason.change:
        yield "change", outlook.reason.change
