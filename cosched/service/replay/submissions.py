"""Submits the jobs of a trace to their domain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import grpc

from cosched.core.coscheduling.ledger import queued_job
from cosched.core.protocol import Domain
from cosched.service.domain import story
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.store import JobRecord, JobScript, StoreError
from cosched.service.wire.errors import Refusal

if TYPE_CHECKING:
    from cosched_adapters.replay.trace import TraceJob

OWNER = "replay"  # of all jobs
NOTHING = JobScript(b"", (), "/", {})


class Submissions:
    """The jobs of a trace that are not submitted yet; a job's id is its number in the trace."""

    def __init__(self, domain: LiveDomain, jobs: Sequence[TraceJob]) -> None:
        self._domain = domain
        self._jobs = jobs
        self._done = domain.store.next_job_id() - 1

    @property
    def next(self) -> int | None:
        """Return when the next job is to be submitted; None if there is none."""
        return self._jobs[self._done].submit if self._done < len(self._jobs) else None

    def submit(self) -> None:
        """Submit the next job; only in a turn. Refusal if it cannot be recorded: then it stays the next."""
        job = self._jobs[self._done]
        record = _record(job, self._domain.name)
        try:
            self._domain.add(record, NOTHING)
        except StoreError as error:
            raise Refusal(grpc.StatusCode.UNAVAILABLE, "STALLED", str(error)) from error
        self._done += 1
        self._domain.admit(record)
        self._domain.enqueue(record)
        if job.alone:
            self._domain.scheduler.count_paired(str(record.id), False)


def _record(job: TraceJob, domain: Domain) -> JobRecord:
    return JobRecord(
        id=job.number,
        name=job.name,
        owner=OWNER,
        uid=None,
        nodes=job.nodes,
        time_limit=job.requested,
        submitted_at=job.submit,
        job=queued_job(str(job.number), OWNER, domain, job.named),
        reason=story.WAITS_IN_QUEUE,
        columns=json.dumps(job.said) if job.said else None,
    )
