"""What `cosched submit` tells of jobs that it has submitted."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

from cosched.cli.client.directives import foreign_directives
from cosched.cli.client.wording import group_found, mate_found
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say, show_text

if TYPE_CHECKING:
    from cosched.client import Client, Domain, Job

_ANSWER = 2.0  # seconds within which a peer that is there has answered


def look_up(client: Client, job_id: str) -> Job | None:
    """Return what the domain knows of a job in its batch system, and of its mates if their domains answer soon.

    Asking makes it look at the job, and only then it asks for the mates.
    """
    from cosched.client import ClientError
    from cosched.client.waiting import pauses

    job = None
    try:
        for pause in pauses(_ANSWER):
            time.sleep(pause)
            job = client.job(job_id)
            if all(mate.lookup is not None for mate in job.mates):
                break
        return job
    except ClientError as error:
        if error.reason != "JOB_NOT_FOUND":
            say(printable(str(error)))
        return None


def tell_id(job_id: str, domain: str, parsable: bool) -> None:
    """Print the job's id, which is all that a `parsable` output has."""
    show_text(printable(job_id if parsable else f"Submitted job {job_id} to {domain}"))


def tell_foreign(content: bytes, path: str, domain: Domain) -> None:
    """Tell the user that options for another resource manager are ignored."""
    for number, mark in foreign_directives(content):
        say(printable(f"{path}:{number}: {mark} lines are not read by {domain.name}: options stand in #COSCHED lines"))
        return


def tell_cap(job: Job, domain: Domain) -> None:
    """Tell the user if a job is too large to hold: it can only yield, and may wait long for a busy mate."""
    nodes = sum(domain.nodes.values())
    holds = domain.scheme == "hold" and not domain.slots
    if not (job.mates or job.group) or not holds or job.nodes <= int(Fraction(domain.max_held_fraction or "1") * nodes):
        return
    said = f"job {job.id} cannot hold its nodes for its {'group' if job.group else 'mate'}, only yield"
    say(f"{said}: {job.nodes} of {nodes} nodes are more than max_held_fraction, {domain.max_held_fraction}, allows")


def tell_mates(job: Job, parsable: bool) -> None:
    """Tell the user whom the job starts with; of a `parsable` output only what may be wrong with that."""
    if job.group is not None and not parsable:
        say(printable(group_found(job.group)))
    for mate in job.mates:
        if not parsable or mate.lookup in (None, "no_pair"):
            say(printable(mate_found(mate)))
