"""Submits the jobs of a trace to their domain."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import grpc

from cosched.core.coscheduling.ledger import PairedJob
from cosched.core.coscheduling.membership import Membership
from cosched.core.protocol import NO_MATE, Domain, JobId, Named
from cosched.service.domain import story
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord, JobScript, StoreError
from cosched.service.wire.errors import Refusal

if TYPE_CHECKING:
    from cosched_adapters.launcher import TraceJob

OWNER = "replay"  # of all jobs
NOTHING = JobScript(b"", (), "/", {})


class Submissions:
    """The jobs of a trace that are not submitted yet; a job's id is its number in the trace."""

    def __init__(self, domain: LiveDomain, jobs: Sequence[TraceJob], off: Collection[Domain]) -> None:
        """`off`: other domains that do not coschedule."""
        self._domain, self._jobs = domain, jobs
        self._off = set(off)
        self._done = domain.store.next_job_id() - 1
        self._places: dict[JobId, Named] = {}  # those with which jobs start that have the places of others

    @property
    def next(self) -> int | None:
        """Return when the next job is to be submitted; None if there is none."""
        return self._jobs[self._done].submit if self._done < len(self._jobs) else None

    def submit(self) -> None:
        """Submit the next job; only in a turn. Refusal if it cannot be recorded: then it stays the next."""
        id = str(self._jobs[self._done].number)
        if id in self._domain.core.jobs:  # it was cancelled before
            self._done += 1
            return
        record = self._add(id)
        self._done += 1
        self._domain.admit(record)
        self._domain.enqueue(record)
        self.count_paired(id)

    def admit(self, id: JobId) -> None:
        """Tell the domain's rules of a job before it is submitted; only in a turn. Refusal."""
        self._domain.admit(self._add(id))

    def count_paired(self, id: JobId) -> None:
        """Have the scheduler count a job as one without mates if it has none, or their domains do not coschedule."""
        paired = self._domain.policy.is_paired(id) and not self._off.issuperset(self.named(id).others)
        self._domain.scheduler.count_paired(id, paired)

    def note_off(self, peer: Domain, off: bool) -> None:
        """Note whether another domain coschedules."""
        (self._off.add if off else self._off.discard)(peer)

    def is_known(self, number: int) -> bool:
        """Return whether the trace has such a job."""
        return 1 <= number <= len(self._jobs)

    def named(self, id: JobId) -> Named:
        """Return with whom a job starts, by the trace or since it has another's place."""
        return self._places.get(id) or self._job(id).named or NO_MATE

    def replace(self, old: JobId, new: JobId) -> Named:
        """Give one job the place of another; return with whom it starts."""
        self._places[new] = named = self.named(old)
        return named

    def _job(self, id: JobId) -> TraceJob:
        return self._jobs[int(id) - 1]

    def _add(self, id: JobId) -> JobRecord:
        record = _record(self._job(id), self._domain.name, self.named(id))
        try:
            self._domain.add(record, NOTHING)
        except StoreError as error:
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", str(error)) from error
        return record


def _record(job: TraceJob, domain: Domain, named: Named) -> JobRecord:
    return JobRecord(
        id=job.number,
        name=job.name,
        owner=OWNER,
        uid=None,
        nodes=job.nodes,
        time_limit=job.requested,
        submitted_at=job.submit,
        job=PairedJob(str(job.number), OWNER, Membership.named(domain, named)),
        reason=story.WAITS_IN_QUEUE,
        columns=json.dumps(job.said) if job.said else None,
    )
