"""Which jobs start with which: by names of pairs and groups, by ids, by adoption (coscheduling.md, Mates)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cosched.core.coscheduling.asked_early import PairName
from cosched.core.coscheduling.ledger import Ledger, PairedJob, Parted, membership
from cosched.core.coscheduling.mateless import MatelessJobs
from cosched.core.coscheduling.membership import Bond, Membership, all_but
from cosched.core.coscheduling.owners import NOBODY, SAME_NAMES, Owners
from cosched.core.job import WAITING, JobState
from cosched.core.protocol import (
    MAX_MEMBERS,
    Domain,
    Found,
    GetMateJobId,
    GetMember,
    JobId,
    Lookup,
    MateJobId,
    MateProblem,
    Named,
    array_of,
    named_group,
    named_mate,
)

UNSUBMITTED = MateJobId(Found.UNSUBMITTED, None)
# What is wrong with a mate in such a state
NOT_WAITING = {state: MateProblem[state.name] for state in JobState if state.final or state is JobState.RUNNING}
OF_GROUPS = ""  # in the place of a pair's peer, as of `Named`: groups have their names for themselves

MATE = Found.MATE  # a member that is read from its class takes 0.1 us in Python 3.11
NO_BOND = Bond((), False)

Key = tuple[Domain, str, str]  # peer, owner here, name


def never(_job: JobId) -> bool:
    """No job is held back."""
    return False


@dataclass(slots=True)
class Names:
    """The names and ids by which jobs of this domain are found.

    `adopting`: peers whose jobs may adopt any job of their owners. `held_back`: whether no job may adopt this one now.
    """

    ledger: Ledger
    owners: Owners = SAME_NAMES
    adopting: frozenset[Domain] = frozenset()
    held_back: Callable[[JobId], bool] = never
    _by_name: dict[Key, JobId] = field(default_factory=dict)
    _by_mate: dict[tuple[Domain, JobId], JobId] = field(default_factory=dict)
    _parted: dict[tuple[Domain, JobId], dict[JobId, None]] = field(default_factory=dict)  # jobs here, by former mate
    mateless: MatelessJobs = field(default_factory=MatelessJobs)

    # What owners say

    def check_free(self, job: JobId, named: Named, owner: str) -> PairedJob | None:
        """Check that a job of this owner may start with these; ValueError: that is another job's, or cannot be.

        Return the job here that has ended, and has had this name of this owner, or this mate, last.
        """
        for peer in named.terms.ends_with:
            if peer not in named.others:
                raise ValueError(f"job {job}: it is to end with a job on {peer}, and names none there")
        taken, before = self._called(named, owner)
        domain, others = self.ledger.domain, named.others
        if not named.is_pair:
            if domain in others or len(set(others)) < len(others):
                raise ValueError(f"group {named.name}: each domain has one member, and {domain} has this job")
            if not 0 < len(others) < MAX_MEMBERS:
                raise ValueError(f"group {named.name}: it has 2 to {MAX_MEMBERS} members, not {len(others) + 1}")
        if taken not in (None, job):
            its = f"job {job}: its pair is that of job {taken} already"
            raise ValueError(its if named.is_pair else f"group {named.name}: job {taken} is its member here already")
        return before

    def taken(self, named: Named, owner: str) -> JobId | None:
        """Return the job here, not ended, that has this name of this owner, or this mate."""
        return self._called(named, owner)[0]

    def _called(self, named: Named, owner: str) -> tuple[JobId | None, PairedJob | None]:
        """Return the job here that has this name of this owner, or this mate; and one that has ended, which had it."""
        found = [self._by_name.get((named.others[0] if named.is_pair else OF_GROUPS, owner, named.name))]
        if named.ids and named.is_pair:
            found += [self._by_mate.get(mate) for mate in named.ids]
        living, ended = None, None
        for id in found:
            if id is not None and not (job := self.ledger.jobs[id]).state.final:
                living = living or id
            elif id is not None and job.group is not None:
                ended = ended or job
        return living, ended

    def add(self, job: PairedJob, named: Named) -> PairedJob | None:
        """Note a submission; ValueError, and what is returned, as of `check_free`."""
        if job.id in self.ledger.jobs:
            raise ValueError(f"job {job.id}: its pair is that of job {job.id} already")
        before = self.check_free(job.id, named, job.owner)
        self.restore(job)
        return before

    def restore(self, job: PairedJob) -> None:
        """Take up a job as it was recorded."""
        self.ledger.jobs[job.id] = job
        self._enter(job)

    def link(self, job: PairedJob, named: Named) -> None:
        """The job starts with these now, who are free. A mate that it had cannot adopt it, once it is in a group."""
        self._erase(job)
        job.parted = None if named.is_pair else _parted(job)
        before, job.group = job.group, Membership.named(self.ledger.domain, named)
        job.adoptable = False
        if before is not None and job.group is not None and (before.others, before.name) == (named.others, named.name):
            job.group.bonds = before.bonds  # those others need not say it again
        self._enter(job)

    def unlink(self, job: PairedJob) -> None:
        """The job starts with nobody any more. The mate that it had cannot adopt it."""
        self._erase(job)
        job.parted = _parted(job)
        job.group, job.adoptable = None, False
        self._enter(job)

    def forget(self, job: PairedJob) -> None:
        """Drop a job."""
        del self.ledger.jobs[job.id]
        self._erase(job)

    def know(self, job: PairedJob, peer: Domain, other: JobId) -> None:
        """The id of the mate, or of the member there, is known now."""
        before = membership(job).jobs.get(peer, other)
        membership(job).know(peer, other)
        if job.is_pair:
            if before != other and self._by_mate.get((peer, before)) == job.id:
                del self._by_mate[peer, before]
            self._by_mate[peer, other] = job.id

    def take_asked_early(self, job: PairedJob) -> bool:
        """Return whether the job's mate has asked for it before it was submitted. Then that is known from now on."""
        early = self.mateless.early
        if not early.asked or (pair := job.pair) is None:
            return False
        caller = early.take(job.peer, PairName(job.owner, pair))
        if caller is not None and job.mate is None:
            self.know(job, job.peer, caller)
        return caller is not None

    # What peers ask

    def owner_here(self, peer: Domain, owner: str) -> str:
        """Return what a user of the peer is called here; NOBODY: no user here is this one."""
        return owner if self.owners is SAME_NAMES else self.owners.here(peer, owner)

    def may_adopt(self, peer: Domain, *, adoptable: bool, held: bool) -> bool:
        """Return whether a job of the peer that names a job here, which names nobody, may have it start with itself.

        Its owner says so of the job (`adoptable`), or this domain of the peer; never while its owner holds it back.
        """
        return (adoptable or peer in self.adopting) and not held

    def is_for(self, peer: Domain, request: Lookup, job: PairedJob) -> bool:
        """Return whether the job is this owner's, and the peer may hear of it: it names a job there, or may be adopted.

        The peer cannot tell all others from jobs that do not exist, whatever numbers it tries.
        """
        return job.owner == self.owner_here(peer, request.owner) and (
            peer in job.peers or self.may_adopt(peer, adoptable=job.adoptable, held=self.held_back(job.id))
        )

    def starting_with(self, peer: Domain, caller: JobId, job: JobId) -> PairedJob | None:
        """Return this job if the peer's job `caller`, which has asked for its id before, starts together with it."""
        local = self.ledger.jobs.get(job)
        return local if local is not None and local.group is not None and local.group.jobs.get(peer) == caller else None

    def is_mate(self, peer: Domain, caller: JobId, job: JobId) -> bool:
        """Return whether the two start together as mates, so that the caller may start the job by itself."""
        local = self.starting_with(peer, caller, job)
        return local is not None and local.is_pair

    def find(self, peer: Domain, request: Lookup, owner: str | None = None) -> PairedJob | None:
        """The job here that the caller asks for; one that has ended only if it was, or could have been, with it.

        `owner`: what the caller's owner is called here, if that is known.
        """
        owner = self.owner_here(peer, request.owner) if owner is None else owner
        if isinstance(request, GetMember):
            found = self._by_name.get((OF_GROUPS, owner, request.group))
        elif request.pair is not None:
            found = self._by_name.get((peer, owner, request.pair))
        else:
            found = request.mate if request.mate is not None else self._by_mate.get((peer, request.caller))
            found = self._successor(peer, request.caller, found)
        local = self.ledger.jobs.get(found) if found is not None else None
        if local is None or not local.state.final:
            return local
        other = membership(local).jobs.get(peer) if isinstance(request, GetMember) else local.mate
        is_of_it = other in (None, request.caller) and local.owner == owner
        return local if is_of_it else None  # else its name may be used again

    def _successor(self, peer: Domain, caller: JobId, found: JobId | None) -> JobId | None:
        """Return the job that was found by its id, or the one that the caller has for a mate in its place."""
        named = self.ledger.jobs.get(found or "")
        if named is None or not named.state.final or named.mate != caller:
            return found
        later = self.ledger.jobs.get(self._by_mate.get((peer, caller), ""))
        return found if later is None or later.state.final else later.id

    def answer(self, peer: Domain, request: Lookup) -> MateJobId:
        """Return which job here starts with the caller."""
        if not self.ledger.enabled:
            return no_pair(MateProblem.OFF)
        owner = self.owner_here(peer, request.owner)
        if owner == NOBODY:
            return no_pair(MateProblem.UNKNOWN)
        answer = (
            self._member(peer, request, owner) if isinstance(request, GetMember) else self._mate(peer, request, owner)
        )
        task = array_of(request.pair or "") if answer is UNSUBMITTED and isinstance(request, GetMateJobId) else None
        if task is not None and self.taken(named_mate(peer, task[0]), owner) is not None:
            return no_pair(MateProblem.ARRAY)
        return self.mateless.instead(answer, peer, owner, request) if answer.job is None and self.mateless else answer

    def _mate(self, peer: Domain, request: GetMateJobId, owner: str) -> MateJobId:
        """A job that names no id yet takes the caller's, and one that names nobody is adopted if that may be."""
        local = self.find(peer, request, owner)
        group = None if local is None else local.group
        known = group is not None and group.is_pair and group.jobs.get(peer) == request.caller
        if local is not None and group is not None and known and local.owner == owner:
            says_terms = group.bonds or request.ends_with or request.fail_together
            return self.joins(local, peer, request) if says_terms else _mate_found(local)  # they know each other
        if self._parted and self._was_unlinked(peer, request, local):
            return no_pair(MateProblem.UNLINKED)
        if local is None and request.pair is not None:
            return self._unsubmitted(peer, request, PairName(owner, request.pair))
        problem = self._problem(peer, request, local)
        if local is None or problem is not None:
            return no_pair(problem)
        if local.group is None:
            local.group = Membership.named(self.ledger.domain, named_mate(peer))
        return self.joins(local, peer, request)

    def joins(self, job: PairedJob, peer: Domain, request: Lookup) -> MateJobId:
        """The caller starts with this job, unless they would end with each other, perhaps by way of others."""
        group = membership(job)
        if request.ends_with and group.closes_circle(peer, request.ends_with):
            return no_pair(MateProblem.CIRCLE)
        if group.jobs.get(peer) != request.caller:
            self.know(job, peer, request.caller)
        if not self.knows_bond(job, peer, request):
            bond = Bond(request.ends_with, request.fail_together)
            group.bonds = all_but(peer, group.bonds) if bond == NO_BOND else {**group.bonds, peer: bond}
            self.ledger.changed[job.id] = None
        return _mate_found(job)

    @staticmethod
    def knows_bond(job: PairedJob, peer: Domain, request: Lookup) -> bool:
        """Return whether it is known here what the caller does when others end."""
        known = NO_BOND if job.group is None else job.group.bonds.get(peer, NO_BOND)
        return known == Bond(request.ends_with, request.fail_together)

    def _was_unlinked(self, peer: Domain, request: GetMateJobId, local: PairedJob | None) -> bool:
        """Return whether the owner has unlinked the caller from the job that it asks for."""
        if local is not None:
            return local.is_parted_from(peer, request.caller)
        if request.mate is not None and request.pair is None:
            return False
        names = (self.ledger.jobs[job].parted for job in self._parted.get((peer, request.caller), ()))
        return any(request.pair is None or (had and had.pair in (None, request.pair)) for had in names)

    def _unsubmitted(self, peer: Domain, request: GetMateJobId, pair: PairName) -> MateJobId:
        """No job here has the pair's name. Perhaps the caller takes a group of its owner for a pair."""
        self.mateless.early.note(peer, request.caller, pair)
        member = self.ledger.jobs.get(self._by_name.get((OF_GROUPS, *pair), ""))
        of_group = member is not None and not member.state.final and peer in member.peers
        return no_pair(MateProblem.OTHER_DOMAINS) if of_group else UNSUBMITTED

    def _problem(self, peer: Domain, request: GetMateJobId, local: PairedJob | None) -> MateProblem | None:
        """Return why the local job that was found (or else is named) cannot be the caller's mate; None: it can."""
        named = local or self.ledger.jobs.get(request.mate or "")
        if named is None or not self.is_for(peer, request, named):
            return MateProblem.UNKNOWN
        if local is None:  # it has ended, with another mate
            return NOT_WAITING[named.state]
        group = local.group
        mate = group.jobs.get(peer) if group is not None else None
        if group is not None and (not group.is_pair or peer not in group.others):
            return MateProblem.TAKEN
        if mate not in (None, request.caller):
            return NOT_WAITING.get(local.state, MateProblem.TAKEN)
        if mate is not None or request.pair is not None:
            return None
        return NOT_WAITING.get(local.state) or (MateProblem.NAMES_PAIR if local.pair is not None else None)

    def _member(self, peer: Domain, request: GetMember, owner: str) -> MateJobId:
        """A member that does not know the caller's id yet takes it.

        A domain has one job of a group that has not ended: an earlier one that was known has ended, and is replaced.
        """
        if (request.windows or request.at is not None) and not self.ledger.settings.slots:
            return no_pair(MateProblem.NO_SLOTS)
        job: PairedJob | MateProblem | None = self.find(peer, request, owner)
        if job is None:
            if self.taken(named_mate(peer, request.group), owner) is not None:
                return no_pair(MateProblem.OTHER_DOMAINS)
            if request.member is None:
                self.mateless.early.note(peer, request.caller, PairName(owner, request.group), of_group=True)
                return UNSUBMITTED
            job = self._adopted(peer, request)
        if isinstance(job, MateProblem):
            return no_pair(job)
        group = membership(job)
        if request.member not in (None, job.id):
            return no_pair(MateProblem.TAKEN)
        if request.domains != group.domains or peer not in group.others:
            return no_pair(MateProblem.OTHER_DOMAINS)
        if (request.windows, request.at) != (group.named_windows, group.at):
            return no_pair(MateProblem.OTHER_WINDOWS)
        may_change = job.state in WAITING and not group.is_starting
        if group.jobs.get(peer, request.caller) != request.caller and not may_change:
            return no_pair(MateProblem.TAKEN)
        return self.joins(job, peer, request)

    def _adopted(self, peer: Domain, request: GetMember) -> PairedJob | MateProblem:
        """Return the job that the caller names by its id and adopts, a member from now on; else why it cannot be."""
        job = self.ledger.jobs.get(request.member or "")
        if job is None or not self.is_for(peer, request, job):
            return MateProblem.UNKNOWN
        if job.group is not None or job.state is not JobState.QUEUED:
            return NOT_WAITING.get(job.state, MateProblem.TAKEN)
        here = self.ledger.domain
        if {here, peer} - {*request.domains}:
            return MateProblem.OTHER_DOMAINS
        others = tuple(domain for domain in request.domains if domain != here)
        named = named_group(request.group, others, windows=request.windows, at=request.at)
        job.group = Membership.named(here, named)
        self._enter(job)
        return job

    # The names

    @staticmethod
    def _key(job: PairedJob) -> Key | None:
        """Return the name by which the job is found; None: it has none."""
        if job.group is None or not job.group.name:
            return None
        return job.group.others[0] if job.group.is_pair else OF_GROUPS, job.owner, job.group.name

    def _enter(self, job: PairedJob) -> None:
        lives, group = job.state in WAITING, job.group
        if (key := self._key(job)) is not None and (lives or self._is_last(job, self._by_name.get(key))):
            self._by_name[key] = job.id
        mate = job.mate if group is not None and group.jobs else None
        if mate is not None and (lives or self._is_last(job, self._by_mate.get((job.peer, mate)))):
            self._by_mate[job.peer, mate] = job.id
        if job.parted is not None:
            self._parted.setdefault(job.parted[:2], {})[job.id] = None

    def _is_last(self, job: PairedJob, known: JobId | None) -> bool:
        """Return whether a name means this job: one that is recalled after its end may have had it before others."""
        other = self.ledger.jobs.get(known or "")
        if not job.state.final or other is None:
            return True
        return other.state.final and (other.ended_at or 0) <= (job.ended_at or 0)

    def _erase(self, job: PairedJob) -> None:
        key, mate = self._key(job), (job.peer, job.mate or "")
        if key is not None and self._by_name.get(key) == job.id:
            del self._by_name[key]
        if self._by_mate.get(mate) == job.id:
            del self._by_mate[mate]
        if job.parted is not None and (jobs := self._parted.get(job.parted[:2])) is not None:
            jobs.pop(job.id, None)
            if not jobs:
                del self._parted[job.parted[:2]]
        self.ledger.wanted.pop(job.id, None)


def _parted(job: PairedJob) -> Parted | None:
    """Return the mate from which the job is unlinked; None: none is known."""
    return None if job.mate is None else Parted(job.peer, job.mate, job.pair or "")


def _mate_found(job: PairedJob) -> MateJobId:
    return MateJobId(MATE, job.id, NOT_WAITING.get(job.state))


def no_pair(problem: MateProblem | None = None) -> MateJobId:
    """Answer GetMateJobId, or GetMember: there is no such pair, or group."""
    return MateJobId(Found.NO_PAIR, None, problem)
