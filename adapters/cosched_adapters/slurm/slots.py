"""Slots of jobs as reservations in Slurm: booking, moving and claiming them, and taking them away.

A reservation is taken away as soon as its job was let go, has yielded or has lost its slot: until then its nodes are
kept from others, and Slurm would end the job with it. The service may die at any step: `take_up` finds what is left.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from cosched_adapters.batch_job import Phase
from cosched_adapters.batch_system import SlotOnRecord, WantedStart
from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.profile import Opening
from cosched_adapters.programs import until_it_answers
from cosched_adapters.slurm.batch_job import BatchJob
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.commands import NotPendingError
from cosched_adapters.slurm.plan import Plan
from cosched_adapters.slurm.reservations import IGNORE_JOBS, OVERLAP, Fault, ReservationError, new_name, whose
from cosched_adapters.slurm.sequences import Sequences

SPARE = 60  # seconds that a reservation is longer than its job, which may be let go late
GLANCE = 0.5  # seconds for which a look serves further quotes
NOW = 0  # the instant of a slot that is for one try
_STILL_IN_USE = 0.2  # seconds between two tries to delete a reservation
REFUSED = WantedStart(0)
_WAITING = (Phase.QUEUED, Phase.CHOSEN, Phase.OFFERED, Phase.GIVING_BACK)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Slot:
    """The reservation `name` of a job's slot, from `at` on, in seconds since 1970, or NOW."""

    name: str
    at: int


class Slots:
    """The slots of one cluster's jobs."""

    def __init__(self, slurm: Slurm, sequences: Sequences) -> None:
        self._slurm, self._sequences = slurm, sequences
        self._slots: dict[str, Slot] = {}
        self._kept: dict[str, Slot] = {}  # quotes that may be booked
        self._making: set[str] = set()  # reservations that are not their jobs' slots yet
        self._planning = asyncio.Lock()  # from a look at the cluster until what it has shown to be free is reserved
        self._glancing = asyncio.Lock()
        self._seen: tuple[float, Plan] | None = None  # the last look that was only for quotes, and when it began
        self._sweeps = False
        self.unplanned: dict[str, str] = {}  # why jobs get no slots, whatever runs

    def __len__(self) -> int:
        return len(self._slots)

    def of(self, job_id: str) -> Slot | None:
        """Return the job's slot."""
        return self._slots.get(job_id)

    async def start_wanted(
        self, job: BatchJob, budget: Fraction, guards: dict[str, int], ready: Collection[str], patience: float
    ) -> WantedStart:
        """Make Slurm offer a wanted job now, before its turn, if the budget allows it (docs/meet.md, 2).

        It waits `patience` seconds for the offer; then `unbook` must follow. A guard that is fixed goes into `guards`.
        """
        if job.phase is not Phase.QUEUED or job.het:
            return WantedStart(await self._sequences.try_start(job, patience))
        if self._sequences.begins_later(job) or job.job_id in self._slots:
            return REFUSED
        async with job.order, self._planning:
            plan = self._noted(job, await self._slurm.plan(_now()))
            turn = plan.may_start(job.job_id, budget, guards, ready)
            name = None if turn is None else await self._make(job, 0, plan, NOW, turn.nodes)
            entered = name is not None and await self._enter(job, name, NOW)
        if turn is None and plan.leaves_to_slurm(job.job_id):
            return WantedStart(await self._sequences.try_start(job, patience))
        if turn is None or not entered:
            return REFUSED
        for other in guards.keys() - plan.waiting():
            del guards[other]
        if turn.first is not None and turn.guard is not None:
            guards[turn.first] = turn.guard
        if offer := await self._sequences.try_start(job, patience):
            return WantedStart(offer, turn.pushed)
        await self.unbook(job.job_id)
        return REFUSED

    async def quote(self, job: BatchJob, not_before: int, paired: Collection[str], *, keep: bool = False) -> int | None:
        """Return when the job could have a slot from `not_before` on (docs/meet.md, 4), or None.

        `keep`: if that is before the job's slot, its nodes are reserved until `book` or `drop_quote`.
        """
        if job.het:
            self.unplanned[job.job_id] = "it is a heterogeneous job, whose components get no nodes in common"
        if self._sequences.begins_later(job) or job.het:
            return None
        plan = self._noted(job, await (self._glance() if job.phase is Phase.QUEUED else self._slurm.plan(_now())))
        found = plan.earliest(job.job_id, not_before, paired)
        if keep and job.phase is Phase.QUEUED and self._is_earlier(job, found):
            return await self._keep(job, not_before, paired)
        return None if found is None else found.at

    def _noted(self, job: BatchJob, plan: Plan) -> Plan:
        if why := plan.unplanned(job.job_id):
            self.unplanned[job.job_id] = why
        else:
            self.unplanned.pop(job.job_id, None)
        return plan

    def _is_earlier(self, job: BatchJob, found: Opening | None) -> bool:
        slot = self._slots.get(job.job_id)
        return found is not None and slot is not None and found.at < slot.at

    async def _keep(self, job: BatchJob, not_before: int, paired: Collection[str]) -> int | None:
        """Reserve the nodes of a quote: while its mate's domain answers, others would take them."""
        await self.drop_quote(job.job_id)
        async with job.order, self._planning:
            plan = await self._slurm.plan(_now())
            found = plan.earliest(job.job_id, not_before, paired)
            if found is None or not self._is_earlier(job, found):
                return None
            name = await self._make(job, 0, plan, found.at, found.nodes)
            if name is None:
                return None
            self._kept[job.job_id] = Slot(name, found.at)
            return found.at

    async def drop_quote(self, job_id: str) -> None:
        """Give up what was kept of a quote."""
        kept = self._kept.pop(job_id, None)
        if kept is not None:
            await self._discard(kept.name)

    async def _glance(self) -> Plan:
        """Return a look that other quotes may share: when nodes become free, each job with a slot asks."""
        clock = asyncio.get_running_loop().time
        async with self._glancing:
            if self._seen is None or clock() - self._seen[0] > GLANCE:
                self._seen = clock(), await self._slurm.plan(_now())
            return self._seen[1]

    async def book(self, job: BatchJob, generation: int, at: int, paired: Collection[str]) -> bool:
        """Give a job the slot `at` instead of any that it has, if `quote` would tell it now.

        False: it keeps what it had. A job that is offered stays so, and is in its slot once it is queued again.
        """
        if self._sequences.begins_later(job) or job.het:
            return False
        async with job.order:
            kept = self._kept.get(job.job_id)
            if kept is not None and kept.at <= at <= max(kept.at, _now()):
                del self._kept[job.job_id]
                return await self._enter(job, kept.name, at)
            async with self._planning:
                plan = await self._slurm.plan(_now())
                found = plan.earliest(job.job_id, at, paired)
                if found is None or found.at > max(at, plan.now):
                    return False
                name = await self._make(job, generation, plan, at, found.nodes)
            return name is not None and await self._enter(job, name, at)

    async def claim(self, job: BatchJob, patience: float) -> int:
        """Have the job offered on the nodes of its slot, which has come; the offer, or 0: it keeps the slot for later.

        Puts it into its reservation again: a slurmctld that was killed may have forgotten that. If it has forgotten the
        reservation, another is made that begins now, if the job fits.
        """
        slot = self._slots.get(job.job_id)
        if slot is None and job.phase is Phase.QUEUED and await self.book(job, 0, _now(), ()):
            slot = self._slots.get(job.job_id)
        if slot is None or job.phase is not Phase.QUEUED:
            return await self._sequences.try_start(job, patience) if slot is not None else job.offered_as
        try:
            async with job.order:
                await self._begin(job, slot.name)
            return await self._sequences.try_start(job, patience)
        except (ReservationError, UnknownJobError, UnavailableError) as error:
            _LOG.info("job %s cannot have its slot now: %s", job.job_id, error)
            if isinstance(error, ReservationError) and error.fault is Fault.UNKNOWN:
                self._slots.pop(job.job_id, None)
        return 0

    async def unbook(self, job_id: str) -> None:
        """Take the job's slot away, if it has one. It goes on where it is."""
        await self.drop_quote(job_id)
        slot = self._slots.pop(job_id, None)
        if slot is not None:
            await self._remove(slot.name)

    def over(self, jobs: Mapping[str, BatchJob]) -> list[str]:
        """Return the jobs that need their slots no more: they were let go, or have ended."""
        self.unplanned = {job_id: why for job_id, why in self.unplanned.items() if job_id in jobs}
        given = [*self._slots, *(self._kept.keys() - self._slots.keys())]
        return [job_id for job_id in given if job_id not in jobs or jobs[job_id].phase not in _WAITING]

    def is_for_one_try(self, job_id: str) -> bool:
        """Return whether the slot is one of `start_wanted`, which ends when the job yields."""
        slot = self._slots.get(job_id)
        return slot is not None and slot.at == NOW

    async def take_up(self, current: Mapping[str, SlotOnRecord], jobs: Mapping[str, BatchJob]) -> list[str]:
        """Go on with these jobs' slots, which an earlier service has booked, and remove all other reservations of ours.

        What Slurm has forgotten is booked again. Returns the names that were removed. UnavailableError: call it again.
        """
        removed: list[str] = []
        inside = await self._slurm.jobs_inside()
        for found in await self._slurm.reservations():
            if (owner := whose(found.name)) is None:
                continue
            job_id, generation = owner
            slot, job = current.get(job_id), jobs.get(job_id)
            booked = slot is not None and (slot.generation == generation or slot.at == found.start)
            if slot is None or job is None or not booked or job_id in self._slots:
                _LOG.warning("job %s: its reservation %s is nobody's slot any more", job_id, found.name)
                await self._remove(found.name)
                removed.append(found.name)
                continue
            self._slots[job_id] = Slot(found.name, slot.at)
            if job_id not in inside.get(found.name, ()):
                try:
                    await self._slurm.put_in(job_id, found.name)
                except (ReservationError, UnknownJobError) as error:
                    _LOG.warning("job %s cannot be put into its slot again: %s", job_id, error)
        for job_id in (current.keys() - self._slots.keys()) & jobs.keys():
            slot = current[job_id]
            booked = await self.book(jobs[job_id], slot.generation, slot.at, ())
            _LOG.warning("job %s: its slot was gone, and %s", job_id, "is booked again" if booked else "cannot be kept")
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

    async def _make(self, job: BatchJob, generation: int, plan: Plan, at: int, nodes: Sequence[str]) -> str | None:
        """Make a reservation that the job is not in yet, beside any that it has; return its name. None: refused."""
        name = new_name(job.job_id, generation)
        self._making.add(name)
        self._seen = None
        try:
            flags = await self._reserve(name, job, plan, at, nodes)
            if IGNORE_JOBS not in flags or (await self._slurm.plan(plan.now)).is_free(job.job_id, at, nodes):
                return name
        except ReservationError as error:
            _LOG.info("job %s has no slot: %s", job.job_id, error)
        except ManagerError as error:
            _LOG.warning("job %s has no slot: %s", job.job_id, error)
        await self._discard(name)
        return None

    async def _reserve(self, name: str, job: BatchJob, plan: Plan, at: int, nodes: Sequence[str]) -> list[str]:
        """Reserve whole nodes: Slurm 22.05 reserves no devices. Return the flags that this took. ManagerError.

        A job that takes a part of its nodes may share them with jobs that run; no others start there meanwhile.
        """
        now, asks = plan.now, plan.asks(job.job_id)
        start, end = (None if at <= now else at), max(at, now) + job.time_limit + SPARE
        flags = [IGNORE_JOBS] if job.phase is Phase.OFFERED else []
        allowed = {Fault.OVERLAPS: OVERLAP} if job.job_id in self._slots else {}
        if asks.amounts is not None:
            allowed[Fault.BUSY] = IGNORE_JOBS
        while True:
            try:
                await self._slurm.reserve(name, job.owner, nodes, start, end, flags, asks.licences)
            except ReservationError as error:
                flag = allowed.pop(error.fault, None)
                if flag is None:
                    raise
                flags.append(flag)
            else:
                return flags

    async def _enter(self, job: BatchJob, name: str, at: int) -> bool:
        """Move the job into a reservation that was made for it, and remove the one in which it was."""
        try:
            if at <= _now():
                await self._begin(job, name)
            else:
                await self._slurm.put_in(job.job_id, name)
        except ManagerError as error:
            _LOG.info("job %s has no slot: %s", job.job_id, error)
            await self._discard(name)
            return False
        before, self._slots[job.job_id] = self._slots.get(job.job_id), Slot(name, at)
        self._making.discard(name)
        if before is not None:
            await self._remove(before.name)
        return True

    async def _begin(self, job: BatchJob, name: str) -> None:
        """Let Slurm start the job in this reservation, in which it perhaps is, and which has begun."""
        if job.phase is Phase.QUEUED:
            with suppress(NotPendingError):  # Slurm has chosen it, and its hook is about to connect
                await self._slurm.begin_in(job.job_id, name)
                return
        await self._slurm.put_in(job.job_id, name)

    async def _discard(self, name: str) -> None:
        await self._remove(name)
        self._making.discard(name)

    async def _remove(self, name: str) -> None:
        """Take all jobs out of a reservation and delete it, however long slurmctld takes to answer."""
        while not await until_it_answers(lambda: self._try_to_remove(name)):
            await asyncio.sleep(_STILL_IN_USE)
        self._seen = None

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


def _now() -> int:
    return int(time.time())
