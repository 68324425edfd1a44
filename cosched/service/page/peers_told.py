"""What peers tell the page of their jobs, asked at most every few seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from cosched.client import Domain, Event, Job
from cosched.core.protocol import Domain as DomainName
from cosched.service.page.page_api import MAX_JOBS
from cosched.service.page.viewers import Viewer
from cosched.service.peers.peers import CallError, PeerClients
from cosched.v1 import cluster_pb2, explain_pb2, page_pb2

FRESH = 5.0  # seconds for which an answer is shown
MAX_KEPT = 1000  # answers
_ASKED = (cluster_pb2.PEER_STATE_REACHABLE, cluster_pb2.PEER_STATE_UNKNOWN)


@dataclass(frozen=True, slots=True)
class Told:
    """What a peer has told one viewer."""

    at: float
    problem: str = ""  # why it has not; empty: it has
    domain: Domain | None = None  # as it last described itself
    age: float = 0.0  # seconds since then
    jobs: Mapping[str, tuple[Job, tuple[Event, ...]]] = field(default_factory=dict)  # those that the viewer may see
    asked: frozenset[str] = frozenset()


class PeersTold:
    """The answers of all peers."""

    def __init__(self, here: DomainName, peers: PeerClients, patience: float, silent: Callable[[str], str]) -> None:
        """`patience`: seconds for an answer; then the page does without. `silent` says that a peer gives none."""
        self._silent = silent
        self._here = here
        self._peers = peers
        self._patience = patience
        self._told: dict[tuple[DomainName, str], Told] = {}
        self._room: dict[DomainName, asyncio.Semaphore] = {}
        self._last: dict[DomainName, tuple[Domain, float]] = {}  # how each has described itself, and when

    async def about(self, viewer: Viewer, wanted: Mapping[DomainName, Collection[str]]) -> dict[DomainName, Told]:
        """Return what these peers tell of these jobs, all asked at once."""
        found = await asyncio.gather(*(self._recent(peer, viewer.name or "", ids) for peer, ids in wanted.items()))
        return dict(zip(wanted, found, strict=True))

    async def allowed(self, viewer: Viewer, explained: explain_pb2.Explanation) -> explain_pb2.Explanation:
        """Return of an explanation what the viewer may know: of the mates as far as their domains allow."""
        wanted: dict[DomainName, list[str]] = {}
        for mate in explained.mates:
            if mate.job.job_id:
                wanted.setdefault(mate.job.domain, []).append(mate.job.job_id)
        return as_allowed(explained, await self.about(viewer, wanted))

    async def story(self, viewer: Viewer, peer: DomainName, job: str) -> Told:
        """Return what a peer tells of one job, with its whole story."""
        return await self._ask(peer, viewer.name or "", [job], stories=True)

    async def _recent(self, peer: DomainName, viewer: str, ids: Collection[str]) -> Told:
        known = self._told.get((peer, viewer))
        if known is not None and known.asked >= set(ids) and time.monotonic() - known.at < FRESH:
            return known
        told = await self._ask(peer, viewer, sorted(ids)[:MAX_JOBS], stories=False)
        self._told[peer, viewer] = told
        while len(self._told) > MAX_KEPT:
            del self._told[next(iter(self._told))]
        return told

    async def _ask(self, peer: DomainName, viewer: str, ids: list[str], *, stories: bool) -> Told:
        asked = frozenset(ids)
        if self._peers.view(peer).state not in _ASKED:
            return self._nothing(peer, self._silent(peer), asked)
        question = page_pb2.DescribeJobsRequest(domain=self._here, viewer=viewer, job_ids=ids, stories=stories)
        try:
            async with asyncio.timeout(self._patience), self._room.setdefault(peer, asyncio.Semaphore(4)):
                answer = await self._peers.describe(peer, question)
        except CallError as error:
            return self._nothing(peer, f"{peer} tells nothing: {error.problem}", asked)
        except TimeoutError:
            return self._nothing(peer, f"{peer} takes too long to answer", asked)
        jobs = {
            told.job_id: (Job(told.job), tuple(map(Event, told.events))) for told in answer.jobs if told.HasField("job")
        }
        now = time.monotonic()
        self._last[peer] = Domain(answer.domain), now
        return Told(now, "", Domain(answer.domain), jobs=jobs, asked=asked)

    def _nothing(self, peer: DomainName, problem: str, asked: frozenset[str]) -> Told:
        """Return what a peer said last of itself, as it says nothing now."""
        now = time.monotonic()
        domain, at = self._last.get(peer, (None, now))
        return Told(now, problem, domain, now - at, asked=asked)


def as_allowed(explained: explain_pb2.Explanation, told: Mapping[DomainName, Told]) -> explain_pb2.Explanation:
    """Return an explanation without what it tells of mates that their domains do not show to who asks."""
    allowed = explain_pb2.Explanation()
    allowed.CopyFrom(explained)
    for mate in allowed.mates:
        answer = told.get(mate.job.domain)
        if mate.job.job_id and (answer is None or mate.job.job_id not in answer.jobs):
            problem = (answer.problem if answer else "") or f"{mate.job.domain} lets you see nothing of it"
            mate.CopyFrom(explain_pb2.Outlook(job=mate.job, problem=problem))
            allowed.ClearField("together")
    return allowed
