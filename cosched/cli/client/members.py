"""The jobs of a group, or of a pair, on all its domains."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.cli.client.connection import connected, connected_to, is_named
from cosched.cli.client.wording import STATE_CODES
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.validation.group_names import names_job
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.client import Client, Job


@dataclass
class Members:
    """A group by name: its jobs, each with a client of its domain, and the domains that did not answer."""

    name: str
    jobs: list[tuple[Client, Job]]
    unsubmitted: list[str] = field(default_factory=list)  # domains
    unasked: dict[str, str] = field(default_factory=dict)  # why nobody knows, by domain


@contextmanager
def members(name: str, server: str | None) -> Iterator[Members]:
    """Yield the group, or pair, of this name that was submitted last, with open clients; Failure if there is none."""
    with ExitStack() as stack:
        client, job = _first(name, server, stack)
        group = Members(name, [(client, job)])
        for domain, id in _others(job):
            other, found, problem = _asked(domain, stack, name, id)
            if other is not None and found is not None:
                group.jobs.append((other, found))
            elif problem:
                group.unasked[domain] = problem
            else:
                group.unsubmitted.append(domain)
        yield group


@contextmanager
def one_of(name: str, server: str | None) -> Iterator[tuple[Client, str]]:
    """Yield a job, or a job of the group or pair of this name, with an open client of its domain; Failure: none."""
    with ExitStack() as stack:
        if names_job(name):
            yield stack.enter_context(connected(server, name)), name
        else:
            client, job = _first(name, server, stack)
            yield client, job.id


def _first(name: str, server: str | None, stack: ExitStack) -> tuple[Client, Job]:
    """Return the job of the group in the domain that is asked, or else in one whose address is known."""
    from cosched.client.defaults import named_domains

    known, asked = list(named_domains(os.environ)), ""
    if is_named(server) or not known:
        client = stack.enter_context(connected(server))
        if (job := _last(client, name)) is not None:
            return client, job
        asked = client.domain().name
    for domain in known:
        other, found, _ = _asked(domain, stack, name, None)
        if other is not None and found is not None:
            return other, found
    raise Failure(printable(f"no job of {asked or ', '.join(known)} is in a group or a pair {name}"), FAILED)


def _asked(domain: str, stack: ExitStack, name: str, id: str | None) -> tuple[Client | None, Job | None, str]:
    """Return the group's job on that domain with a client, or why the domain does not tell."""
    from cosched.client import ClientError

    try:
        client = stack.enter_context(connected_to(domain))
        return client, client.job(id) if id is not None else _last(client, name), ""
    except (InputError, ClientError) as error:
        return None, None, error.reason if isinstance(error, InputError) else str(error)


def _last(client: Client, name: str) -> Job | None:
    """Return the last job there of this group: of those that have not ended, if there are any."""
    found = client.jobs(group=name) or client.jobs(STATE_CODES, group=name)
    return found[-1] if found else None


def _others(job: Job) -> list[tuple[str, str | None]]:
    """Return the domains of the other members, and their ids as far as they are known."""
    if job.group is not None:
        return [(member.domain, member.id) for member in job.group.members]
    return [(mate.domain, mate.id) for mate in job.mates]
