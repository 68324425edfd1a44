"""Which local job is whose mate: pair names, links by id, adoption (coscheduling.md, Mates)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cosched.core.job import JobState
from cosched.core.protocol import Domain, Found, GetMateJobId, JobId, MateJobId

NO_PAIR = MateJobId(Found.NO_PAIR, None)
UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)


@dataclass(slots=True)
class PairedJob:
    """A local job that names, or was adopted by, a mate on the domain `peer`."""

    id: JobId
    peer: Domain
    pair: str | None
    mate: JobId | None
    owner: str
    state: JobState = JobState.QUEUED
    nodes: int = 0
    holds: int = 0
    generation: int = 0  # of its hold; the first hold is 1
    disclosed: bool = False  # a peer was told of the readiness that awaits its answer as of a hold
    yields: int = 0
    yielded_at: int | None = None  # the instant of the last yield
    ready_at: int | None = None  # its first RunJob
    started_at: int | None = None
    held_since: int = 0
    held_until: int = 0
    held_node_seconds: int = 0
    hold_limit: int = 0
    will_hold: bool = False  # what it does if its mate cannot start, decided when it asks
    alone: bool = False  # patience has ended: it does not wait for an unsubmitted mate any more
    calls: int = 0  # mutating calls made, for their request ids
    call: object = None  # the request whose answer it awaits
    call_since: int = 0
    uncertain: bool = False  # that call timed out once: it may have been carried out


@dataclass(slots=True)
class Mates:
    """The paired jobs of one domain. `owners` maps (peer, owner there) to the owner here where the names differ."""

    owners: Mapping[tuple[Domain, str], str] = field(default_factory=dict)
    jobs: dict[JobId, PairedJob] = field(default_factory=dict)
    _by_pair: dict[tuple[Domain, str], JobId] = field(default_factory=dict)
    _by_mate: dict[tuple[Domain, JobId], JobId] = field(default_factory=dict)

    def add(self, job: PairedJob) -> None:
        """Note a submission; ValueError if another job here has that pair name or that mate."""
        taken = self._by_pair.get((job.peer, job.pair)) if job.pair is not None else None
        if taken is None and job.mate is not None:
            taken = self._by_mate.get((job.peer, job.mate))
        if job.id in self.jobs or taken is not None:
            raise ValueError(f"job {job.id}: its pair is that of job {taken or job.id} already")
        self.jobs[job.id] = job
        if job.pair is not None:
            self._by_pair[job.peer, job.pair] = job.id
        if job.mate is not None:
            self._by_mate[job.peer, job.mate] = job.id

    def settle(self, job: PairedJob, mate: JobId) -> None:
        """The mate's id is known now."""
        job.mate = mate
        self._by_mate[job.peer, mate] = job.id

    def answer(self, peer: Domain, request: GetMateJobId) -> MateJobId:
        """GetMateJobId: the job here that is the mate of the peer's job `request.caller`."""
        local = self._find(peer, request)
        if local is None:
            return UNSUBMITTED if request.pair is not None else NO_PAIR
        owner = self.owners.get((peer, request.owner), request.owner)
        if local.owner != owner or local.peer != peer or local.mate not in (None, request.caller):
            return NO_PAIR
        if local.mate is None:
            if request.pair is None and not _may_be_adopted(local):
                return NO_PAIR
            self.settle(local, request.caller)
        return MateJobId(Found.MATE, local.id)

    def is_mate(self, peer: Domain, caller: JobId, job: JobId) -> bool:
        """Whether the peer's job `caller` may ask about and start the local `job`; it has asked for its id before."""
        local = self.jobs.get(job)
        return local is not None and local.peer == peer and local.mate == caller

    def _find(self, peer: Domain, request: GetMateJobId) -> PairedJob | None:
        """By the pair name, else by the id that the caller names, else a job that names the caller."""
        if request.pair is not None:
            found = self._by_pair.get((peer, request.pair))
        elif request.mate is not None:
            found = request.mate
        else:
            found = self._by_mate.get((peer, request.caller))
        return self.jobs.get(found) if found is not None else None


def _may_be_adopted(job: PairedJob) -> bool:
    """Whether a job that knows no mate's id may become the mate of one that names it."""
    waits = job.state in (JobState.QUEUED, JobState.READY, JobState.HOLDING)
    return waits and job.pair is None  # a pair name is a mate to come
