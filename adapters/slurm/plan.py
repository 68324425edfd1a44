"""When jobs may start out of their turn, and when they could start: rules 2 and 4 of docs/meet.md, for a cluster.

Slurm's own plans are of no use here: `--test-only` does not know the order of the queue, and a reservation is booked
over whatever Slurm has planned for jobs that wait. So this is computed from one look at the nodes, the jobs and the
reservations. Jobs run no longer than their time limits: what is late or still ending counts as busy for a while.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from cosched.adapters.batch_system import Foreseen
from cosched.adapters.profile import FOREVER, LATE, Opening, Profile, Waiting
from cosched.adapters.slurm.machine import MachineJob, nodes_of
from cosched.adapters.slurm.reservations import Reservation, whose

MARGIN = 1  # seconds after a job's end: Slurm refuses a reservation that begins just then


@dataclass(frozen=True, slots=True)
class Allowance:
    """Up to when wanted jobs may push the first job of the queue, and the guard that is to be kept for it."""

    limit: int | None  # None: there is no limit
    guard: int | None


@dataclass(frozen=True, slots=True)
class EarlyStart:
    """A job may start now, on these nodes. `guard`: to be kept for the job `first`, if it is not None.

    `pushed`: by how many seconds it pushes that job; None: it is not before its turn.
    """

    nodes: tuple[str, ...]
    first: str | None = None
    guard: int | None = None
    pushed: int | None = None


def allowance(submitted: int, earliest: int | None, budget: Fraction, guard: int | None) -> Allowance:
    """Return how far the first job may be pushed, by rule 2. `earliest`: when it could start; None: never."""
    if earliest is None:
        return Allowance(None, guard)
    latest = earliest + math.floor(budget * max(0, earliest - submitted))
    kept = latest if guard is None else guard
    return Allowance(min(max(kept, earliest), latest), kept)


class Plan:
    """One look at a cluster at the instant `now`: usable nodes of each partition, all jobs, all reservations."""

    def __init__(
        self,
        now: int,
        partitions: Mapping[str, Collection[str]],
        jobs: Iterable[MachineJob],
        reservations: Iterable[Reservation],
    ) -> None:
        self.now = now
        self._partitions = partitions
        self._jobs = {job.job_id: job for job in jobs}
        self._reservations = list(reservations)
        waiting = (job for job in self._jobs.values() if job.queued and not job.kept_back and job.reservation is None)
        self.queue = sorted(waiting, key=_rank)  # the jobs that wait for nodes, as far as Slurm may choose them now
        self._nodes_of = cache(lambda names: nodes_of(names, partitions))

    def may_start(
        self, job_id: str, budget: Fraction, guards: Mapping[str, int], ready: Collection[str]
    ) -> EarlyStart | None:
        """Return where a wanted job may start now, by rule 2, or None.

        `guards`: those that are kept for jobs. `ready`: jobs that wait for their mates, which have been ready. The job
        itself may be kept back, by us, since it has yielded.
        """
        job = self._jobs.get(job_id)
        if job is None or not job.queued or job.reservation is not None or not _can_be_placed(job):
            return None
        profile, among = self._profile(job), self._nodes_of(job.partitions)
        before = (other for other in self._before(job) if among & self._nodes_of(other.partitions))
        first = next(before, job)
        if first is job or first.job_id in ready:
            return _turn(profile.fits(job.count, job.limit, among))
        if first.wishes:  # we cannot tell what it would lose
            return None
        return _beside(profile, first, self._nodes_of(first.partitions), job, among, budget, guards)

    def waiting(self) -> set[str]:
        """Return the jobs that have not started."""
        return {job.job_id for job in self._jobs.values() if job.queued}

    def is_free(self, job_id: str, at: int, nodes: Collection[str]) -> bool:
        """Whether the job, which is queued or ready on nodes of its own, could have these nodes from `at` on."""
        job = self._jobs.get(job_id)
        found = None if job is None else self._profile(job).earliest(job.count, job.limit, at, nodes)
        return found is not None and found.at <= max(at, self.now)

    def leaves_to_slurm(self, job_id: str) -> bool:
        """Whether we cannot tell where the job may run, or for how long."""
        job = self._jobs.get(job_id)
        return job is None or job.wishes or not job.limit or _is_in_reservation_of_others(job)

    def earliest(self, job_id: str, not_before: int, paired: Collection[str]) -> Opening | None:
        """Return where a job, queued or ready on nodes of its own, could have a slot from `not_before` on, by rule 4.

        Its own slot is given back, and the first before it that does not fit now is reserved. `paired`: the jobs that
        wait for their mates. A ready job is first asked about on the nodes that it has.
        """
        job = self._jobs.get(job_id)
        if job is None or not _can_be_placed(job) or _is_in_reservation_of_others(job):
            return None
        profile = self._profile(job)
        if not_before <= self.now and (here := profile.fits(job.count, job.limit, job.nodes)) is not None:
            return here
        profile.take_turns(self._waiting(other, paired) for other in self._before(job))
        return profile.earliest(job.count, job.limit, not_before, self._nodes_of(job.partitions))

    def foresee(self, count: int, seconds: int, names: Collection[str], partition: str | None) -> Foreseen:
        """Return when a job would start that came now, behind all that wait, on nodes of these names or of a partition.

        `partition` None: of any.
        """
        profile = self._profile()
        profile.take_turns(map(self._waiting, self.queue))
        among = names or nodes_of(self._partitions if partition is None else [partition], self._partitions)
        found = profile.earliest(count, seconds, self.now, among)
        return Foreseen(None if found is None else found.at, self.now)

    def _waiting(self, job: MachineJob, paired: Collection[str] = ()) -> Waiting:
        """Return what a job of the queue wants; if it waits for its mate it is passed over."""
        return Waiting(job.count, _length(job), self._nodes_of(job.partitions), job.job_id in paired)

    def _before(self, job: MachineJob) -> Iterator[MachineJob]:
        for other in self.queue:
            if _rank(other) >= _rank(job):
                return
            yield other

    def _profile(self, own: MachineJob | None = None) -> Profile:
        """Return what is free; the nodes that this job has, and its slot, are given back."""
        profile = Profile(self.now, frozenset().union(*self._partitions.values()))
        for job in self._jobs.values():
            if not job.queued and job is not own:
                profile.take(job.nodes, self.now, self._busy_until(job))
        for reservation in self._reservations:
            if own is None or not _is_for(own, reservation):
                profile.take(reservation.nodes, reservation.start, reservation.end)
        return profile

    def _busy_until(self, job: MachineJob) -> int:
        if job.end is None:
            return FOREVER
        return job.end + MARGIN if job.end > self.now else self.now + LATE


def _beside(
    profile: Profile,
    first: MachineJob,
    its_nodes: frozenset[str],
    job: MachineJob,
    among: frozenset[str],
    budget: Fraction,
    guards: Mapping[str, int],
) -> EarlyStart | None:
    """Return where a job may start beside the first one of the queue, which it may push a little."""
    length = _length(first)
    if (turn := profile.fits(first.count, length, its_nodes)) is not None:  # it has its turn first
        profile.take(turn.nodes, profile.now, _end(profile.now, first))
        return _turn(profile.fits(job.count, job.limit, among))
    earliest = profile.earliest(first.count, length, profile.now, its_nodes)
    allowed = allowance(first.submitted, None if earliest is None else earliest.at, budget, guards.get(first.job_id))
    found = profile.fits(job.count, job.limit, among, after=earliest.nodes if earliest is not None else ())
    if found is None or allowed.limit is None:
        return _turn(found)
    profile.take(found.nodes, profile.now, profile.now + job.limit)
    pushed = profile.earliest(first.count, length, profile.now, its_nodes)
    if earliest is None or pushed is None or pushed.at > allowed.limit:
        return None
    return EarlyStart(found.nodes, first.job_id, allowed.guard, max(0, pushed.at - earliest.at))


def _rank(job: MachineJob) -> tuple[int, int, int]:
    return -job.priority, job.submitted, int(job.job_id)


def _can_be_placed(job: MachineJob) -> bool:
    return job.limit > 0 and job.count > 0 and not job.wishes and (not job.kept_back or job.delayed)


def _is_in_reservation_of_others(job: MachineJob) -> bool:
    return job.reservation is not None and whose(job.reservation) is None


def _is_for(job: MachineJob, reservation: Reservation) -> bool:
    """Whether the reservation is a slot of the job's, or one that was booked for it a moment ago."""
    owner = whose(reservation.name)
    return owner is not None and owner[0] == job.job_id


def _length(job: MachineJob) -> int:
    return job.limit or FOREVER


def _end(start: int, job: MachineJob) -> int:
    return start + job.limit if job.limit else FOREVER


def _turn(found: Opening | None) -> EarlyStart | None:
    return None if found is None else EarlyStart(found.nodes)
