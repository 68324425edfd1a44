"""Another job in the place of one that is cancelled before its start: who waits for it, and how it is submitted."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from cosched.cli.client.batch_command import BatchCommand, NotTaken
from cosched.cli.client.terms import TERMS
from cosched.cli.client.wording import WAITING, local_time
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.client import Client, Job, Outlook
    from cosched_adapters.batch_system import Accepted

LOOKS = (0.0, 0.1, 0.2, 0.4, 0.8)  # seconds before each look at the mates, which hear of the end at once
PATIENCE = 30.0  # seconds in which a batch system ends a job that waits


def tell_who_waits(client: Client, job: Job) -> None:
    """Tell which mates of a job that was cancelled before its start wait for another in its place, and until when."""
    from cosched.client import ClientError

    known = [mate.id for mate in job.mates] + ([] if job.group is None else [other.id for other in job.group.members])
    if job.started_at is not None or not any(known):
        return
    mates: list[Outlook] = []
    with suppress(ClientError):  # what the command was for has been done
        for pause in LOOKS:
            time.sleep(pause)
            mates = [mate for mate in client.explain(job).mates if mate.id and mate.state in (None, *WAITING)]
            if all(mate.successor or mate.problem for mate in mates):
                break
    for mate in mates:
        if mate.successor:
            until, then = local_time(mate.successor.until), mate.successor.then
            say(printable(f"{mate} waits until {until} for another in its place, then {then} (--final: now)"))
        elif mate.state is None:
            unknown = f": {mate.problem}" if mate.problem else ""
            say(printable(f"{mate} may wait for another in its place for a while (--final: not){unknown}"))


def replace(client: Client, before: str, command: BatchCommand) -> Accepted:
    """Cancel a job that waits beside a batch system, and submit another one with the same mate or group there."""
    known = client.job(before)
    options = {**command.given, **_links(known, command.given)}
    options.pop("in_place_of", None)
    other = dataclasses.replace(command, given=options)
    other.checked(options)  # what cannot be is said before the old job is lost
    if known.state not in WAITING:
        raise Failure(printable(f"job {known} is {known.state}: only one that waits can be replaced"), FAILED)
    client.cancel(known, unless_started=True)
    _await_end(client, known)
    try:
        return other.submit()
    except (NotTaken, InputError) as error:
        said = error.message if isinstance(error, click.ClickException) else str(error)
        tell_who_waits(client, known)
        left = f"job {known} is cancelled, and no other is in its place: {said}; submit one by {_named(options)}"
        raise Failure(printable(left), FAILED) from None


def _await_end(client: Client, job: Job) -> None:
    """Wait until the batch system has ended the job: its name is not free before."""
    from cosched.client.waiting import ENDED, pauses

    for pause in pauses(PATIENCE):
        time.sleep(pause)
        if client.job(job).state in ENDED:
            return
    said = f"job {job} is to be cancelled, but its batch system has not ended it within {PATIENCE:.0f} s"
    raise Failure(printable(f"{said}: nothing was submitted"), FAILED)


def _links(job: Job, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that name the mate or the group of this job, and its terms unless others are given."""
    if job.group is not None:
        at = None if job.group.at is None else round(job.group.at.timestamp())
        shown: Any = job.group
        windows = {domain: tuple(round(each.total_seconds()) for each in of) for domain, of in shown.windows.items()}
        members = tuple(member.domain for member in job.group.members)
        links: dict[str, Any] = {"group": job.group.name, "members": members, "windows": windows, "at": at}
    elif job.mates:
        [shown] = job.mates
        links = {"pair": shown.pair, "pair_domain": shown.domain} if shown.pair else {"mate": str(shown)}
    else:
        raise Failure(printable(f"job {job} has no mate: cancel it, and submit the other one"), FAILED)
    if shown.terms is not None and not TERMS & given.keys():
        terms = shown.terms
        together = None if terms.together_for is None else round(terms.together_for.total_seconds())
        own = (terms.ends_with, terms.fail_together, terms.if_requeued, together)
        links |= dict(zip(("ends_with", "fail_together", "if_requeued", "together_for"), own, strict=True))
    return links | ({"or_alone": True} if shown.or_alone else {})


def _named(options: Mapping[str, Any]) -> str:
    if options.get("group") is not None:
        return f"--group {options['group']} --with {','.join(options['members'])}"
    return f"--pair {options['pair']}" if options.get("pair") else f"--mate {options['mate']}"
