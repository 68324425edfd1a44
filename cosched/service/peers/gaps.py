"""Learns when the mates of jobs began, so that the gap between their starts is on record here, too.

A job of ours that has begun asks GetMateStatus of each of the others, again after a while, until all have begun there.
Who is asked, and does not know the gap, asks back: so the one that began first learns of a late one.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import repeat

from google.protobuf.timestamp_pb2 import Timestamp

from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import Domain, GetMateStatus, JobId
from cosched.service.domain.began import Began, Gap, gap_of
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.peers import CallError, PeerClients
from cosched.service.store import JobRecord
from cosched.service.tasks import Tasks
from cosched.service.wire.translation import ON_WIRE
from cosched.v1 import coscheduling_pb2 as wire

PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, *repeat(30.0, 10))  # seconds before each question
NANOSECONDS = 1e-9
WILL_NOT = (wire.MATE_STATUS_FAILED, wire.MATE_STATUS_CANCELLED, wire.MATE_STATUS_UNKNOWN)  # unless they have begun


class Gaps:
    """Those of one domain."""

    def __init__(self, domain: LiveDomain, peers: PeerClients, tasks: Tasks, serving_since: float) -> None:
        """`serving_since`: when the service was started, in service time."""
        self._domain = domain
        self._peers = peers
        self._tasks = tasks
        self._serving_since = serving_since
        self._asking: set[JobId] = set()

    def resume(self) -> None:
        """Ask for the mates of jobs that run, and whose gap an earlier life has not learnt."""
        for job in list(self._domain.jobs):
            self.begun(job)

    def begun(self, job: JobId) -> None:
        """A job has begun, or a mate asks for it: learn when the others have, unless that is known, or under way."""
        record = self._domain.record(job)
        if record is None or job in self._asking or record.ran_from is None or record.apart_s is not None:
            return
        if record.job.group is not None:
            self._asking.add(job)
            self._tasks.run(self._learn(job, record, record.job.group))

    def answer(self, job: JobId, message: wire.GetMateStatusResponse) -> None:
        """Say when our job has begun, in an answer that says that it has started."""
        record = self._domain.record(job)
        if record is None or not message.HasField("started_at") or record.ran_from is None:
            return
        shift = self._domain.clock.shift
        message.began_at.FromNanoseconds(round((record.ran_from + shift) / NANOSECONDS))
        message.serving_since.FromNanoseconds(round((self._serving_since + shift) / NANOSECONDS))
        self.begun(job)

    async def _learn(self, job: JobId, record: JobRecord, group: Membership) -> None:
        try:
            gap = await self._measured(job, record, group)
            if gap is not None and record.ran_from is not None and not self._domain.turns.problem:
                self._domain.apart(record, gap)
        finally:
            self._asking.discard(job)

    async def _measured(self, job: JobId, record: JobRecord, group: Membership) -> Gap | None:
        """Return the gap once all others have begun; at last that to those that have; None: none has."""
        told: dict[Domain, Began | None] = {}  # None: it will not begin
        ordered: dict[Domain, Began] = {}  # of those whose domains tell nothing else
        for pause in PAUSES:
            await asyncio.sleep(pause)
            if record.ran_from is None:  # it was queued again
                return None
            for peer in [peer for peer in group.others if told.get(peer) is None]:
                if (answer := await self._asked(job, peer, group.jobs.get(peer))) is None:
                    continue
                offset = await self._peers.compare_clocks(peer)
                shift = self._domain.clock.shift + (offset.ahead if offset is not None else 0.0)
                if answer.HasField("began_at"):
                    told[peer] = _began(answer, answer.began_at, shift)
                elif answer.status in WILL_NOT:
                    told[peer] = None
                elif answer.HasField("started_at"):
                    ordered[peer] = _began(answer, answer.started_at, shift)
            if told.keys() == set(group.others):
                break
        began = ordered | {peer: at for peer, at in told.items() if at is not None}
        return gap_of(self._own(record), began, group) if began and record.ran_from is not None else None

    def _own(self, record: JobRecord) -> Began:
        assert record.ran_from is not None
        ordered = record.job.started_at or record.ran_from
        if record.job.start_at is not None:
            ordered = max(ordered, record.job.start_at - self._domain.clock.shift)
        return Began(record.ran_from, ordered, self._serving_since)

    async def _asked(self, job: JobId, peer: Domain, mate: JobId | None) -> wire.GetMateStatusResponse | None:
        """Return what the peer tells of a mate; None: nothing."""
        if mate is None:
            return None
        question = ON_WIRE[GetMateStatus].write_request(GetMateStatus(mate, job), self._domain.name, peer)
        with suppress(CallError):
            return await self._peers.status(peer, question)
        return None


def _began(answer: wire.GetMateStatusResponse, at: Timestamp, shift: float) -> Began:
    """Return a mate's start by our service time, which the peer's clock is ahead of by `shift`."""

    def here(stamp: Timestamp) -> float:
        return float(stamp.seconds + stamp.nanos * NANOSECONDS - shift)

    return Began(here(at), here(answer.started_at), here(answer.serving_since))
