"""Submits the jobs of a group, or of a pair, to all their domains: all of them, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cosched.client.calls import group_name
from cosched.client.client import Client
from cosched.client.errors import ClientError, Unreachable
from cosched.client.jobs import Job


class NotSubmitted(ClientError):  # noqa: N818
    """A domain did not take its job, so those that others had taken were cancelled. `str()` says all of it."""


def submit_together(group: str, jobs: Sequence[tuple[Client, Mapping[str, Any]]]) -> list[Job]:
    """Submit one job to each of several domains, as a group of this name; two are a pair. Return the jobs.

    `jobs`: a client of each domain, and the arguments for `Client.submit`, but for mates. All domains must answer
    before anything is submitted. NotSubmitted: one did not take its job, and the others' jobs were cancelled.
    ValueError as of `Client.submit`, ClientError if a domain does not answer: then nothing was submitted.
    """
    names = [client.domain().name for client, _ in jobs]
    group_name(group, names[1:])
    if names[0] in names[1:]:
        raise ValueError(f"group {group}: {names[0]!r} is named twice")
    done: list[tuple[Client, Job]] = []
    place = 0
    try:
        for place, (client, arguments) in enumerate(jobs):
            others = names[:place] + names[place + 1 :]
            done.append((client, client.submit(**arguments, group=group, members=others)))
    except ClientError as error:
        raise NotSubmitted(error.reason, _told(names[place], group, error, _undo(done)), error.metadata) from error
    except BaseException:
        _undo(done)
        raise
    return [job for _, job in done]


def _undo(done: Sequence[tuple[Client, Job]]) -> list[str]:
    """Cancel these jobs; what came of each, in words."""
    told = []
    for client, job in done:
        try:
            client.cancel(job)
            told.append(f"{job} was cancelled")
        except ClientError as error:
            told.append(f"{job} could not be cancelled: {error}: cancel it")
    return told


def _told(domain: str, group: str, error: ClientError, undone: Sequence[str]) -> str:
    unknown = f"; {domain} may have taken its job of {group} all the same: cancel it there"
    after = f"; {'; '.join(undone)}" if undone else "; nothing was submitted"
    return f"{domain}: {error}{unknown if isinstance(error, Unreachable) else ''}{after}"
