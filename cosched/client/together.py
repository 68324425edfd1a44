"""Submits the jobs of a group, or of a pair, to all their domains: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cosched.client.async_client import AsyncClient
from cosched.client.calls import NO_WINDOWS, Instant, Windows, group_name
from cosched.client.client import Client
from cosched.client.errors import ClientError, Unreachable
from cosched.client.jobs import Job

Submitted = Callable[[dict[str, Any]], Job]  # submits a job that names the others so


class NotSubmitted(ClientError):  # noqa: N818
    """A domain did not take its job, so those that others had taken were cancelled. `str()` says all of it."""

    def __init__(self, domain: str, reason: str, message: str, metadata: Mapping[str, str]) -> None:
        super().__init__(reason, message, metadata)
        self.domain = domain


def submit_together(
    group: str,
    jobs: Sequence[tuple[Client, Mapping[str, Any] | Submitted]],
    windows: Windows = NO_WINDOWS,
    at: Instant | None = None,
) -> list[Job]:
    """Submit one job to each of several domains, as a group of this name; two are a pair. Return the jobs.

    `jobs`: a client of each domain, and the arguments for `Client.submit`, but for mates; `windows` and `at` are as
    there. In place of the arguments there may be a function that submits the job, by the command of the domain's batch
    system for one. It gets the arguments that name the others, and returns the job; ClientError if it was not taken.
    All domains must answer before anything is submitted. NotSubmitted: one did not take its job, and the others' jobs
    were cancelled. ValueError as of `Client.submit`, ClientError if a domain does not answer: then nothing was
    submitted.
    """
    plan = _Plan(group, [client.domain().name for client, _ in jobs], windows, at)
    done: list[tuple[Client, Job]] = []
    try:
        for place, (client, arguments) in enumerate(jobs):
            named = plan.named(place)
            done.append((client, arguments(named) if callable(arguments) else client.submit(**arguments, **named)))
    except ClientError as error:
        raise plan.failed(len(done), error, _undo(done)) from error
    except BaseException:
        _undo(done)
        raise
    return [job for _, job in done]


async def submit_together_async(
    group: str,
    jobs: Sequence[tuple[AsyncClient, Mapping[str, Any]]],
    windows: Windows = NO_WINDOWS,
    at: Instant | None = None,
) -> list[Job]:
    """Submit one job to each of several domains by their asyncio clients; see submit_together."""
    plan = _Plan(group, [(await client.domain()).name for client, _ in jobs], windows, at)
    done: list[tuple[AsyncClient, Job]] = []
    try:
        for place, (client, arguments) in enumerate(jobs):
            done.append((client, await client.submit(**arguments, **plan.named(place))))
    except ClientError as error:
        raise plan.failed(len(done), error, await _undo_async(done)) from error
    except BaseException:
        await _undo_async(done)
        raise
    return [job for _, job in done]


class _Plan:
    """The domains of a group whose jobs are submitted in this order; ValueError if they cannot be one."""

    def __init__(self, group: str, domains: Sequence[str], windows: Windows, at: Instant | None) -> None:
        group_name(group, domains[1:], windows, at)
        if domains[0] in domains[1:]:
            raise ValueError(f"group {group}: {domains[0]!r} is named twice")
        self._group, self._domains = group, domains
        self._when = {"windows": windows, "at": at}

    def named(self, place: int) -> dict[str, Any]:
        """Return how the job at this place names the others."""
        others = [*self._domains[:place], *self._domains[place + 1 :]]
        return {"group": self._group, "members": others, **self._when}

    def failed(self, place: int, error: ClientError, undone: Sequence[str]) -> NotSubmitted:
        """Return the error that the job at this place was not taken; `undone` tells what became of those before it."""
        domain = self._domains[place]
        unknown = f"; {domain} may have taken its job of {self._group} all the same: cancel it there"
        after = f"; {'; '.join(undone)}" if undone else "; nothing was submitted"
        told = f"{domain}: {error}{unknown if isinstance(error, Unreachable) else ''}{after}"
        return NotSubmitted(domain, error.reason, told, error.metadata)


def _undo(done: Sequence[tuple[Client, Job]]) -> list[str]:
    told = []
    for client, job in done:
        try:
            client.cancel(job)
            told.append(f"{job} was cancelled")
        except ClientError as error:
            told.append(f"{job} could not be cancelled: {error}: cancel it")
    return told


async def _undo_async(done: Sequence[tuple[AsyncClient, Job]]) -> list[str]:
    told = []
    for client, job in done:
        try:
            await client.cancel(job)
            told.append(f"{job} was cancelled")
        except ClientError as error:
            told.append(f"{job} could not be cancelled: {error}: cancel it")
    return told
