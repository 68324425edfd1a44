"""Which local job is whose mate: pair names, links by id, adoption (coscheduling.md, Mates)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cosched.core.coscheduling.asked_early import AskedEarly, PairName
from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.job import JobState
from cosched.core.protocol import Domain, Found, GetMateJobId, JobId, MateJobId, MateName, MateProblem

UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)
WAITING = (JobState.QUEUED, JobState.READY, JobState.HOLDING)
NOT_WAITING = {  # what is wrong with a mate in such a state
    JobState.RUNNING: MateProblem.RUNNING,
    JobState.COMPLETED: MateProblem.COMPLETED,
    JobState.FAILED: MateProblem.FAILED,
    JobState.CANCELLED: MateProblem.CANCELLED,
}


@dataclass(slots=True)
class Mates:
    """Who is whose mate among `jobs`. `owners` maps (peer, owner there) to the owner here where the names differ."""

    jobs: dict[JobId, PairedJob]
    owners: Mapping[tuple[Domain, str], str] = field(default_factory=dict)
    _by_pair: dict[tuple[Domain, str, str], JobId] = field(default_factory=dict)  # peer, owner here, name
    _by_mate: dict[tuple[Domain, JobId], JobId] = field(default_factory=dict)
    _parted: set[tuple[Domain, JobId]] = field(default_factory=set)
    _asked_early: dict[Domain, AskedEarly] = field(default_factory=dict)

    def add(self, job: PairedJob) -> None:
        """Note a submission; ValueError if a job that has not ended has that mate, or its owner's pair of that name."""
        taken = self.taken(job.named, job.owner)
        if job.id in self.jobs or taken is not None:
            raise ValueError(f"job {job.id}: its pair is that of job {taken or job.id} already")
        self.restore(job)

    def restore(self, job: PairedJob) -> None:
        """Take up a job as it was recorded."""
        self.jobs[job.id] = job
        self._enter(job)
        if job.parted is not None:
            self._parted.add(job.parted)

    def forget(self, job: PairedJob) -> None:
        """Drop a job."""
        del self.jobs[job.id]
        self._erase(job)

    def taken(self, named: MateName, owner: str) -> JobId | None:
        """The job here, not ended, that has this owner's pair name or this mate."""
        by_pair = self._by_pair.get((named.peer, owner, named.pair or ""))
        for found in (by_pair, self._by_mate.get((named.peer, named.mate or ""))):
            if found is not None and not self.jobs[found].state.final:
                return found
        return None

    def check_free(self, job: PairedJob, named: MateName) -> None:
        """Check that the job may name this mate; ValueError as of `add`."""
        taken = self.taken(named, job.owner)
        if taken not in (None, job.id):
            raise ValueError(f"job {job.id}: its pair is that of job {taken} already")

    def link(self, job: PairedJob, named: MateName) -> None:
        """The job names this mate now, which is free, and no other."""
        self._erase(job)
        self._part(job, None)
        job.peer, job.pair, job.mate, job.or_alone = named
        self._enter(job)

    def unlink(self, job: PairedJob) -> None:
        """The job has no mate any more. The mate that it had cannot adopt it."""
        self._erase(job)
        self._part(job, (job.peer, job.mate) if job.mate is not None else None)
        job.peer, job.pair, job.mate = "", None, None

    def settle(self, job: PairedJob, mate: JobId) -> None:
        """The mate's id is known now."""
        job.mate = mate
        self._by_mate[job.peer, mate] = job.id

    def answer(self, peer: Domain, request: GetMateJobId) -> MateJobId:
        """GetMateJobId: the job here that is the mate of the peer's job `request.caller`."""
        local = self.find(peer, request)
        if (peer, request.caller) in self._parted and (local is None or local.mate != request.caller):
            return no_pair(MateProblem.UNLINKED)
        if local is None and request.pair is not None:
            asked = PairName(self.owner_here(peer, request.owner), request.pair)
            self._asked_early.setdefault(peer, AskedEarly()).note(request.caller, asked)
            return UNSUBMITTED
        problem = self._problem(peer, request, local)
        if local is None or problem is not None:
            return no_pair(problem)
        if local.mate is None:
            local.peer = peer
            self.settle(local, request.caller)
        return MateJobId(Found.MATE, local.id, NOT_WAITING.get(local.state))

    def take_asked_early(self, job: PairedJob) -> bool:
        """Whether the job's mate has asked for it before it was submitted; forgets that."""
        early = self._asked_early.get(job.peer)
        return early is not None and job.pair is not None and early.take(PairName(job.owner, job.pair))

    def _problem(self, peer: Domain, request: GetMateJobId, local: PairedJob | None) -> MateProblem | None:
        """Why the local job that was found (or else is named) cannot be the caller's mate; None: it can."""
        named = local or self.jobs.get(request.mate or "")
        if named is None:
            return MateProblem.UNKNOWN
        if named.owner != self.owner_here(peer, request.owner):
            return MateProblem.OTHER_OWNER
        if local is None:  # it has ended, with another mate
            return NOT_WAITING[named.state]
        if local.group is not None or local.peer not in ("", peer) or local.mate not in (None, request.caller):
            return MateProblem.TAKEN
        if local.mate is not None or request.pair is not None:
            return None
        return NOT_WAITING.get(local.state) or (MateProblem.NAMES_PAIR if local.pair is not None else None)

    def is_mate(self, peer: Domain, caller: JobId, job: JobId) -> bool:
        """Whether the peer's job `caller`, which has asked for this id before, may ask about `job` and start it."""
        local = self.jobs.get(job)
        return local is not None and local.peer == peer and local.mate == caller

    def find(self, peer: Domain, request: GetMateJobId) -> PairedJob | None:
        """Find the mate: by the pair's name, by the id that the caller names, or as one that names the caller."""
        if request.pair is not None:
            found = self._by_pair.get((peer, self.owner_here(peer, request.owner), request.pair))
        elif request.mate is not None:
            found = request.mate
        else:
            found = self._by_mate.get((peer, request.caller))
        local = self.jobs.get(found) if found is not None else None
        if local is not None and local.state.final and not self._is_of(local, peer, request):
            return None  # that pair has ended, and its name may be used again
        return local

    def _is_of(self, local: PairedJob, peer: Domain, request: GetMateJobId) -> bool:
        """Whether a local job that has ended was, or could have been, the mate of the caller."""
        return local.mate in (None, request.caller) and local.owner == self.owner_here(peer, request.owner)

    def owner_here(self, peer: Domain, owner: str) -> str:
        """What a user of the peer is called here."""
        return self.owners.get((peer, owner), owner)

    def _enter(self, job: PairedJob) -> None:
        if job.pair is not None:
            self._by_pair[job.peer, job.owner, job.pair] = job.id
        if job.mate is not None:
            self._by_mate[job.peer, job.mate] = job.id

    def _erase(self, job: PairedJob) -> None:
        named, mate = (job.peer, job.owner, job.pair or ""), (job.peer, job.mate or "")
        if self._by_pair.get(named) == job.id:
            del self._by_pair[named]
        if self._by_mate.get(mate) == job.id:
            del self._by_mate[mate]

    def _part(self, job: PairedJob, mate: tuple[Domain, JobId] | None) -> None:
        if job.parted is not None:
            self._parted.discard(job.parted)
        job.parted = mate
        if mate is not None:
            self._parted.add(mate)


def no_pair(problem: MateProblem | None = None) -> MateJobId:
    """Answer GetMateJobId: there is no such pair."""
    return MateJobId(Found.NO_PAIR, None, problem)
