"""Tries that cross: two domains try each other's jobs, and each try is in the way of the other."""

from __future__ import annotations

import zlib

from cosched.core.coscheduling.ledger import Ledger, PairedJob
from cosched.core.job import JobState
from cosched.core.protocol import TryStartMate


def gives_way(ledger: Ledger, tried: PairedJob, wall: int) -> bool:
    """Return whether the try of a job, which takes long, is to end, since a job of ours that comes first is in its way.

    That job has nodes, and the peer tries its mate. There the caller's job may be in the way of that try: both would
    go on for nothing. Both domains put the two pairs in the same order, a new one each minute. `wall`: the present
    instant of the wall clock.
    """
    minute = wall // 60
    rivals = (job for job in ledger.jobs.values() if _waits_for_try(job, tried))
    return any(_rank(ledger, rival, minute) < _rank(ledger, tried, minute) for rival in rivals)


def _waits_for_try(job: PairedJob, tried: PairedJob) -> bool:
    """Return whether a job has nodes, and waits for a try by which that of the other job may be held up.

    Two pairs hold each other up only if they have the same peer. Groups may do so in a circle of several domains.
    """
    if job.state is not JobState.READY or job is tried:
        return False
    proposal = None if job.group is None else job.group.proposal
    if proposal is not None:
        return len(proposal.booked) < len(proposal.requests)
    return type(job.call) is TryStartMate and (not tried.is_pair or job.peer == tried.peer)


def _rank(ledger: Ledger, job: PairedJob, minute: int) -> int:
    if job.group is not None and not job.group.is_pair:
        return zlib.crc32(f"{job.group.rank} {minute}".encode())
    pair = sorted([(ledger.domain, job.id), (job.peer, job.mate or "")])
    return zlib.crc32(f"{pair} {minute}".encode())
