"""Tries that cross: two domains try each other's jobs, and each try is in the way of the other."""

from __future__ import annotations

import zlib

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.job import JobState
from cosched.core.protocol import TryStartMate


def gives_way(ledger: Ledger, tried: PairedJob, wall: int) -> bool:
    """Whether the try of a job, which takes long, is to end: a job of ours that comes first stands in its way.

    That job is ready and waits for the same peer to try its mate, for which the caller may stand in the way: both
    would wait for nothing. Both domains see the same order of the two pairs, which is another one each minute; `wall`:
    the present instant of the wall clock.
    """
    minute = wall // 60
    rivals = (job for job in ledger.jobs.values() if _waits_for_try(job, tried))
    return any(_rank(ledger, rival, minute) < _rank(ledger, tried, minute) for rival in rivals)


def _waits_for_try(job: PairedJob, tried: PairedJob) -> bool:
    """Whether a job has nodes and waits for a try: of any domain, if groups are concerned, which stand in circles.

    A pair that is tried for its mate waits only for a pair with the same peer.
    """
    if job.state is not JobState.READY or job is tried:
        return False
    if job.group is not None:
        proposal = job.group.proposal
        return proposal is not None and len(proposal.booked) < len(proposal.requests)
    return type(job.call) is TryStartMate and (tried.group is not None or job.peer == tried.peer)


def _rank(ledger: Ledger, job: PairedJob, minute: int) -> int:
    if job.group is not None:
        return zlib.crc32(f"{job.group.turn} {minute}".encode())
    pair = sorted([(ledger.domain, job.id), (job.peer, job.mate or "")])
    return zlib.crc32(f"{pair} {minute}".encode())
