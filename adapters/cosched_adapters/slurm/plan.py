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
from types import MappingProxyType

from cosched_adapters.batch_system import Foreseen
from cosched_adapters.profile import FOREVER, LATE, LICENCES, WHOLE, Amounts, Asks, Opening, Profile, Waiting
from cosched_adapters.slurm.machine import MachineJob, nodes_of
from cosched_adapters.slurm.reservations import Reservation, whose
from cosched_adapters.slurm.wants import Node

_UNKNOWN = Node()
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
        nodes: Mapping[str, Node] = MappingProxyType({}),
        licences: Amounts = MappingProxyType({}),
    ) -> None:
        self.now, self._partitions = now, partitions
        self._room = {LICENCES: licences, **{name: node.room for name, node in nodes.items()}}
        self._jobs = {job.job_id: job for job in jobs}
        self._reservations = list(reservations)
        waiting = (job for job in self._jobs.values() if job.queued and not job.kept_back and job.reservation is None)
        self.queue = sorted(waiting, key=_rank)  # the jobs that wait for nodes, as far as Slurm may choose them now
        self._suited = cache(
            lambda names, wants: frozenset(
                name for name in nodes_of(names, partitions) if wants.suited(name, nodes.get(name, _UNKNOWN))
            )
        )

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
        profile, among = self._profile(job), self._nodes_of(job)
        first = next((other for other in self._before(job) if self._compete(other, job)), job)
        if first is job or first.job_id in ready:
            return _turn(profile.fits(job.count, job.limit, among, asks=job.wants.asks))
        if first.wants.uncounted:  # we cannot tell what it would lose
            return None
        return _beside(profile, first, self._nodes_of(first), job, among, budget, guards)

    def waiting(self) -> set[str]:
        """Return the jobs that have not started."""
        return {job.job_id for job in self._jobs.values() if job.queued}

    def is_free(self, job_id: str, at: int, nodes: Collection[str]) -> bool:
        """Return whether the job, which is queued or ready on nodes of its own, could have these nodes from `at` on."""
        job = self._jobs.get(job_id)
        asked = None if job is None else (job.count, job.limit, at, nodes, job.wants.asks)
        found = None if asked is None else self._profile(job).earliest(*asked)
        return found is not None and found.at <= max(at, self.now)

    def leaves_to_slurm(self, job_id: str) -> bool:
        """Return whether we cannot tell where the job may run, or for how long."""
        return job_id not in self._jobs or bool(self.unplanned(job_id))

    def unplanned(self, job_id: str) -> str:
        """Return why no slot can be planned for a job, whatever runs; empty: one can, or it is unknown."""
        job = self._jobs.get(job_id)
        if job is None:
            return ""
        if _is_in_reservation_of_others(job):
            return f"it is in the reservation {job.reservation}"
        if not job.limit:
            return "it has no time limit"
        lacks = [f"{n} {name}" for name, n in job.wants.asks.licences.items() if n > self._room[LICENCES].get(name, 0)]
        if lacks:
            return f"the cluster has not the licences {', '.join(lacks)}"
        few = len(self._nodes_of(job)) < job.count
        return job.wants.uncounted or ("there are too few usable nodes that are as it wants them" if few else "")

    def asks(self, job_id: str) -> Asks:
        """Return what a job takes of its nodes, and its licences."""
        job = self._jobs.get(job_id)
        return WHOLE if job is None else job.wants.asks

    def earliest(self, job_id: str, not_before: int, paired: Collection[str]) -> Opening | None:
        """Return where a job, queued or ready on nodes of its own, could have a slot from `not_before` on, by rule 4.

        Its own slot is given back, and the first before it that does not fit now is reserved. `paired`: the jobs that
        wait for their mates. A ready job is first asked about on the nodes that it has.
        """
        job = self._jobs.get(job_id)
        if job is None or not _can_be_placed(job) or _is_in_reservation_of_others(job):
            return None
        profile = self._profile(job)
        asks = job.wants.asks
        if not_before <= self.now and (here := profile.fits(job.count, job.limit, job.nodes, asks=asks)) is not None:
            return here
        profile.take_turns(self._waiting(other, paired) for other in self._before(job))
        return profile.earliest(job.count, job.limit, not_before, self._nodes_of(job), asks)

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
        return Waiting(job.count, _length(job), self._nodes_of(job), job.job_id in paired, job.wants.asks)

    def _nodes_of(self, job: MachineJob) -> frozenset[str]:
        """Return the usable nodes on which a job may run."""
        return self._suited(job.partitions, job.wants)

    def _compete(self, job: MachineJob, other: MachineJob) -> bool:
        licences = job.wants.asks.licences.keys() & other.wants.asks.licences.keys()
        return bool(licences or self._nodes_of(job) & self._nodes_of(other))

    def _before(self, job: MachineJob) -> Iterator[MachineJob]:
        for other in self.queue:
            if _rank(other) >= _rank(job):
                return
            yield other

    def _profile(self, own: MachineJob | None = None) -> Profile:
        """Return what is free; the nodes that this job has, and its slot, are given back."""
        profile = Profile(self.now, frozenset().union(*self._partitions.values()), self._room)
        for job in self._jobs.values():
            if not job.queued and job is not own:
                profile.take(job.nodes, self.now, self._busy_until(job), job.wants.asks)
        for reservation in self._reservations:
            if own is None or not _is_for(own, reservation):
                asks = Asks(licences=reservation.licences)
                profile.take(reservation.nodes, reservation.start, reservation.end, asks)
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
    length, its, asks = _length(first), first.wants.asks, job.wants.asks
    if (turn := profile.fits(first.count, length, its_nodes, asks=its)) is not None:  # it has its turn first
        profile.take(turn.nodes, profile.now, profile.now + first.limit if first.limit else FOREVER, its)
        return _turn(profile.fits(job.count, job.limit, among, asks=asks))
    earliest = profile.earliest(first.count, length, profile.now, its_nodes, its)
    allowed = allowance(first.submitted, None if earliest is None else earliest.at, budget, guards.get(first.job_id))
    found = profile.fits(job.count, job.limit, among, earliest.nodes if earliest is not None else (), asks)
    if found is None or allowed.limit is None:
        return _turn(found)
    profile.take(found.nodes, profile.now, profile.now + job.limit, asks)
    pushed = profile.earliest(first.count, length, profile.now, its_nodes, its)
    if earliest is None or pushed is None or pushed.at > allowed.limit:
        return None
    return EarlyStart(found.nodes, first.job_id, allowed.guard, max(0, pushed.at - earliest.at))


def _rank(job: MachineJob) -> tuple[int, int, int]:
    return -job.priority, job.submitted, int(job.job_id)


def _can_be_placed(job: MachineJob) -> bool:
    return job.limit > 0 and job.count > 0 and not job.wants.uncounted and (not job.kept_back or job.delayed)


def _is_in_reservation_of_others(job: MachineJob) -> bool:
    return job.reservation is not None and whose(job.reservation) is None


def _is_for(job: MachineJob, reservation: Reservation) -> bool:
    """Return whether the reservation is a slot of the job's, or one that was booked for it a moment ago."""
    owner = whose(reservation.name)
    return owner is not None and owner[0] == job.job_id


def _length(job: MachineJob) -> int:
    return job.limit or FOREVER


def _turn(found: Opening | None) -> EarlyStart | None:
    return None if found is None else EarlyStart(found.nodes)
