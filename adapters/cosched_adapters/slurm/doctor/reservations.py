"""Checks for reservations that cosched made and nobody needs any more, and for jobs that are stuck in one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from cosched_adapters.findings import SHELL, Finding, ok, problem, warning
from cosched_adapters.manager import SlotsOnRecord
from cosched_adapters.slurm.calls import Slurm
from cosched_adapters.slurm.reservations import Reservation, delete, take_out, whose

LeftOver = Mapping[str, Sequence[str]]  # the jobs in each reservation
_SUBJECT = "reservations"
_PAUSE = 2.0  # seconds between two looks: the service books and removes reservations meanwhile
_TRY = 60  # seconds: longer than any reservation for a start now is needed
_SHOWN = 10  # jobs


async def left_over(slurm: Slurm, slots: SlotsOnRecord) -> LeftOver:
    """Return those of our reservations that are for no slot on record, at two looks. ManagerError."""
    found = await _without_slot(slurm, slots)
    if found:
        await asyncio.sleep(_PAUSE)
        found &= await _without_slot(slurm, slots)
    inside = await slurm.jobs_inside() if found else {}
    return {name: inside.get(name, []) for name in sorted(found)}


async def _without_slot(slurm: Slurm, slots: SlotsOnRecord) -> set[str]:
    ours = {found.name: (job[0], found) for found in await slurm.reservations() if (job := whose(found.name))}
    known = await asyncio.to_thread(slots) if ours else {}  # after the reservations: a slot is booked before it is kept
    if known is None:
        return set()
    return {name for name, (job, found) in ours.items() if not _is_needed(found, known.get(job))}


def _is_needed(found: Reservation, slot: int | None) -> bool:
    return found.start == slot or time.time() - _TRY < found.start <= time.time()


def check_reservations(left: LeftOver, *, serving: bool) -> Finding:
    """Judge what `left_over` has found."""
    if not left:
        return ok(_SUBJECT, "none of cosched's is left over")
    stuck = [job for jobs in left.values() for job in jobs]
    lines = [*(" ".join(take_out(job)) for job in stuck), *(" ".join(delete(name)) for name in left)]
    found = f"{len(left)} of cosched's for no slot on record: other jobs do not get the nodes"
    change = "remove them" if serving else "start the service, which removes those that no slot needs, or remove them"
    if not stuck:
        return warning(_SUBJECT, found, change, SHELL, *lines)
    shown = ", ".join(stuck[:_SHOWN]) + (", ..." if len(stuck) > _SHOWN else "")
    return problem(_SUBJECT, f"{found}, and stuck there: {shown}", change, SHELL, *lines)
