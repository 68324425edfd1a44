"""Which local job is in which group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.coscheduling.mates import NOT_WAITING, UNSUBMITTED, WAITING, Mates, no_pair
from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import (
    MAX_MEMBERS,
    Domain,
    Found,
    GetMateJobId,
    GetMember,
    GroupName,
    JobId,
    MateJobId,
    MateName,
    MateProblem,
)


@dataclass
class Members:
    """The jobs of this domain that are in groups. `owners` as in `Mates`."""

    ledger: Ledger
    mates: Mates
    owners: Mapping[tuple[Domain, str], str] = field(default_factory=dict)
    _by_name: dict[tuple[str, str], JobId] = field(default_factory=dict)  # owner here, name of the group

    def check(self, named: GroupName, owner: str) -> None:
        """Check that a job of this owner may join this group here; ValueError."""
        domain = self.ledger.domain
        if domain in named.others or len(set(named.others)) < len(named.others):
            raise ValueError(f"group {named.name}: each domain has one member, and {domain} has this job")
        if not 0 < len(named.others) < MAX_MEMBERS:
            raise ValueError(f"group {named.name}: it has 2 to {MAX_MEMBERS} members, not {len(named.others) + 1}")
        taken = self.taken(named.name, owner)
        if taken is not None:
            raise ValueError(f"group {named.name}: job {taken} is its member here already")

    def taken(self, name: str, owner: str) -> JobId | None:
        """The job here, not ended, that is in this owner's group of this name."""
        found = self._by_name.get((owner, name))
        return None if found is None or self.ledger.jobs[found].state.final else found

    def join(self, job: PairedJob, named: GroupName) -> None:
        """The job is in this group from now on."""
        job.group = Membership.named(self.ledger.domain, named)
        self.restore(job)

    def restore(self, job: PairedJob) -> None:
        """Take up a member as it was recorded."""
        if job.group is None:
            return
        key = job.owner, job.group.name
        if job.state.final:
            self._by_name.setdefault(key, job.id)  # its name may have been given to another group
        else:
            self._by_name[key] = job.id

    def leave(self, job: PairedJob) -> None:
        """The job is in no group any more."""
        if job.group is not None and self._by_name.get((job.owner, job.group.name)) == job.id:
            del self._by_name[job.owner, job.group.name]
        job.group = None
        self.ledger.wanted.pop(job.id, None)

    def find(self, peer: Domain, request: GetMember) -> PairedJob | None:
        """The member here of the caller's group; one that has ended only if it was of the same group."""
        found = self._by_name.get((self.owners.get((peer, request.owner), request.owner), request.group))
        job = None if found is None else self.ledger.jobs.get(found)
        if job is None or job.group is None:
            return None
        reused = job.state.final and job.group.jobs.get(peer, request.caller) != request.caller
        return None if reused else job

    def answer(self, peer: Domain, request: GetMember) -> MateJobId:
        """GetMember; a member that does not know the caller's id yet takes it.

        A domain has one job of a group that has not ended: an earlier one that was known has ended, and is replaced.
        """
        if not self.ledger.settings.enabled:
            return no_pair(MateProblem.OFF)
        if (request.windows or request.at is not None) and not self.ledger.settings.slots:
            return no_pair(MateProblem.NO_SLOTS)
        job = self.find(peer, request)
        if job is None or job.group is None:
            pair = MateName(peer, request.group)
            paired = self.mates.taken(pair, self.mates.owner_here(peer, request.owner)) is not None
            return no_pair(MateProblem.OTHER_DOMAINS) if paired else UNSUBMITTED
        if request.domains != job.group.domains or peer not in job.group.others:
            return no_pair(MateProblem.OTHER_DOMAINS)
        if (request.windows, request.at) != (job.group.named_windows, job.group.at):
            return no_pair(MateProblem.OTHER_WINDOWS)
        if job.group.jobs.get(peer, request.caller) != request.caller and not _may_change(job):
            return no_pair(MateProblem.TAKEN)
        job.group.know(peer, request.caller)
        return MateJobId(Found.MATE, job.id, NOT_WAITING.get(job.state))

    def is_pair_of(self, peer: Domain, request: GetMateJobId) -> bool:
        """Whether the caller takes a group of its owner for a pair: it names fewer domains than the member here."""
        job = self.taken(request.pair or "", self.mates.owner_here(peer, request.owner))
        group = None if job is None else self.ledger.jobs[job].group
        return group is not None and peer in group.others

    def is_member(self, peer: Domain, caller: JobId, job: JobId) -> bool:
        """Whether the peer's job `caller`, which has asked for this id before, is in the same group as `job`."""
        local = self.ledger.jobs.get(job)
        return local is not None and local.group is not None and local.group.jobs.get(peer) == caller


def _may_change(job: PairedJob) -> bool:
    """Whether the job's group may get another member: none has started, and no start is under way."""
    group = job.group
    assert group is not None
    under_way = group.proposal or group.promise or group.agreement or group.slot or group.started_by
    return not under_way and job.state in WAITING
