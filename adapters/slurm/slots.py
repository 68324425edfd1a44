"""Slots of jobs as reservations in Slurm: booking, moving and claiming them, and taking them away.

A reservation is taken away as soon as its job was let go, has yielded or has lost its slot: until then its nodes are
kept from others, and Slurm would end the job with it. The service may die at any step: `take_up` finds what is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from cosched.adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched.adapters.programs import until_it_answers
from cosched.adapters.slurm.book import Job, Phase
from cosched.adapters.slurm.calls import Slurm
from cosched.adapters.slurm.commands import NotPendingError
from cosched.adapters.slurm.reservations import Fault, ReservationError, new_name, whose
from cosched.adapters.slurm.sequences import Sequences

SPARE = 120  # seconds that a reservation is longer than its job, which may be let go late
NOW = 0  # the instant of a slot that begins when it is booked
_STILL_IN_USE = 0.2  # seconds between two tries to delete a reservation
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Slot:
    """The reservation `name` of a job's slot, from `at` on, in seconds since 1970, or NOW."""

    name: str
    at: int


class Slots:
    """The slots of one cluster's jobs."""

    def __init__(self, slurm: Slurm, sequences: Sequences) -> None:
        self._slurm = slurm
        self._sequences = sequences
        self._slots: dict[str, Slot] = {}
        self._making: set[str] = set()  # reservations that are not their jobs' slots yet
        self._sweeps = False

    def of(self, job_id: str) -> Slot | None:
        """Return the job's slot."""
        return self._slots.get(job_id)

    async def start_wanted(
        self,
        job: Job,
        now: int,
        budget: Fraction,
        guards: dict[str, int],
        ready: Collection[str],
        patience: float,
    ) -> bool:
        """Make Slurm offer a wanted job now, before its turn, if the budget allows it (docs/meet.md, 2).

        True: it is offered within `patience` seconds; `unbook` must follow. A guard that is fixed goes into `guards`.
        """
        turn = (await self._slurm.plan(now)).may_start(job.job_id, budget, guards, ready)
        if turn is None or not await self._reserve(job, turn.nodes, 0, now, NOW):
            return False
        if turn.first is not None and turn.guard is not None:
            guards[turn.first] = turn.guard
        return await self.claim(job, patience)

    async def quote(self, job: Job, now: int, not_before: int, paired: Collection[str]) -> int | None:
        """Return when the job could have a slot from `not_before` on (docs/meet.md, 4), or None."""
        found = (await self._slurm.plan(now)).earliest(job.job_id, not_before, paired)
        return None if found is None else found.at

    async def book(self, job: Job, generation: int, now: int, at: int, paired: Collection[str]) -> bool:
        """Give a job the slot `at` instead of any that it has, if `quote` would tell it now.

        False: it keeps what it had. A job that is offered needs no reservation of the nodes that it has.
        """
        if job.phase is Phase.OFFERED and at <= now:
            return True
        found = (await self._slurm.plan(now)).earliest(job.job_id, at, paired)
        if found is None or found.at > max(at, now):
            return False
        return await self._reserve(job, found.nodes, generation, now, at)

    async def claim(self, job: Job, patience: float) -> bool:
        """Return whether Slurm offers the job on the nodes of its slot, which has come. Else the slot is gone.

        Puts it into its reservation again: a slurmctld that was killed may have forgotten that.
        """
        slot = self._slots.get(job.job_id)
        if slot is None:
            return False
        try:
            await self._put_in(job, slot.name)
            if await self._sequences.try_start(job, patience):
                return True
        except (ReservationError, UnknownJobError, UnavailableError) as error:
            _LOG.info("job %s cannot have its slot: %s", job.job_id, error)
        await self.unbook(job.job_id)
        return False

    async def unbook(self, job_id: str) -> None:
        """Take the job's slot away, if it has one. It goes on where it is."""
        slot = self._slots.pop(job_id, None)
        if slot is not None:
            await self._remove(slot.name)

    def over(self, jobs: Mapping[str, Job]) -> list[str]:
        """Return the jobs that need their slots no more: they were let go, or have ended."""
        waiting = (Phase.QUEUED, Phase.CHOSEN, Phase.OFFERED, Phase.GIVING_BACK)
        return [job_id for job_id in self._slots if job_id not in jobs or jobs[job_id].phase not in waiting]

    def is_for_one_try(self, job_id: str) -> bool:
        """Whether the slot is one of `start_wanted`, which ends when the job yields."""
        slot = self._slots.get(job_id)
        return slot is not None and slot.at == NOW

    async def take_up(self, current: Mapping[str, int]) -> list[str]:
        """Take over the reservations of an earlier service for these jobs' slots, and remove all others of ours.

        `current`: when the slots are. Returns the names that were removed.
        """
        removed: list[str] = []
        inside = await self._slurm.jobs_inside()
        for found in await self._slurm.reservations():
            owner = whose(found.name)
            if owner is None:
                continue
            if current.get(owner[0]) == found.start and owner[0] in inside.get(found.name, ()):
                self._slots[owner[0]] = Slot(found.name, found.start)
                continue
            _LOG.warning("job %s: its reservation %s is nobody's slot any more", owner[0], found.name)
            await self._remove(found.name)
            removed.append(found.name)
        self._sweeps = True
        return removed

    async def sweep(self) -> None:
        """Once `take_up` was called, remove those of our reservations that are for no slot. ManagerError.

        A slurmctld that is killed may bring back what was deleted seconds before, with the job in it.
        """
        found = [each.name for each in await self._slurm.reservations() if whose(each.name)] if self._sweeps else []
        needed = self._making.union(slot.name for slot in self._slots.values())
        for name in found:
            if name not in needed:
                _LOG.warning("reservation %s is nobody's slot any more", name)
                await self._try_to_remove(name)

    # Steps

    async def _reserve(self, job: Job, nodes: Sequence[str], generation: int, now: int, at: int) -> bool:
        name = new_name(job.job_id, generation)
        start, end = (None if at <= now else at), max(at, now) + job.time_limit + SPARE
        async with job.sequence:
            self._making.add(name)
            try:
                await self._slurm.reserve(name, job.owner, nodes, start, end)
                await self._slurm.put_in(job.job_id, name)
            except ReservationError as error:
                if error.fault is Fault.OVERLAPS and await self._move(job, nodes, start, end, at):
                    return True
                await self._remove(name)
                return False
            except ManagerError as error:
                _LOG.info("job %s has no slot: %s", job.job_id, error)
                await self._remove(name)
                return False
            finally:
                self._making.discard(name)
            before, self._slots[job.job_id] = self._slots.get(job.job_id), Slot(name, at)
        if before is not None:
            await self._remove(before.name)
        return True

    async def _move(self, job: Job, nodes: Sequence[str], start: int | None, end: int, at: int) -> bool:
        """Move the job's slot to where it stands in its own way."""
        slot = self._slots.get(job.job_id)
        if slot is None:
            return False
        with suppress(ReservationError):
            await self._slurm.move_reservation(slot.name, nodes, start, end)
            self._slots[job.job_id] = Slot(slot.name, at)
            return True
        return False

    async def _put_in(self, job: Job, name: str) -> None:
        async with job.sequence:
            with suppress(NotPendingError):  # Slurm has chosen it, and its hook is about to connect
                if job.phase is Phase.QUEUED:
                    await self._slurm.put_in(job.job_id, name)

    async def _remove(self, name: str) -> None:
        """Take all jobs out of a reservation and delete it, however long slurmctld takes to answer."""
        while not await until_it_answers(lambda: self._try_to_remove(name)):
            await asyncio.sleep(_STILL_IN_USE)

    async def _try_to_remove(self, name: str) -> bool:
        """Return whether the reservation is gone. UnavailableError."""
        inside = await self._slurm.jobs_inside()
        for job_id in inside.get(name, ()):
            with suppress(UnknownJobError, ReservationError):
                await self._slurm.take_out(job_id)
        try:
            await self._slurm.delete_reservation(name)
        except ReservationError as error:
            return error.fault is not Fault.IN_USE
        return True
