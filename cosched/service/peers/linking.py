"""Decides whether a job may have the mate that its user names, and when a link may be changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import grpc

from cosched.core.protocol import Domain, Found, JobId, MateJobId, MateProblem, Named, StartJob, TryStartMate
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord
from cosched.service.wire.errors import Refusal
from cosched.words.wrong_mates import ANY_OF, WAY_OUT, wrong_mate, wrong_member

LOOK = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Coupled:
    """The configured `peers` of a domain, and the one that is meant where none is named; empty: there is none."""

    peers: Sequence[Domain]
    default: Domain = ""

    def meant(self, named: Domain) -> Domain:
        """Return the named domain, or that which is meant if none is; empty if there are several, or no peers."""
        return named or self.default or (self.peers[0] if len(self.peers) == 1 else "")

    @property
    def any(self) -> Domain:
        """What stands in the place of the mate's domain, if a job does not say which of several it means."""
        return ANY_OF.join(self.peers)


def names(record: JobRecord, wanted: Named) -> bool:
    """Return whether the job already names this mate, or this group, with the same choice about starting alone."""
    named = record.named
    return wanted == named or (named.is_pair and wanted == named.with_mate(None))


def refusal_of(named: Named, answers: Mapping[Domain, MateJobId]) -> Refusal | None:
    """Return why a job cannot start with these, by the answers of their domains; None if there is no reason."""
    for peer, answer in answers.items():
        if named.or_alone or (answer.found is not Found.NO_PAIR and answer.problem is None):
            continue
        if named.is_pair:
            said = wrong_mate(peer, named.mate or answer.job, named.pair, answer.problem)
            return no_pair(said if answer.problem is MateProblem.CIRCLE else f"{said}; {WAY_OUT}", answer)
        return no_pair(wrong_member(peer, named.name, answer.problem, dict(named.ids).get(peer)), answer)
    return None


def no_pair(message: str, answer: MateJobId | None = None) -> Refusal:
    """Return the refusal that there is no such mate."""
    said = {"problem": answer.problem.value} if answer is not None and answer.problem is not None else {}
    return Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_PAIR", message, said)


async def until_linkable(domain: LiveDomain, job: JobId) -> None:
    """Wait while the job's mate may be starting. The peer's answer, at most peer_patience later, decides this."""
    while mate_may_start(domain, job):
        await asyncio.sleep(LOOK)


async def until_settled(domain: LiveDomain, job: JobId) -> None:
    """Wait while a start of the job, or a slot, is being agreed on."""
    while (paired := domain.core.jobs.get(job)) is not None and paired.group is not None:
        group = paired.group
        if paired.call is None and not (group.proposal or group.promise or group.agreement):
            return
        await asyncio.sleep(LOOK)


def mate_may_start(domain: LiveDomain, job: JobId) -> bool:
    """Return whether a call is under way, or unanswered, that may have started the job's mate."""
    paired = domain.core.jobs.get(job)
    return paired is not None and type(paired.call) in (TryStartMate, StartJob)
