"""Decides whether a job may have the mate that its user names, and when a link may be changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import grpc

from cosched.core.protocol import Domain, Found, GroupName, JobId, MateJobId, MateName, Named, StartJob, TryStartMate
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.wrong_mates import WAY_OUT, wrong_mate, wrong_member

LOOK = 0.05  # seconds


def peer_meant(named: Domain, peers: Sequence[Domain]) -> Domain:
    """Return the named domain, or the only one of the `peers` if none is named; empty if there are several."""
    return named or (peers[0] if len(peers) == 1 else "")


def names(record: JobRecord, wanted: Named) -> bool:
    """Whether the job already names this mate, or this group, with the same choice about starting alone."""
    named = record.named
    return wanted == named or (isinstance(named, MateName) and wanted == named._replace(mate=None))


def refusal_of_mate(mate: MateName, answer: MateJobId | None) -> Refusal | None:
    """Return why a job cannot have this mate, by its domain's answer (None: no answer); None if there is no reason."""
    if mate.or_alone or answer is None or (answer.found is not Found.NO_PAIR and answer.problem is None):
        return None
    said = wrong_mate(mate.peer, mate.mate or answer.job, mate.pair, answer.problem)
    return no_pair(f"{said}; {WAY_OUT}", answer)


def refusal_of_group(group: GroupName, answers: Mapping[Domain, MateJobId]) -> Refusal | None:
    """Return why a job cannot be in this group, by the answers of the other domains; None if there is no reason."""
    for peer, answer in answers.items():
        if not group.or_alone and (answer.found is Found.NO_PAIR or answer.problem is not None):
            return no_pair(wrong_member(peer, group.name, answer.problem, dict(group.ids).get(peer)), answer)
    return None


def no_pair(message: str, answer: MateJobId | None = None) -> Refusal:
    """Return the refusal that there is no such mate."""
    said = {"problem": answer.problem.value} if answer is not None and answer.problem is not None else {}
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_PAIR", message, said)


async def until_linkable(domain: LiveDomain, job: JobId) -> None:
    """Wait while the job's mate may be starting. The peer's answer, at most peer_patience later, decides this."""
    while (paired := domain.core.jobs.get(job)) and type(paired.call) in (TryStartMate, StartJob):
        await asyncio.sleep(LOOK)
